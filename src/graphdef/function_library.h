// FunctionLibrary: the functions of a file while it is being read: their signatures, whether they
// have effects, and the instances of generic ones.
//
// A generic function (one that declares attributes) has as many meanings as there are values for
// its attributes. Each combination that some call asks for becomes a function of its own, with
// plain arguments; the generic definition itself is only carried along for export.
//
// Lives through one import, on one thread. Refers to the message it was made from.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "graphdef/attr_proto.h"
#include "graphdef/names.h"
#include "ir/op_def.h"
#include "wire/graph.pb.h"

namespace gyre {

// One declared argument or result: one slot, or a list of slots.
struct FormalArg {
  std::string name;
  std::vector<NodeSignature::Slot> slots;
  // The slot's name in the Program: that of the argument, numbered when it is a list.
  std::string SlotName(size_t i) const;
};

// A function as the Program will hold it.
struct FunctionInstance {
  std::string name;
  const wire::FunctionDef* def = nullptr;
  AttrMap bindings;  // values of the generic definition's attributes; empty for a plain function
  std::vector<FormalArg> inputs;
  std::vector<FormalArg> outputs;
  bool stateful = false;

  bool is_generic() const { return def->signature().attr_size() > 0; }
};

class FunctionLibrary {
 public:
  // INVALID_ARGUMENT for functions without a name, with one name, or named as an op of `ops`, and
  // for plain functions whose signature is unsound. All references are kept.
  static absl::StatusOr<std::unique_ptr<FunctionLibrary>> Make(
      const wire::FunctionDefLibrary& proto, const OpLookup& ops, DecodeLimits& limits);

  bool Has(absl::string_view name) const { return defs_.contains(name); }
  // Whether the function declares this attribute. Requirement: Has(name).
  bool DeclaresAttr(absl::string_view name, absl::string_view attr) const;

  // The instance of function `name` for these attributes; made when it is asked for first.
  // Attributes that the function does not declare are ignored. Requirement: Has(name).
  // INVALID_ARGUMENT when one is missing or unfit, or when instances multiply without bound.
  absl::StatusOr<const FunctionInstance*> Instantiate(absl::string_view name, const AttrMap& attrs);

  // An instance whose body has not been handed out yet; null when there is none left.
  const FunctionInstance* TakeUnread();

  // `value`, with each placeholder replaced from `bindings`. INVALID_ARGUMENT when one is missing.
  absl::StatusOr<AttrValue> Bind(const AttrValue& value, const AttrMap& bindings);

 private:
  FunctionLibrary(const OpLookup& ops, DecodeLimits& limits) : ops_(ops), limits_(limits) {}

  absl::Status AddDefs(const wire::FunctionDefLibrary& proto);
  void FindStateful(const wire::FunctionDefLibrary& proto);
  absl::StatusOr<AttrMap> BindingsFor(const wire::FunctionDef& def, const AttrMap& attrs);
  // Takes `cost` out of what all instances together may cost.
  absl::Status Charge(int64_t cost);

  const OpLookup& ops_;
  DecodeLimits& limits_;
  HashMap<std::string, const wire::FunctionDef*> defs_;
  HashSet<const wire::FunctionDef*> stateful_;
  std::map<std::string, std::vector<const FunctionInstance*>, std::less<>>
      instances_;  // by definition
  std::deque<std::unique_ptr<FunctionInstance>> all_;
  size_t handed_out_ = 0;
  int64_t cost_left_;
  NameTable names_;
};

}  // namespace gyre

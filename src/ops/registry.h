// OpRegistry: every op with all its rules. `Ops()` holds the built-in ones.
//
// Registration happens once, at start-up, from one thread; lookups are read-only afterwards and may
// come from any thread. A mistake in a registration block (a schema that does not parse, a name
// taken twice) is kept in `status()`, which a test checks.
#pragma once

#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "ops/kernel.h"

namespace gyre {

// One registration block: see ops/README.md for the checklist.
struct OpRegistration {
  absl::string_view schema;  // ParseOpSchema's syntax
  absl::string_view doc;     // one sentence
  OpKind kind = OpKind::kPlain;
  OpTraits traits = {};
  ShapeFn shape = nullptr;
  Gradient gradient = {};
  KernelFactory kernel = nullptr;  // null: the engines execute this op themselves
};

class OpRegistry final : public OpLookup {
 public:
  void Add(OpRegistration registration);

  const OpDef* Find(absl::string_view name) const override;
  // The kernel of a node whose op is registered. UNIMPLEMENTED when its types have none; the
  // message names the op.
  absl::StatusOr<Kernel> MakeKernel(const Node& node) const;
  bool HasKernel(absl::string_view name) const;
  // In order of name.
  std::vector<const OpDef*> All() const;
  const absl::Status& status() const { return status_; }

 private:
  struct Entry {
    OpDef def;
    KernelFactory kernel;
  };
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> entries_;
  absl::Status status_;
};

// The built-in ops. Built on first use; lives for ever.
const OpRegistry& Ops();

}  // namespace gyre

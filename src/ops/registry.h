// OpRegistry: ops with all their rules. `Ops()` holds the built-in ones, and those of the plug-ins
// that have been loaded.
//
// A registry is filled by one thread; lookups are read-only afterwards and may come from any
// thread, also while another registry is chained to it. A mistake in a registration block (a schema
// that does not parse, a name taken twice) is kept in `status()`, which a test checks.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gyre/core/export.h"
#include "ops/kernel.h"

namespace gyre {

// One registration block: see ops/README.md for the checklist.
struct OpRegistration {
  absl::string_view schema;                 // ParseOpSchema's syntax
  absl::string_view doc;                    // one sentence
  std::vector<absl::string_view> api = {};  // see OpRegistry::PublicNames
  OpKind kind = OpKind::kPlain;
  OpTraits traits = {};
  Structure structure = {};
  ShapeFn shape = nullptr;
  Gradient gradient = {};
  Batch batch = {};
  SimplifyFn simplify = nullptr;
  FailureFn failure = nullptr;
  KindsFn kinds = nullptr;
  KernelFactory kernel = nullptr;  // null: the engines execute this op themselves
};

class GYRE_EXPORT OpRegistry final : public OpLookup {
 public:
  // `origin`: the plug-in that the ops come from; empty: built in.
  explicit OpRegistry(std::string origin = "") : origin_(std::move(origin)) {}
  ~OpRegistry() override { delete next_.load(); }
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  void Add(OpRegistration registration);
  // From now on, lookups find the ops of `more`, too. INVALID_ARGUMENT, and nothing happens, when
  // it has a name that is taken. One thread at a time; lookups may go on meanwhile.
  absl::Status Chain(std::unique_ptr<OpRegistry> more);

  const OpDef* Find(absl::string_view name) const override;
  // The kernel of a node whose op is registered. UNIMPLEMENTED when its types have none; the
  // message names the op.
  absl::StatusOr<Kernel> MakeKernel(const Node& node) const;
  bool HasKernel(absl::string_view name) const;
  // The names of the public function that is this op and nothing more, below `gyre` and with dots:
  // its own ("math.tan"), then others that it has ("tan"). It takes the inputs; attributes that
  // they do not tell have their defaults. C++ has it as gyre::tan, Python under all names. Empty:
  // there is none, or no such op.
  const std::vector<std::string>& PublicNames(absl::string_view name) const;
  // In order of name.
  std::vector<const OpDef*> All() const;
  // Of what was added here: see the top. What was chained has a status of its own.
  const absl::Status& status() const { return status_; }
  const std::string& origin() const { return origin_; }
  // The ops that were added here, without those of `next()`, in order of name.
  std::vector<const OpDef*> Own() const;
  // What was chained to this registry; null: nothing.
  const OpRegistry* next() const { return next_.load(std::memory_order_acquire); }

 private:
  struct Entry {
    OpDef def;
    std::vector<std::string> public_names;
    KernelFactory kernel;
  };
  // Null when there is no such op.
  const Entry* FindEntry(absl::string_view name) const;

  const std::string origin_;
  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> entries_;
  absl::Status status_;
  std::atomic<OpRegistry*> next_ = nullptr;  // owned
};

// The ops of this process. Built on first use; lives for ever.
GYRE_EXPORT const OpRegistry& Ops();
// Chains `more` to Ops(). Any thread.
GYRE_EXPORT absl::Status AddOps(std::unique_ptr<OpRegistry> more);

}  // namespace gyre

// EagerOp: an op with given attributes and types, looked up once, whose kernel is called directly;
// and where those that there are are found again.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "ir/program.h"
#include "ops/kernel.h"

namespace gyre::eager {

// Immutable.
struct EagerOp {
  const OpDef* def = nullptr;
  Node node;
  Kernel kernel;
  AttrMap given;          // the attributes it was asked for with
  bool is_quick = false;  // takes so little time on small inputs that nobody need be told
  bool is_random = false;
};

// By op, types and attributes. One thread at a time.
class GYRE_INTERNAL_EXPORT EagerOpTable {
 public:
  struct Key {
    Key(const OpDef& def, absl::Span<const Tensor> inputs) : op(&def) {
      for (const Tensor& input : inputs) types.push_back(input.dtype());
    }

    const OpDef* op;
    absl::InlinedVector<DType, 6> types;
    friend bool operator==(const Key& a, const Key& b) {
      return a.op == b.op && a.types == b.types;
    }
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      h = H::combine(std::move(h), key.op);
      return H::combine_contiguous(std::move(h), key.types.data(), key.types.size());
    }
  };

  // Null: there is none.
  std::shared_ptr<const EagerOp> Find(const Key& key, const AttrMap& given) const;
  // Requirement: Find finds none. Whether there was room.
  bool Add(const Key& key, std::shared_ptr<const EagerOp> op);
  void clear() { known_.clear(); }
  size_t size() const;

 private:
  HashMap<Key, std::vector<std::shared_ptr<const EagerOp>>> known_;
};

// Those of a context. Thread-safe.
class GYRE_INTERNAL_EXPORT EagerOps {
 public:
  // The op for inputs of these types. `given` may leave out what the inputs tell. UNIMPLEMENTED,
  // thrown, for ops that run only in graphs. Kept as long as this lives where `is_kept` is set to
  // true.
  std::shared_ptr<const EagerOp> Find(const OpDef& op, absl::Span<const Tensor> inputs,
                                      AttrMap given, bool& is_kept);
  // The same; `seen`: a thread's own, of ops that it has found here, which needs no lock.
  std::shared_ptr<const EagerOp> Find(const OpDef& op, absl::Span<const Tensor> inputs,
                                      AttrMap given, EagerOpTable& seen);
  // How many are kept.
  size_t size() const;

 private:
  mutable std::mutex mutex_;
  EagerOpTable known_;
};

}  // namespace gyre::eager

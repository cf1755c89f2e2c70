// TableEntries: the keys of a lookup table and their values, row by row. Locked by its table.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "ops/kernel.h"
#include "ops/mover.h"

namespace gyre {

// Keys and values as lists in tensors: entry i has `key_width` elements of `keys` and `value_width`
// of `values`.
class TableEntries {
 public:
  struct Layout {
    DType key;
    DType value;
    int64_t key_width;
    int64_t value_width;
  };
  // UNIMPLEMENTED for types that tables do not hold.
  static absl::StatusOr<std::unique_ptr<TableEntries>> Make(const Layout& layout);
  virtual ~TableEntries() = default;

  virtual int64_t size() const = 0;
  // About how many bytes the entries take.
  virtual int64_t bytes() const = 0;
  // By key, its row; -1 where there is none.
  virtual absl::Status Find(const KernelContext& ctx, const Tensor& keys, int64_t n,
                            int64_t* rows) const = 0;
  // The value of each row; of -1 that of `other`: value i, or its only one.
  virtual absl::Status Gather(const KernelContext& ctx, const int64_t* rows, int64_t n,
                              const Tensor& other, Tensor& out) const = 0;
  // Of a key that is there already, the value is replaced, or must be the same:
  // FAILED_PRECONDITION.
  virtual absl::Status Insert(const KernelContext& ctx, const Tensor& keys, const Tensor& values,
                              int64_t n, bool may_replace) = 0;
  virtual absl::Status Remove(const KernelContext& ctx, const Tensor& keys, int64_t n) = 0;
  virtual absl::Status Export(const KernelContext& ctx, Tensor& keys, Tensor& values) const = 0;
};

}  // namespace gyre

// Features of Examples as tensors: of each a column, with a feature of every Example. Stateless;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/kernel.h"
#include "ops/parse/feature.h"

namespace gyre {

// A feature that is wanted.
struct Wanted {
  absl::string_view key;
  DType dtype;
};

// The columns that a node asks for, and what their tensors are. Equally many: dense and shapes,
// ragged and splits.
struct ColumnTypes {
  std::vector<DType> sparse, dense, ragged, splits;
  std::vector<PartialShape> shapes;
};

// Elements of what the first dimension counts, if that is open; else all. INVALID_ARGUMENT for
// shapes that are not known behind it.
absl::StatusOr<int64_t> StrideOf(const PartialShape& shape);

// Writes the values of a feature into a tensor of its type, from element `at` on.
absl::Status ReadInto(const KernelContext& ctx, const Feature& feature, Tensor& out, int64_t at);

// What is read: the columns of some serialized Examples. The defaults of dense ones are the inputs
// from `first_default` on.
struct ExampleColumns {
  const ColumnTypes& types;
  absl::Span<const Wanted> wanted;  // sparse, dense, ragged
  absl::Span<const std::string> examples;
  int first_default = 0;
  bool is_batch = false;
};

// Sets the first outputs, and returns how many: of sparse columns all indices, all values, all
// shapes; then dense values; then of ragged ones all values, all row splits. INVALID_ARGUMENT for
// bytes that are no Example, and for features of another type.
absl::StatusOr<int> SetColumns(KernelContext& ctx, const ExampleColumns& columns);

}  // namespace gyre

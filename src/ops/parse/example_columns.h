// Features of Examples as tensors: of each a column, with a feature of every Example. Stateless;
// any thread. Columns refer to what was found, and that to the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
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

// Elements of what the first dimension counts, if that is open; else all. INVALID_ARGUMENT for
// shapes that are not known behind it.
absl::StatusOr<int64_t> StrideOf(const PartialShape& shape);

// All features that are wanted, of all examples: example i has those from i * wanted.size() on.
// INVALID_ARGUMENT for bytes that are no Example, and for features of another type.
absl::StatusOr<std::vector<Feature>> FindAll(const KernelContext& ctx,
                                             absl::Span<const Wanted> wanted,
                                             absl::Span<const std::string> examples);

// One feature of all examples, of what FindAll has found.
class Column {
 public:
  Column(const std::vector<Feature>& all, absl::Span<const Wanted> wanted, size_t at)
      : all_(all), width_(wanted.size()), at_(at), wanted_(wanted[at]) {}
  size_t size() const { return all_.size() / width_; }
  const Feature& operator[](size_t i) const { return all_[i * width_ + at_]; }
  const Wanted& wanted() const { return wanted_; }
  int64_t total() const;
  int64_t longest() const;
  std::string Name(size_t example) const;

 private:
  const std::vector<Feature>& all_;
  const size_t width_, at_;
  const Wanted& wanted_;
};

// Writes the values of a feature into a tensor of its type, from element `at` on.
absl::Status ReadInto(const KernelContext& ctx, const Feature& feature, Tensor& out, int64_t at);

// The values of all examples, one behind the other.
absl::StatusOr<Tensor> AllValues(const KernelContext& ctx, const Column& column);
// Indices and shape of a sparse feature.
absl::StatusOr<std::pair<Tensor, Tensor>> SparsePlaces(const KernelContext& ctx,
                                                       const Column& column, bool is_batch);
// A feature of one size in all examples, or of a first dimension that is as large as need be. What
// is missing is `filler`.
absl::StatusOr<Tensor> DenseValues(const KernelContext& ctx, const Column& column,
                                   const PartialShape& shape, const Tensor& filler, bool is_batch);
// Where the values of each example begin and end.
absl::StatusOr<Tensor> RaggedSplits(const KernelContext& ctx, const Column& column, DType dtype);

}  // namespace gyre

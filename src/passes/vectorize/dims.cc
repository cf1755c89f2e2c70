#include "passes/vectorize/dims.h"

#include <numeric>
#include <optional>
#include <utility>

#include "passes/edit/rewrite.h"

namespace gyre::vectorize {

namespace {

// Constants joined: nothing is left to be done when the program runs.
std::optional<std::vector<int32_t>> KnownJoined(const std::vector<Expr>& parts) {
  std::vector<int32_t> all;
  for (const Expr& part : parts) {
    const Node& node = part.builder().function().node(part.endpoint().node);
    const Tensor* const known = passes::ConstantValue(node);
    if (known == nullptr || known->dtype() != DType::kInt32 || known->rank() != 1)
      return std::nullopt;
    const absl::Span<const int32_t> values = known->values<int32_t>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

PartialShape WithRowAxis(const PartialShape& row, int64_t num_rows) {
  if (!row.has_rank()) return row;
  Dims dims = {num_rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return PartialShape(std::move(dims));
}

Expr Behind(Expr vector) {
  if (!vector.ok()) return vector;
  ExprBuilder& b = vector.builder();
  return b.Op("StridedSlice", {vector, b.Ints({1}), b.Ints({0}), b.Ints({1})},
              {{"end_mask", int64_t{1}}});
}

Expr Joined(const std::vector<Expr>& parts) {
  for (const Expr& part : parts) {
    if (!part.ok()) return part;
  }
  ExprBuilder& b = parts[0].builder();
  if (const auto known = KnownJoined(parts)) return b.Ints(*known);
  std::vector<Expr> inputs = parts;
  inputs.push_back(b.Int(0));
  return b.Op("ConcatV2", inputs);
}

Expr FirstAxesSwapped(Expr x, int rank) {
  if (!x.ok()) return x;
  ExprBuilder& b = x.builder();
  if (rank >= 0) {
    std::vector<int32_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[0], axes[1]);
    return b.Op("Transpose", {x, b.Ints(axes)});
  }
  const Expr rest = b.Op("Range", {b.Int(2), b.Op("Rank", {x}), b.Int(1)});
  return b.Op("Transpose", {x, Joined({b.Ints({1, 0}), rest})});
}

Expr WithOnesBehindRows(Expr x, int count) {
  for (int i = 0; i < count && x.ok(); ++i)
    x = x.builder().Op("ExpandDims", {x, x.builder().Int(1)});
  return x;
}

Expr CountTo(Expr count) {
  if (!count.ok()) return count;
  ExprBuilder& b = count.builder();
  return b.Op("Range", {b.Scalar(count.dtype(), 0), count, b.Scalar(count.dtype(), 1)});
}

}  // namespace gyre::vectorize

#include "ops/array/rule_dims.h"

#include <utility>

#include "ops/array/integers.h"

namespace gyre {

std::optional<std::vector<int32_t>> RuleDims::Known(int begin, int end) const {
  const PartialShape& shape = is_input_ ? g_.input_shape(i_) : g_.output_shape(i_);
  if (begin == end) return std::vector<int32_t>();
  if (!shape.has_rank()) return std::nullopt;
  const int rank = shape.rank();
  const int from = begin < 0 ? begin + rank : begin;
  const int to = end == kEnd ? rank : end < 0 ? end + rank : end;
  std::vector<int32_t> dims;
  for (int axis = from; axis < to; ++axis) {
    const bool is_known = axis >= 0 && axis < rank && shape.dim(axis) >= 0 &&
                          shape.dim(axis) <= std::numeric_limits<int32_t>::max();
    if (!is_known) return std::nullopt;
    dims.push_back(static_cast<int32_t>(shape.dim(axis)));
  }
  return dims;
}

Expr RuleDims::Part(int begin, int end) const {
  ExprBuilder& b = g_.builder();
  if (const auto known = Known(begin, end)) return b.Ints(*known);
  const int64_t end_mask = end == kEnd ? 1 : 0;
  return b.Op("StridedSlice", {All(), b.Ints({begin}), b.Ints({end_mask ? 0 : end}), b.Ints({1})},
              {{"end_mask", end_mask}});
}

Expr RuleDims::Product(int begin, int end) const {
  ExprBuilder& b = g_.builder();
  const auto known = Known(begin, end);
  if (!known) return b.Op("Prod", {Part(begin, end), b.Int(0)});
  int64_t product = 1;
  for (const int32_t dim : *known) {
    if (__builtin_mul_overflow(product, dim, &product)) product = -1;
  }
  if (product >= 0 && product <= std::numeric_limits<int32_t>::max())
    return b.Int(static_cast<int32_t>(product));
  b.Fail(absl::InvalidArgumentError("a tensor has more elements than an int32 counts"));
  return Expr();
}

Expr VectorOf(const std::vector<Expr>& scalars) {
  return scalars[0].ok() ? scalars[0].builder().Op("Pack", scalars) : scalars[0];
}

Expr Joined(std::vector<Expr> vectors) {
  if (vectors.size() == 1 || !vectors[0].ok()) return vectors[0];
  ExprBuilder& b = vectors[0].builder();
  vectors.push_back(b.Int(0));
  return b.Op("ConcatV2", std::move(vectors));
}

Expr CountTo(Expr n) {
  if (!n.ok()) return n;
  ExprBuilder& b = n.builder();
  return b.Op("Range", {b.Int(0), n, b.Int(1)});
}

Expr SumAll(Expr x) {
  if (!x.ok()) return x;
  ExprBuilder& b = x.builder();
  return Sum(Reshape(x, b.Ints({-1})), b.Int(0));
}

Expr WideIndices(Expr indices) {
  return indices.dtype() == DType::kInt64 ? indices : Cast(indices, DType::kInt32);
}

std::optional<Dims> KnownIntegers(const GradientContext& g, int i) {
  const Tensor* constant = g.input_constant(i);
  if (constant == nullptr) return std::nullopt;
  absl::StatusOr<Dims> values = IntegerElements(*constant, "input");
  if (!values.ok()) return std::nullopt;
  return *std::move(values);
}

std::optional<int64_t> KnownInteger(const GradientContext& g, int i) {
  const auto values = KnownIntegers(g, i);
  return values && values->size() == 1 ? std::optional((*values)[0]) : std::nullopt;
}

}  // namespace gyre

#include "ops/reduction/segment_gradient.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

bool IsUnsorted(const GradientContext& g) { return g.num_inputs() > 2; }

// Rows combined into segments as the node's are: `how` is Sum or Prod.
Expr Combine(GradientContext& g, absl::string_view how, Expr rows) {
  if (!IsUnsorted(g)) return g.op(absl::StrCat("Segment", how), {rows, g.input(1)});
  return g.op(absl::StrCat("UnsortedSegment", how), {rows, g.input(1), g.input(2)});
}

// Rows of negative ids belong to no segment. There may be some unless the ids are known.
bool MayDropRows(const GradientContext& g) {
  const Tensor* ids = g.input_constant(1);
  const auto has_negative = [](auto values) {
    return std::any_of(values.begin(), values.end(), [](auto id) { return id < 0; });
  };
  if (!IsUnsorted(g)) return false;
  if (ids == nullptr) return true;
  if (ids->dtype() == DType::kInt16) return has_negative(ids->values<int16_t>());
  if (ids->dtype() == DType::kInt32) return has_negative(ids->values<int32_t>());
  return has_negative(ids->values<int64_t>());
}

// What each row finds in its segment; anything for a row that has none.
Expr FromSegments(GradientContext& g, Expr segments) {
  Expr ids = g.input(1);
  if (MayDropRows(g)) ids = g.op("Maximum", {ids, g.builder().Zero(ids.dtype())});
  return g.op("GatherV2", {segments, ids, g.builder().Int(0)});
}

// The same; zero for a row that has none.
Expr FromSegmentsOrZero(GradientContext& g, Expr segments) {
  const Expr rows = FromSegments(g, segments);
  if (!MayDropRows(g)) return rows;
  const Expr ids = g.input(1);
  const Expr is_kept = g.op("GreaterEqual", {ids, g.builder().Zero(ids.dtype())});
  const Expr wide = gradient::AppendOnes(g, is_kept, g.input_shape(1), 0);
  return Where(wide, rows, g.builder().Zero(rows.dtype()));
}

}  // namespace

void SegmentSumGradient(GradientContext& g) { g.Add(0, FromSegmentsOrZero(g, g.grad())); }

void SegmentMeanGradient(GradientContext& g) {
  const Expr ones = OnesLike(Cast(g.input(1), g.output_dtype(0)));
  const Expr counts = gradient::AppendOnes(g, Combine(g, "Sum", ones), PartialShape(Dims{-1}), 0);
  g.Add(0, FromSegments(g, g.grad() / counts));
}

// Zeros are kept apart, so that there is no division by them. A segment with one zero has a
// gradient there alone, the product of the others; one with several has none.
void SegmentProdGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  ExprBuilder& b = g.builder();
  const Expr data = g.input(0);
  const Expr zero = b.Zero(data.dtype());
  const Expr is_zero = g.op("Equal", {data, zero});
  const Expr num_zeros = Combine(g, "Sum", Cast(is_zero, DType::kInt32));
  const Expr grad = Where(g.op("Greater", {num_zeros, b.Int(1)}), zero, g.grad());
  const Expr others = Where(is_zero, b.Scalar(data.dtype(), 1), data);
  const Expr products = FromSegments(g, Combine(g, "Prod", others));
  const Expr slope = Where(is_zero, products, FromSegments(g, g.output(0))) / others;
  g.Add(0, FromSegmentsOrZero(g, grad) * Conj(slope));
}

void SegmentExtremumGradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Expr is_chosen = g.op("Equal", {g.input(0), FromSegments(g, g.output(0))});
  const Expr count = Combine(g, "Sum", Cast(is_chosen, g.output_dtype(0)));
  const Expr share = g.op("DivNoNan", {g.grad(), count});
  g.Add(0, Where(is_chosen, FromSegmentsOrZero(g, share), g.builder().Zero(share.dtype())));
}

}  // namespace gyre

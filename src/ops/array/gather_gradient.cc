#include "ops/array/gather_gradient.h"

#include <algorithm>
#include <iterator>

namespace gyre {

bool LooksUpRows(const Node& node) {
  static constexpr absl::string_view kOps[] = {"Gather", "GatherV2", "GatherNd", "ResourceGather",
                                               "ResourceGatherNd"};
  return std::find(std::begin(kOps), std::end(kOps), node.op_name) != std::end(kOps);
}

void AddGatheredRows(GradientContext& g, int indices) {
  if (!g.wants(0)) return;
  Expr rows = WideIndices(g.input(indices));
  Expr values = g.grad();
  const PartialShape& shape = g.input_shape(indices);
  if (!shape.has_rank() || shape.rank() != 1) {
    // The number of rows is not left to Reshape: rows may be empty.
    const Expr count = VectorOf({RuleDims::OfInput(g, indices).Size()});
    values = Reshape(values, Joined({count, RuleDims::OfInput(g, 0).Part(1)}));
    rows = Reshape(rows, count);
  }
  g.AddSlices(0, values, rows);
}

void AddRowsFrom(GradientContext& g, Expr first) {
  const Expr count = RuleDims::OfOutput(g, 0).Product(0, 1);
  g.AddSlices(0, g.grad(), WideIndices(first) + Cast(CountTo(count), WideIndices(first).dtype()));
}

GatheredDims GatheredDims::Along(const RuleDims& params, int axis, int batch_dims) {
  const int behind = axis == -1 ? RuleDims::kEnd : axis + 1;
  return {params.Product(0, batch_dims), params.Product(batch_dims, axis),
          params.Product(axis, behind), params.Part(behind)};
}

// The gradient, seen as [batch, outer, count, …], goes to rows of [batch, outer, size, …].
void AddGatheredSlices(GradientContext& g, Expr indices, Expr count, const GatheredDims& dims) {
  if (!g.wants(0)) return;
  const auto& [batch, outer, size, inner] = dims;
  const Expr one = g.builder().Int(1);
  const Expr blocks = batch * outer;
  const Expr begins = Reshape(CountTo(blocks) * size, VectorOf({batch, outer, one}));
  const Expr within = Reshape(Cast(indices, DType::kInt32), VectorOf({batch, one, count}));
  const Expr values = Reshape(g.grad(), Joined({VectorOf({batch, outer, count}), inner}));
  const Expr summed = g.op("UnsortedSegmentSum", {values, begins + within, blocks * size});
  g.Add(0, Reshape(summed, g.input_dims(0)));
}

void AddGatheredNd(GradientContext& g) {
  if (!g.wants(0)) return;
  const Expr indices = WideIndices(g.input(1));
  const PartialShape& shape = g.input_shape(1);
  const std::string policy = g.attr<std::string>("bad_indices_policy", "");
  if (shape.has_rank() && shape.rank() == 2 && shape.dim(1) == 1 && policy.empty()) {
    AttrMap last{{"squeeze_dims", std::vector<int64_t>{1}}};
    return g.AddSlices(0, g.grad(), g.op("Squeeze", {indices}, std::move(last)));
  }
  const Expr dims = Cast(g.input_dims(0), indices.dtype());
  g.Add(0, g.op("ScatterNd", {indices, g.grad(), dims}, {{"bad_indices_policy", policy}}));
}

}  // namespace gyre

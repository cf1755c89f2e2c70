// TensorListScatter, TensorListScatterV2, TensorListScatterIntoExistingList: rows of a tensor
// become the elements that indices name.
#include <algorithm>

#include "ops/array/rule_dims.h"
#include "ops/list/list_batch.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_ops.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The values of `indices`, one per row of `rows`, none negative.
absl::StatusOr<absl::Span<const int32_t>> RowIndices(const Tensor& indices, const Tensor& rows) {
  if (indices.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected indices to be a vector, but received shape: ", indices.shape().ToString()));
  }
  GYRE_RETURN_IF_ERROR(ElementShapeOfRows(rows.shape()).status());
  if (rows.dim(0) != indices.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid number of rows in input tensor. Expected: ", indices.num_elements(),
                     " Actual: ", rows.dim(0)));
  }
  const absl::Span<const int32_t> values = indices.values<int32_t>();
  for (const int32_t i : values) {
    if (i < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Indices in TensorListScatter must all be non-negative, but there is ", i));
    }
  }
  return values;
}

// One more than the largest index.
int64_t SizeFor(absl::Span<const int32_t> indices) {
  const auto largest = std::max_element(indices.begin(), indices.end());
  return indices.empty() ? 0 : int64_t{*largest} + 1;
}

absl::Status ScatterRows(KernelContext& ctx, const Tensor& rows, absl::Span<const int32_t> indices,
                         RefPtr<TensorList> list) {
  GYRE_RETURN_IF_ERROR(SetRows(ctx, rows, *list, indices));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

// Serves TensorListScatter (three inputs) and ScatterV2 (a fourth says how long the list is).
absl::Status Scatter(KernelContext& ctx) {
  const Tensor& rows = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, RowIndices(ctx.input(1), rows));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeInput(ctx, 2, "element_shape"));
  int64_t size = SizeFor(indices);
  if (ctx.num_inputs() > 3) {
    GYRE_ASSIGN_OR_RETURN(const int32_t n, Int32Input(ctx, 3, "num_elements"));
    if (n < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorListScatter expects num_elements >= -1, found: ", n));
    }
    if (n != -1 && size > n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorListScatter: Trying to scatter at index ", size - 1, " in list with size ", n));
    }
    if (n != -1) size = n;
  }
  auto list = MakeRef<TensorList>(rows.dtype(), std::move(shape));
  GYRE_RETURN_IF_ERROR(list->elements.Resize(size, ctx.alloc()));
  return ScatterRows(ctx, rows, indices, std::move(list));
}

absl::Status ScatterInto(KernelContext& ctx) {
  const Tensor& rows = ctx.input(1);
  GYRE_RETURN_IF_ERROR(ListInput(ctx, 0, rows.dtype()).status());
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, RowIndices(ctx.input(2), rows));
  RefPtr<TensorList> list = TakeList(ctx, 0);
  GYRE_RETURN_IF_ERROR(
      list->elements.Resize(std::max(list->size(), SizeFor(indices)), ctx.alloc()));
  return ScatterRows(ctx, rows, indices, std::move(list));
}

absl::Status ScatterShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  if (c.num_inputs() > 3) GYRE_RETURN_IF_ERROR(c.RequireScalar(3));
  GYRE_ASSIGN_OR_RETURN(const PartialShape row, RowShape(c.input(0)));
  GYRE_ASSIGN_OR_RETURN(HandleInfo info, NewListInfo(c, 2));
  GYRE_RETURN_IF_ERROR(info.shape.Intersect(row).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, std::move(info));
  return absl::OkStatus();
}

absl::Status ScatterIntoShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape row, RowShape(c.input(1)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 0, c.input_dtype(1)));
  GYRE_RETURN_IF_ERROR(element.Intersect(row).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, {c.input_dtype(1), element});
  return absl::OkStatus();
}

// The gradient of the tensor that input `rows` is.
Expr GatheredRows(GradientContext& g, int rows, int indices) {
  const Expr element = RuleDims::OfInput(g, rows).Part(1);
  return g.op("TensorListGather", {g.grad(), g.input(indices), element},
              {{"element_dtype", g.input_dtype(rows)}});
}

void ScatterGradient(GradientContext& g) { g.Add(0, GatheredRows(g, 0, 1)); }

void ScatterIntoGradient(GradientContext& g) {
  if (g.wants(1)) g.Add(1, GatheredRows(g, 1, 2));
  if (!g.wants(0)) return;
  const Expr others = g.op("_TensorListClearAt", {g.grad(), g.input(2)});
  // The list may have grown.
  g.Add(0, ResizedLike(g, others, 0));
}

// Tensors that become elements `indices`, an input: their rows go in front.
absl::Status ScatterIntoExistingBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const Expr elements = batch::FirstAxesSwapped(c.stacked(1), batch::RankWithRows(c.row_shape(1)));
  return c.Emit({c.input(0), elements, c.input(2)}, {}, {Rows::kElements});
}

absl::Status ScatterIntoNewBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr elements = batch::FirstAxesSwapped(c.input(0), batch::RankWithRows(c.row_shape(0)));
  return c.Emit({elements, c.input(1), list_batch::ElementShape(c, 2), c.input(3)}, {},
                {Rows::kElements});
}

}  // namespace

void RegisterListScatter(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type) -> "
           "output_handle: variant {element_dtype: type; shape_type: indextype}",
       .doc = "A list whose elements at `indices` are the tensor's rows.",
       .shape = ScatterShape,
       .gradient = {ScatterGradient},
       .kinds = kinds::List,
       .kernel = Compute<Scatter>()});
  ops.Add(
      {.schema =
           "TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, "
           "num_elements: int32) -> output_handle: variant {element_dtype: type; shape_type: "
           "indextype}",
       .doc = "A list of `num_elements` (-1: as many as needed) whose elements at `indices` are "
              "the tensor's rows.",
       .shape = ScatterShape,
       .gradient = {ScatterGradient},
       .batch = {.rule = ScatterIntoNewBatch, .knows_lists = true},
       .kinds = kinds::List,
       .kernel = Compute<Scatter>()});
  ops.Add({.schema = "TensorListScatterIntoExistingList(input_handle: variant, tensor: "
                     "element_dtype, indices: int32) "
                     "-> output_handle: variant {element_dtype: type}",
           .doc = "The list with the tensor's rows as its elements at `indices`.",
           .shape = ScatterIntoShape,
           .gradient = {ScatterIntoGradient},
           .batch = {.rule = ScatterIntoExistingBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = Compute<ScatterInto>()});
}

}  // namespace gyre

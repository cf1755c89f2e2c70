// EmptyTensorList, TensorListReserve, TensorListFromTensor, TensorListSplit: new lists.
#include "base/checked_math.h"
#include "ops/array/layout.h"
#include "ops/array/rule_dims.h"
#include "ops/list/list_batch.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_ops.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct DTypeAttrs {
  explicit DTypeAttrs(const Node& node) : dtype(NodeAttr<DType>(node, "element_dtype")) {}
  DType dtype;
};

absl::Status MakeEmpty(KernelContext& ctx, const DTypeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeInput(ctx, 0, "element_shape"));
  GYRE_ASSIGN_OR_RETURN(const int32_t max_size, Int32Input(ctx, 1, "max_num_elements"));
  ctx.set_output(0, ListTensor(MakeRef<TensorList>(attrs.dtype, std::move(shape), max_size)));
  return absl::OkStatus();
}

absl::Status Reserve(KernelContext& ctx, const DTypeAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeInput(ctx, 0, "element_shape"));
  GYRE_ASSIGN_OR_RETURN(const int32_t n, Int32Input(ctx, 1, "num_elements"));
  if (n < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("The num_elements to reserve must be a non negative number, but got ", n));
  }
  auto list = MakeRef<TensorList>(attrs.dtype, std::move(shape));
  GYRE_RETURN_IF_ERROR(list->elements.Resize(n, ctx.alloc()));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

absl::Status FromTensor(KernelContext& ctx) {
  const Tensor& rows = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeInput(ctx, 1, "element_shape"));
  if (rows.rank() == 0) return ElementShapeOfRows(rows.shape()).status();
  if (rows.dim(0) > TensorList::kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat("a list holds at most ", TensorList::kMaxSize,
                                                   " elements, but the tensor has ", rows.dim(0),
                                                   " rows"));
  }
  auto list = MakeRef<TensorList>(rows.dtype(), std::move(shape));
  GYRE_RETURN_IF_ERROR(list->elements.Resize(rows.dim(0), ctx.alloc()));
  GYRE_RETURN_IF_ERROR(SetRows(ctx, rows, *list));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

absl::Status CheckLengths(const Tensor& lengths, const Shape& rows) {
  if (lengths.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected lengths to be a vector, received shape: ", lengths.shape().ToString()));
  }
  int64_t total = 0;
  for (const int64_t length : lengths.values<int64_t>()) {
    const std::optional<int64_t> sum = CheckedAdd(total, length);
    if (length < 0 || !sum) {
      return absl::InvalidArgumentError(absl::StrCat("Invalid value in lengths: ", length));
    }
    total = *sum;
  }
  if (total == rows.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected the sum of lengths to be the tensor's first dimension, but "
                   "the sum is ",
                   total, " and the tensor's shape is ", rows.ToString()));
}

absl::Status Split(KernelContext& ctx) {
  const Tensor& rows = ctx.input(0);
  const Tensor& lengths = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(const Shape row, ElementShapeOfRows(rows.shape()));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeInput(ctx, 1, "element_shape"));
  if (shape.has_rank() && shape.rank() == 0) {
    return absl::InvalidArgumentError(
        "TensorListSplit requires element_shape to be at least of rank 1, but saw: []");
  }
  if (!shape.Intersect(RowsShape(-1, row)).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pieces of a tensor of shape ", rows.shape().ToString(),
                     " cannot have the element_shape ", shape.ToString()));
  }
  GYRE_RETURN_IF_ERROR(CheckLengths(lengths, rows.shape()));
  auto list = MakeRef<TensorList>(rows.dtype(), std::move(shape));
  int64_t begin = 0;
  for (const int64_t length : lengths.values<int64_t>()) {
    if (list->size() % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(const Shape piece, ShapeOfRows(length, row));
    GYRE_RETURN_IF_ERROR(CheckElement(*list, rows.dtype(), piece, "append"));
    GYRE_ASSIGN_OR_RETURN(Tensor element, TakeRows(ctx, rows, begin, length, piece));
    GYRE_RETURN_IF_ERROR(list->elements.Append(std::move(element), ctx.alloc()));
    begin += length;
  }
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

// EmptyTensorList and TensorListReserve: element shape, a number.
absl::Status NewListShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(HandleInfo info, NewListInfo(c, 0));
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, std::move(info));
  return absl::OkStatus();
}

absl::Status FromTensorShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape row, RowShape(c.input(0)));
  GYRE_ASSIGN_OR_RETURN(HandleInfo info, NewListInfo(c, 1));
  GYRE_RETURN_IF_ERROR(info.shape.Intersect(row).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, std::move(info));
  return absl::OkStatus();
}

absl::Status SplitShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape row, RowShape(c.input(0)));
  GYRE_ASSIGN_OR_RETURN(HandleInfo info, NewListInfo(c, 1));
  GYRE_RETURN_IF_ERROR(info.shape.Intersect(RowsShape(-1, row)).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, std::move(info));
  return absl::OkStatus();
}

void FromTensorGradient(GradientContext& g) {
  const RuleDims dims = RuleDims::OfInput(g, 0);
  const auto rows = dims.Known(0, 1);
  g.Add(0, g.op("TensorListStack", {g.grad(), dims.Part(1)},
                {{"element_dtype", g.input_dtype(0)},
                 {"num_elements", int64_t{rows && !rows->empty() ? (*rows)[0] : -1}}}));
}

// EmptyTensorList, TensorListReserve.
absl::Status MakeListBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(0));
  return c.Emit({list_batch::ElementShape(c, 0), c.input(1)}, {}, {Rows::kElements});
}

absl::Status ListFromTensorBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr elements = batch::FirstAxesSwapped(c.input(0), batch::RankWithRows(c.row_shape(0)));
  return c.Emit({elements, list_batch::ElementShape(c, 1)}, {}, {Rows::kElements});
}

}  // namespace

void RegisterMakeList(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "EmptyTensorList(element_shape: shape_type, max_num_elements: int32) -> handle: variant "
           "{element_dtype: type; shape_type: indextype}",
       .doc = "A list without elements, which may grow to `max_num_elements` (-1: without limit).",
       .traits = {.keeps_for_gradients = true},
       .shape = NewListShape,
       .gradient = NotDifferentiable("it has no inputs that a derivative could go to"),
       .batch = {.rule = MakeListBatch, .knows_lists = true, .makes_list = true},
       .kinds = kinds::List,
       .kernel = Compute<MakeEmpty>()});
  ops.Add(
      {.schema =
           "TensorListReserve(element_shape: shape_type, num_elements: int32) -> handle: variant "
           "{element_dtype: type; shape_type: indextype}",
       .doc = "A list of `num_elements` uninitialised elements.",
       .shape = NewListShape,
       .gradient = NotDifferentiable("it has no inputs that a derivative could go to"),
       .batch = {.rule = MakeListBatch, .knows_lists = true, .makes_list = true},
       .kinds = kinds::List,
       .kernel = Compute<Reserve>()});
  ops.Add({.schema = "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> "
                     "output_handle: variant "
                     "{element_dtype: type; shape_type: indextype}",
           .doc = "A list of the tensor's rows.",
           .shape = FromTensorShape,
           .gradient = {FromTensorGradient},
           .batch = {.rule = ListFromTensorBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = Compute<FromTensor>()});
  ops.Add(
      {.schema =
           "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> "
           "output_handle: variant {element_dtype: type; shape_type: indextype}",
       .doc = "A list of pieces of the tensor, of `lengths` rows each.",
       .shape = SplitShape,
       .gradient = {[](GradientContext& g) { g.Add(0, JoinedPieces(g, g.grad(), 0, 2)); }},
       .kinds = kinds::List,
       .kernel = Compute<Split>()});
}

}  // namespace gyre

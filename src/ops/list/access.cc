// TensorListPushBack, PopBack, GetItem, SetItem, Resize, Length, ElementShape: lists element by
// element.
#include "ops/list/list_batch.h"
#include "ops/list/list_code.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_ops.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status PushBack(KernelContext& ctx) {
  const Tensor& value = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const TensorList* input, ListInput(ctx, 0));
  GYRE_RETURN_IF_ERROR(CheckElement(*input, value.dtype(), value.shape(), "append"));
  if (input->max_size >= 0 && input->size() >= input->max_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("Tried to push item into a full list list size: ", input->size(),
                     " max_num_elements: ", input->max_size));
  }
  if (input->size() >= TensorList::kMaxSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a list holds at most ", TensorList::kMaxSize, " elements"));
  }
  RefPtr<TensorList> list = TakeList(ctx, 0);
  GYRE_RETURN_IF_ERROR(list->elements.Append(ctx.TakeInput(1), ctx.alloc()));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

// `element` has to fit what the op and the list know of its shape. Zeros of that shape if it is
// uninitialised.
absl::Status CompleteElement(const KernelContext& ctx, const TensorList& list,
                             const PartialShape& known, Tensor& element) {
  if (element.has_value()) [[likely]] {
    if (known.Allows(element.shape())) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the element has shape ", element.shape().ToString(),
                     ", which does not fit the element_shape ", known.ToString()));
  }
  const std::optional<Shape> shape = known.ToShape();
  if (!shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Trying to read an uninitialized tensor but element_shape is not fully defined: ",
        known.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(element, ctx.AllocateZeros(list.dtype(), *shape));
  return absl::OkStatus();
}

absl::Status PopBack(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* input, ListInput(ctx, 0, ctx.output_dtype(1)));
  std::optional<PartialShape> asked;  // null: what the list itself says
  if (!IsAnyShape(ctx.input(1))) {
    GYRE_ASSIGN_OR_RETURN(asked, ElementShapeInput(ctx, 1, *input));
  }
  if (input->size() == 0) return absl::InvalidArgumentError("Trying to pop from an empty list.");
  RefPtr<TensorList> list = TakeList(ctx, 0);
  GYRE_ASSIGN_OR_RETURN(Tensor last, list->elements.RemoveLast(ctx.alloc()));
  GYRE_RETURN_IF_ERROR(CompleteElement(ctx, *list, asked ? *asked : list->element_shape, last));
  ctx.set_output(0, ListTensor(std::move(list)));
  ctx.set_output(1, std::move(last));
  return absl::OkStatus();
}

absl::Status GetItem(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  GYRE_ASSIGN_OR_RETURN(const int32_t index, Int32Input(ctx, 1, "index"));
  if (index < 0 || index >= list->size()) {
    return absl::InvalidArgumentError(absl::StrCat("Trying to access element ", index,
                                                   " in a list with ", list->size(), " elements."));
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeInput(ctx, 2, *list));
  GYRE_ASSIGN_OR_RETURN(Tensor item, list->elements.Get(index, ctx.alloc()));
  if (!item.has_value() && !shape.IsFullyKnown()) {
    GYRE_ASSIGN_OR_RETURN(shape, NarrowToElements(ctx, *list, std::move(shape)));
  }
  GYRE_RETURN_IF_ERROR(CompleteElement(ctx, *list, shape, item));
  ctx.set_output(0, std::move(item));
  return absl::OkStatus();
}

struct SetAttrs {
  explicit SetAttrs(const Node& node)
      : resize(NodeAttr<bool>(node, "resize_if_index_out_of_bounds")) {}
  bool resize;
};

absl::Status SetItem(KernelContext& ctx, const SetAttrs& attrs) {
  const Tensor& item = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(const TensorList* input, ListInput(ctx, 0));
  GYRE_RETURN_IF_ERROR(CheckElement(*input, item.dtype(), item.shape(), "set"));
  GYRE_ASSIGN_OR_RETURN(const int32_t index, Int32Input(ctx, 1, "index"));
  if (index < 0 || (!attrs.resize && index >= input->size()) || index >= TensorList::kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Trying to modify element ", index, " in a list with ", input->size(), " elements."));
  }
  RefPtr<TensorList> list = TakeList(ctx, 0);
  if (index >= list->size())
    GYRE_RETURN_IF_ERROR(list->elements.Resize(int64_t{index} + 1, ctx.alloc()));
  GYRE_RETURN_IF_ERROR(list->elements.Set(index, ctx.TakeInput(2), ctx.alloc()));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

KernelFactory SetItemKernel() {
  const KernelFactory kernel = Compute<SetItem>();
  return [within =
              WithObjectCode<list_code::SetItem, list_code::SetItemTensor>("element_dtype", kernel),
          growing = WithObjectCode<list_code::SetItemOrGrow, list_code::SetItemTensorOrGrow>(
              "element_dtype", kernel)](const Node& node) {
    return SetAttrs(node).resize ? growing(node) : within(node);
  };
}

absl::Status Resize(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(ListInput(ctx, 0).status());
  GYRE_ASSIGN_OR_RETURN(const int32_t size, Int32Input(ctx, 1, "size"));
  if (size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("TensorListResize expects size to be non-negative. Got: ", size));
  }
  RefPtr<TensorList> list = TakeList(ctx, 0);
  GYRE_RETURN_IF_ERROR(list->elements.Resize(size, ctx.alloc()));
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

absl::Status Length(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->size())));
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<Tensor> DimsTensor(const KernelContext& ctx, const PartialShape& shape) {
  if (!shape.has_rank()) return Tensor::Scalar<T>(-1);
  GYRE_ASSIGN_OR_RETURN(Tensor dims, ctx.Allocate(DTypeOf<T>, Shape::Vector(shape.rank())));
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > std::numeric_limits<T>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", i, " of the list's elements is ", shape.dim(i),
                       ", more than an int32 holds: ask for shape_type = int64"));
    }
    dims.mutable_values<T>()[i] = static_cast<T>(shape.dim(i));
  }
  return dims;
}

absl::Status ElementShape(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
  GYRE_ASSIGN_OR_RETURN(Tensor dims, ctx.output_dtype(0) == DType::kInt32
                                         ? DimsTensor<int32_t>(ctx, list->element_shape)
                                         : DimsTensor<int64_t>(ctx, list->element_shape));
  ctx.set_output(0, std::move(dims));
  return absl::OkStatus();
}

absl::Status PushShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 0, c.input_dtype(1)));
  GYRE_RETURN_IF_ERROR(element.Intersect(c.input(1)).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, {c.input_dtype(1), element});
  return absl::OkStatus();
}

absl::Status PopShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_ASSIGN_OR_RETURN(PartialShape element, AskedElementShape(c, 1, c.output_dtype(1)));
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0,
                      {c.output_dtype(1), c.input_handle(0) ? c.input_handle(0)->shape : element});
  c.set_output(1, std::move(element));
  return absl::OkStatus();
}

absl::Status GetShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(PartialShape element, AskedElementShape(c, 2, c.output_dtype(0)));
  c.set_output(0, std::move(element));
  return absl::OkStatus();
}

absl::Status SetShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 0, c.input_dtype(2)));
  GYRE_RETURN_IF_ERROR(element.Intersect(c.input(2)).status());
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, {c.input_dtype(2), element});
  return absl::OkStatus();
}

absl::Status ResizeShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  return shape::SameAsInput(c);
}

void PushBackGradient(GradientContext& g) {
  Expr list = g.grad();
  if (g.input_dtype(1) == DType::kVariant)
    list = WithElement(g, list, g.op("TensorListLength", {list}) - 1, 1);
  const std::vector<Expr> rest =
      g.builder().Ops("TensorListPopBack", {list, g.input_dims(1)},
                      {{"element_dtype", g.input_dtype(1)}}, /*if_invalid=*/2);
  g.Add(0, rest[0]);
  g.Add(1, rest[1]);
}

void PopBackGradient(GradientContext& g) {
  g.Add(0, g.op("TensorListPushBack", {g.grad(0), g.grad(1)}));
}

void SetItemGradient(GradientContext& g) {
  const Expr list = g.grad();
  if (g.wants(2)) {
    const Expr with_item = WithElement(g, list, g.input(1), 2);
    g.Add(2, g.op("TensorListGetItem", {with_item, g.input(1), g.input_dims(2)},
                  {{"element_dtype", g.input_dtype(2)}}));
  }
  if (!g.wants(0)) return;
  const Expr others = g.op("_TensorListClearAt", {list, g.input(1)});
  g.Add(0,
        g.attr<bool>("resize_if_index_out_of_bounds", false) ? ResizedLike(g, others, 0) : others);
}

void ResizeGradient(GradientContext& g) { g.Add(0, ResizedLike(g, g.grad(), 0)); }

absl::Status LengthOfListBatch(BatchContext& c) { return c.Emit({c.input(0)}, {}, {Rows::kSame}); }

absl::Status GetItemBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(2));
  const AttrMap dtype = {{"element_dtype", c.node().signature.outputs[0].dtype}};
  if (c.rows_of(1) == Rows::kSame)
    return c.Emit({c.input(0), c.input(1), list_batch::ElementShape(c, 2)}, {},
                  {list_batch::RowsOfElements(c)});
  GYRE_RETURN_IF_ERROR(list_batch::NeedTensors(c));
  // From one list each row takes another element.
  if (c.rows_of(0) == Rows::kSame) {
    return c.EmitAs("TensorListGather", {c.input(0), c.input(1), Cast(c.input(2), DType::kInt32)},
                    dtype);
  }
  const Expr stack = c.op("TensorListStack",
                          {c.input(0), Cast(list_batch::ElementShape(c, 2), DType::kInt32)}, dtype);
  const Expr lists = batch::FirstAxesSwapped(
      stack, c.output_row_shape(0).has_rank() ? c.output_row_shape(0).rank() + 2 : -1);
  return c.EmitAs("GatherV2", {lists, c.input(1), c.builder().Int(1)},
                  {{"batch_dims", int64_t{1}}});
}

absl::Status SetItemBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  GYRE_ASSIGN_OR_RETURN(const Expr item, list_batch::Element(c, 2));
  return c.Emit({c.input(0), c.input(1), item}, {}, {Rows::kElements});
}

absl::Status PushBackBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedElements(c));
  GYRE_ASSIGN_OR_RETURN(const Expr item, list_batch::Element(c, 1));
  return c.Emit({c.input(0), item}, {}, {Rows::kElements});
}

absl::Status PopBackBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), list_batch::ElementShape(c, 1)}, {},
                {Rows::kElements, list_batch::RowsOfElements(c)});
}

absl::Status ResizeBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.input(1)}, {}, {Rows::kElements});
}

void RegisterChanges(OpRegistry& ops) {
  ops.Add({.schema = "TensorListPushBack(input_handle: variant, tensor: element_dtype) -> "
                     "output_handle: variant "
                     "{element_dtype: type}",
           .doc = "The list with one more element at its end.",
           .traits = {.keeps_for_gradients = true},
           .shape = PushShape,
           .gradient = {PushBackGradient},
           .batch = {.rule = PushBackBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = WithObjectCode<list_code::PushBack, list_code::PushBackTensor>(
               "element_dtype", Compute<PushBack>())});
  ops.Add({.schema = "TensorListPopBack(input_handle: variant, element_shape: int32) -> "
                     "output_handle: variant, "
                     "tensor: element_dtype {element_dtype: type}",
           .doc = "The list without its last element, and that element.",
           .traits = {.keeps_for_gradients = true},
           .shape = PopShape,
           .gradient = {PopBackGradient},
           .batch = {.rule = PopBackBatch, .knows_lists = true},
           .kinds = kinds::ListAndElement,
           .kernel = WithObjectCode<list_code::PopBack, list_code::PopBackTensor>(
               "element_dtype", Compute<PopBack>())});
  ops.Add({.schema = "TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) "
                     "-> output_handle: "
                     "variant {element_dtype: type; resize_if_index_out_of_bounds: bool = false}",
           .doc = "The list with another element at `index`.",
           .shape = SetShape,
           .gradient = {SetItemGradient},
           .batch = {.rule = SetItemBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = SetItemKernel()});
  ops.Add(
      {.schema = "TensorListResize(input_handle: variant, size: int32) -> output_handle: variant",
       .doc = "The list's first `size` elements, followed by uninitialised ones if it had fewer.",
       .shape = ResizeShape,
       .gradient = {ResizeGradient},
       .batch = {.rule = ResizeBatch, .knows_lists = true},
       .kinds = kinds::List,
       .kernel = Compute<Resize>()});
}

}  // namespace

void RegisterListAccess(OpRegistry& ops) {
  RegisterChanges(ops);
  ops.Add(
      {.schema =
           "TensorListGetItem(input_handle: variant, index: int32, element_shape: Tshape) -> item: "
           "element_dtype {element_dtype: type; Tshape: indextype = int32}",
       .doc = "The list's element at `index`; one that is uninitialised reads as zeros.",
       .shape = GetShape,
       .gradient = {[](GradientContext& g) { AddToElements(g, 0, 1); }},
       .batch = {.rule = GetItemBatch, .knows_lists = true},
       .kinds = kinds::Element,
       .kernel = WithObjectCode<list_code::GetItem, list_code::GetItemTensor>("element_dtype",
                                                                              Compute<GetItem>())});
  ops.Add({.schema = "TensorListLength(input_handle: variant) -> length: int32",
           .doc = "How many elements a list has.",
           .traits = {.keeps_for_gradients = true},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is an integer"),
           .batch = {.rule = LengthOfListBatch, .knows_lists = true},
           .kernel = WithObjectCode<list_code::Length>(Compute<Length>())});
  ops.Add({.schema = "TensorListElementShape(input_handle: variant) -> element_shape: shape_type "
                     "{shape_type: "
                     "indextype}",
           .doc = "The shape that all elements of a list have: -1 for unknown dimensions, the "
                  "scalar -1 for an "
                  "unknown rank.",
           .shape = shape::Unknown,  // a vector or, for an unknown rank, a scalar
           .gradient = NotDifferentiable("its result is an integer"),
           .kernel = Compute<ElementShape>()});
}

}  // namespace gyre

// TensorArrayV3, its gradient arrays, and the ops on one element: write, read, size, close.
#include "ops/state/tensor_array_ops.h"

#include <limits>

#include "ops/list/list_kinds.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {

absl::StatusOr<TensorArrayObject*> TensorArrayInput(const KernelContext& ctx, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, ResourceInput<TensorArrayObject>(ctx, 0));
  if (array->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray ", array->name(), ": TensorArray dtype is ", DTypeName(array->dtype()),
        " but Op is trying to use dtype ", DTypeName(dtype), "."));
  }
  return array;
}

absl::StatusOr<PartialShape> TensorArrayElementShape(const ShapeContext& c, DType dtype) {
  const std::optional<HandleInfo>& handle = c.input_handle(0);
  if (!handle) return PartialShape::Unknown();
  if (handle->dtype != DType::kInvalid && handle->dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("the TensorArray's elements are of type ",
                                                   DTypeName(handle->dtype), ", not ",
                                                   DTypeName(dtype)));
  }
  return handle->shape;
}

namespace {

struct ArrayAttrs {
  explicit ArrayAttrs(const Node& node) : name(NodeAttr<std::string>(node, "tensor_array_name")) {
    if (name.empty()) name = node.name;
    options.dtype = NodeAttr<DType>(node, "dtype");
    options.element_shape = NodeAttr<PartialShape>(node, "element_shape");
    options.dynamic_size = NodeAttr<bool>(node, "dynamic_size");
    options.clear_after_read = NodeAttr<bool>(node, "clear_after_read");
    options.identical_element_shapes = NodeAttr<bool>(node, "identical_element_shapes");
  }
  std::string name;
  TensorArrayObject::Options options;
};

absl::Status MakeArray(KernelContext& ctx, const ArrayAttrs& attrs) {
  const Tensor& size = ctx.input(0);
  if (size.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("TensorArray size must be scalar, but had shape: ", size.shape().ToString()));
  }
  const int32_t n = size.scalar<int32_t>();
  if (n < 0) return absl::InvalidArgumentError(absl::StrCat("Size should be >= 0, but is ", n));
  auto array = MakeRef<TensorArrayObject>(attrs.name, attrs.options, n, ctx.env().budget);
  GYRE_RETURN_IF_ERROR(array->Charge());
  ctx.set_output(0, Tensor::FromObject(DType::kResource, std::move(array)));
  ctx.set_output(1, Tensor::Scalar(0.0f));
  return absl::OkStatus();
}

struct GradAttrs {
  explicit GradAttrs(const Node& node) : source(NodeAttr<std::string>(node, "source")) {}
  std::string source;
};

// Serves TensorArrayGradV3 (two inputs) and TensorArrayGradWithShape (three).
absl::Status MakeGradient(KernelContext& ctx, const GradAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, ResourceInput<TensorArrayObject>(ctx, 0));
  Shape prefix;
  if (ctx.num_inputs() > 2) {
    if (ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape_to_prepend must be a vector, but has shape ", ctx.input(2).shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(prefix, ctx.ShapeInput(2, "shape_to_prepend"));
  }
  GYRE_ASSIGN_OR_RETURN(RefPtr<TensorArrayObject> gradient,
                        array->Gradient(attrs.source, prefix.dims()));
  ctx.set_output(0, Tensor::FromObject(DType::kResource, std::move(gradient)));
  ctx.set_output(1, ctx.TakeInput(1));
  return absl::OkStatus();
}

absl::StatusOr<int32_t> IndexInput(const KernelContext& ctx) {
  const Tensor& index = ctx.input(1);
  if (index.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray index must be scalar, but had shape: ", index.shape().ToString()));
  }
  return index.scalar<int32_t>();
}

absl::Status WriteElement(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, ctx.input_dtype(2)));
  GYRE_ASSIGN_OR_RETURN(const int32_t index, IndexInput(ctx));
  GYRE_RETURN_IF_ERROR(array->Write(ctx, index, ctx.TakeInput(2)));
  ctx.set_output(0, ctx.TakeInput(3));
  return absl::OkStatus();
}

absl::Status ReadElement(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, ctx.output_dtype(0)));
  GYRE_ASSIGN_OR_RETURN(const int32_t index, IndexInput(ctx));
  GYRE_ASSIGN_OR_RETURN(Tensor value, array->Read(ctx, index));
  ctx.set_output(0, std::move(value));
  return absl::OkStatus();
}

absl::Status ArraySize(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorArrayObject* array, ResourceInput<TensorArrayObject>(ctx, 0));
  GYRE_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  if (size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat("TensorArray ", array->name(), " has ", size,
                                                   " elements, more than an int32 counts"));
  }
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
  return absl::OkStatus();
}

absl::Status CloseArray(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, ResourceInput<TensorArrayObject>(ctx, 0));
  array->Destroy();
  return absl::OkStatus();
}

absl::Status ArrayShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(shape::Scalar(c));
  c.set_output_handle(0, {c.attrs().GetOr<DType>("dtype", DType::kInvalid),
                          c.attrs().GetOr<PartialShape>("element_shape", PartialShape::Unknown())});
  return absl::OkStatus();
}

absl::Status GradientShape(ShapeContext& c) {
  c.set_output(0, PartialShape::Scalar());
  c.set_output(1, c.input(1));
  if (!c.input_handle(0)) return absl::OkStatus();
  HandleInfo handle = *c.input_handle(0);
  if (c.num_inputs() > 2) {
    GYRE_ASSIGN_OR_RETURN(const PartialShape prefix, c.InputAsShape(2));
    if (prefix.has_rank() && handle.shape.has_rank()) {
      Dims dims(prefix.dims().begin(), prefix.dims().end());
      dims.insert(dims.end(), handle.shape.dims().begin(), handle.shape.dims().end());
      handle.shape = PartialShape(std::move(dims));
    } else {
      handle.shape = PartialShape::Unknown();
    }
  }
  c.set_output_handle(0, std::move(handle));
  return absl::OkStatus();
}

absl::Status WriteShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, TensorArrayElementShape(c, c.input_dtype(2)));
  GYRE_RETURN_IF_ERROR(element.Intersect(c.input(2)).status());
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

absl::Status ReadShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(PartialShape element, TensorArrayElementShape(c, c.output_dtype(0)));
  c.set_output(0, std::move(element));
  return absl::OkStatus();
}

// The flow stands for what the array holds: its gradient is a list. Each element is written once,
// so nothing that was read before a write is concerned by it.
void WriteGradient(GradientContext& g) {
  AddElementsOrZeros(g, 2, 1);
  g.Add(3, g.grad());
}

// The gradients that an imported graph computes itself: one array for all, whoever writes to it.
constexpr absl::string_view kAddsUp =
    "what an array of gradients holds does not follow from its flow; take higher derivatives of "
    "what they are gradients of";

void RegisterMakers(OpRegistry& ops) {
  ops.Add({.schema = "TensorArrayV3(size: int32) -> handle: resource, flow: float {dtype: type; "
                     "element_shape: shape "
                     "= ?; dynamic_size: bool = false; clear_after_read: bool = true; "
                     "identical_element_shapes: bool "
                     "= false; tensor_array_name: string = ''}",
           .doc = "A new array of `size` tensors, each of which is written once.",
           .traits = {.effect = Effect::kAllocate, .role = Role::kArray},
           .shape = ArrayShape,
           .gradient = NotDifferentiable("its result is a handle"),
           .kinds = kinds::FlowLast,
           .kernel = Compute<MakeArray>()});
  ops.Add({.schema = "TensorArrayGradV3(handle: resource, flow_in: float) -> grad_handle: "
                     "resource, flow_out: float "
                     "{source: string}",
           .doc = "The array that adds up the gradients of an array's elements.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = GradientShape,
           .gradient = RefusesGradient(kAddsUp),
           .kinds = kinds::GradientArrayAndFlow,
           .kernel = Compute<MakeGradient>()});
  ops.Add(
      {.schema =
           "TensorArrayGradWithShape(handle: resource, flow_in: float, shape_to_prepend: int32) -> "
           "grad_handle: resource, flow_out: float {source: string}",
       .doc = "As TensorArrayGradV3, for gradients with more dimensions in front.",
       .traits = {.effect = Effect::kWrite, .role = Role::kArray},
       .shape = GradientShape,
       .gradient = RefusesGradient(kAddsUp),
       .kinds = kinds::GradientArrayAndFlow,
       .kernel = Compute<MakeGradient>()});
}

}  // namespace

void RegisterTensorArray(OpRegistry& ops) {
  RegisterMakers(ops);
  ops.Add({.schema = "TensorArrayWriteV3(handle: resource, index: int32, value: T, flow_in: float) "
                     "-> flow_out: float "
                     "{T: type}",
           .doc = "Writes one element of an array.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = WriteShape,
           .gradient = {WriteGradient},
           .kinds = kinds::FlowLast,
           .kernel = Compute<WriteElement>()});
  // Reading marks the element, and by default clears it.
  ops.Add({.schema = "TensorArrayReadV3(handle: resource, index: int32, flow_in: float) -> value: "
                     "dtype {dtype: type}",
           .doc = "Reads one element of an array.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = ReadShape,
           .gradient = {[](GradientContext& g) { AddToElements(g, 2, 1); }},
           .kinds = kinds::Plain,
           .kernel = Compute<ReadElement>()});
  ops.Add({.schema = "TensorArraySizeV3(handle: resource, flow_in: float) -> size: int32",
           .doc = "How many elements an array has.",
           .traits = {.effect = Effect::kRead, .role = Role::kArray},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is an integer"),
           .kernel = Compute<ArraySize>()});
  ops.Add({.schema = "TensorArrayCloseV3(handle: resource) ->",
           .doc = "Drops an array's elements; nothing can be done to it from then on.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = shape::None,
           .gradient = NotDifferentiable("it has no outputs"),
           .kernel = Compute<CloseArray>()});
}

}  // namespace gyre

// Variables behind handles: VarHandleOp, ReadVariableOp, AssignVariableOp and their kin.
#include <algorithm>
#include <cstring>
#include <limits>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/object_code.h"
#include "ops/registry.h"
#include "ops/state/update.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

absl::StatusOr<Tensor> MakeHandle(const KernelContext& ctx, const ResourceName& where, DType dtype,
                                  const PartialShape& shape) {
  GYRE_ASSIGN_OR_RETURN(RefPtr<VariableObject> variable, NamedVariable(ctx, where, dtype, shape));
  return Tensor::FromObject(DType::kResource, std::move(variable));
}

struct HandleAttrs {
  explicit HandleAttrs(const Node& node)
      : where(node),
        dtype(NodeAttr<DType>(node, "dtype")),
        shape(NodeAttr<PartialShape>(node, "shape")) {}
  ResourceName where;
  DType dtype;
  PartialShape shape;
};

absl::Status VarHandle(KernelContext& ctx, const HandleAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(Tensor handle, MakeHandle(ctx, attrs.where, attrs.dtype, attrs.shape));
  ctx.set_output(0, std::move(handle));
  return absl::OkStatus();
}

// One HandleAttrs per output, from the lists of a node of _VarHandlesOp.
struct HandlesAttrs {
  static absl::StatusOr<HandlesAttrs> Make(const Node& node) {
    const auto& containers = NodeAttr<std::vector<std::string>>(node, "containers");
    const auto& names = NodeAttr<std::vector<std::string>>(node, "shared_names");
    const auto& dtypes = NodeAttr<std::vector<DType>>(node, "dtypes");
    const auto& shapes = NodeAttr<std::vector<PartialShape>>(node, "shapes");
    const size_t n = static_cast<size_t>(NodeAttr<int64_t>(node, "N"));
    if (containers.size() != n || names.size() != n || dtypes.size() != n || shapes.size() != n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "containers, shared_names, dtypes and shapes must have N = ", n, " elements each"));
    }
    HandlesAttrs attrs;
    for (size_t i = 0; i < n; ++i) {
      ResourceName where(node);
      where.container = containers[i];
      where.name = names[i].empty() ? absl::StrCat(node.name, "_", i) : names[i];
      attrs.handles.push_back({std::move(where), dtypes[i], shapes[i]});
    }
    return attrs;
  }
  struct Handle {
    ResourceName where;
    DType dtype;
    PartialShape shape;
  };
  std::vector<Handle> handles;
};

absl::Status VarHandles(KernelContext& ctx, const HandlesAttrs& attrs) {
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    const HandlesAttrs::Handle& handle = attrs.handles[i];
    GYRE_ASSIGN_OR_RETURN(Tensor tensor, MakeHandle(ctx, handle.where, handle.dtype, handle.shape));
    ctx.set_output(i, std::move(tensor));
  }
  return absl::OkStatus();
}

// Serves ReadVariableOp (one input) and _ReadVariablesOp (many).
struct ReadAttrs {
  static absl::StatusOr<ReadAttrs> Make(const Node& node) {
    if (node.signature.inputs.size() != node.signature.outputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dtypes must have N = ", node.signature.inputs.size(), " elements, but has ",
                       node.signature.outputs.size()));
    }
    return ReadAttrs{};
  }
};

absl::Status ReadVariables(KernelContext& ctx, const ReadAttrs&) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, ResourceInput<VariableObject>(ctx, i));
    if (variable->dtype() != ctx.output_dtype(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Trying to read variable ", variable->name(), " with wrong dtype. Expected ",
                       DTypeName(ctx.output_dtype(i)), " got ", DTypeName(variable->dtype())));
    }
    Tensor value = variable->Read();
    GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, i, *variable, value));
    ctx.set_output(i, std::move(value));
  }
  return absl::OkStatus();
}

// For code that is generated, of variables that hold scalars and small tensors.

// An operand that is a variable of type T; else null.
template <typename T>
VariableObject* VariableOf(void* operand) {
  Object* const object = *static_cast<Object**>(operand);
  if (typeid(*object) != typeid(VariableObject)) return nullptr;
  auto* const variable = static_cast<VariableObject*>(object);
  return variable->dtype() == DTypeOf<T> ? variable : nullptr;
}

template <typename T>
struct ReadCode {
  static constexpr absl::string_view kInputs = "o", kOutputs = "x";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const VariableObject* const variable = VariableOf<T>(operands[0]);
    if (variable == nullptr) return false;
    const std::optional<uint64_t> bytes = variable->ReadScalar();
    if (bytes) std::memcpy(operands[1], &*bytes, sizeof(T));
    return bytes.has_value();
  }
};

// Whether a variable's value can be read, or changed, where it lies, as this small tensor.
bool IsHere(const Tensor& value, const SmallTensor& tensor) {
  return value.has_value() && value.shape() == *tensor.shape && value.device() == nullptr;
}
template <typename T>
size_t BytesOf(const SmallTensor& tensor) {
  return static_cast<size_t>(tensor.shape->num_elements()) * sizeof(T);
}

template <typename T>
struct ReadTensorCode {
  static constexpr absl::string_view kInputs = "o", kOutputs = "e";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const VariableObject* const variable = VariableOf<T>(operands[0]);
    if (variable == nullptr) return false;
    const auto& output = *static_cast<const SmallTensor*>(operands[1]);
    const Tensor value = variable->Read();
    if (!IsHere(value, output)) return false;
    std::memcpy(output.elements, value.raw_data(), BytesOf<T>(output));
    return true;
  }
};

// Also where the old value is to have the new one's shape.
template <typename T>
struct AssignCode {
  static constexpr absl::string_view kInputs = "ox", kOutputs = "";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    VariableObject* const variable = VariableOf<T>(operands[0]);
    if (variable == nullptr || !variable->shape().Allows(Shape())) return false;
    const VariableLock lock(*variable);
    Tensor& value = lock.value(*variable);
    if (value.has_value() && value.rank() != 0) return false;
    T scalar;
    std::memcpy(&scalar, operands[1], sizeof(T));
    value = Tensor::Scalar<T>(scalar);
    return true;
  }
};

// `change` changes the elements of the variable, which are of this shape and nobody else's.
template <typename T, typename Change>
bool ChangeTensor(void* const* operands, const Change& change) noexcept {
  VariableObject* const variable = VariableOf<T>(operands[0]);
  if (variable == nullptr) return false;
  const auto& input = *static_cast<const SmallTensor*>(operands[1]);
  const VariableLock lock(*variable);
  Tensor& value = lock.value(*variable);
  return IsHere(value, input) && value.IsUnique() && change(value, input);
}

template <typename T>
struct AssignTensorCode {
  static constexpr absl::string_view kInputs = "oe", kOutputs = "";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    return ChangeTensor<T>(operands, [](Tensor& value, const SmallTensor& input) {
      std::memcpy(value.mutable_raw_data(), input.elements, BytesOf<T>(input));
      return true;
    });
  }
};

template <UpdateOp op>
struct UpdateCodes {
  template <typename T>
  struct CodeOfTensors {
    static constexpr absl::string_view kInputs = "oe", kOutputs = "";
    static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
      return ChangeTensor<T>(operands, [](Tensor& value, const SmallTensor& input) {
        return UpdateElements(op, DTypeOf<T>, value.mutable_raw_data(), input.elements,
                              input.shape->num_elements(), 1)
            .ok();
      });
    }
  };
  template <typename T>
  struct Code {
    static constexpr absl::string_view kInputs = "ox", kOutputs = "";
    static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
      VariableObject* const variable = VariableOf<T>(operands[0]);
      if (variable == nullptr) return false;
      const VariableLock lock(*variable);
      Tensor& value = lock.value(*variable);
      if (!value.has_value() || value.rank() != 0 || !value.is_inline()) return false;
      return UpdateElements(op, DTypeOf<T>, value.mutable_raw_data(), operands[1], 1, 1).ok();
    }
  };
};

struct AssignAttrs {
  explicit AssignAttrs(const Node& node) : validate_shape(NodeAttr<bool>(node, "validate_shape")) {}
  bool validate_shape;
};

absl::Status AssignVariable(KernelContext& ctx, const AssignAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, ResourceInput<VariableObject>(ctx, 0));
  const Tensor& value = ctx.input(1);
  if (variable->dtype() != value.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to assign variable ", variable->name(), " with wrong dtype. Expected ",
                     DTypeName(variable->dtype()), " got ", DTypeName(value.dtype())));
  }
  const Tensor old = attrs.validate_shape ? variable->Read() : Tensor();
  if (!variable->shape().Allows(value.shape()) ||
      (old.has_value() && old.shape() != value.shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to assign to variable ", variable->name(), " of shape ",
                     old.has_value() ? old.shape().ToString() : variable->shape().ToString(),
                     " a tensor with wrong shape ", value.shape().ToString()));
  }
  variable->Assign(ctx.TakeInput(1));
  return absl::OkStatus();
}

template <UpdateOp op>
struct UpdateAttrs {
  static absl::StatusOr<UpdateAttrs> Make(const Node& node) {
    const DType dtype = NodeAttr<DType>(node, "dtype");
    GYRE_RETURN_IF_ERROR(CheckUpdate(op, dtype));
    return UpdateAttrs{dtype};
  }
  DType dtype;
};

template <UpdateOp op>
absl::Status UpdateResource(KernelContext& ctx, const UpdateAttrs<op>& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  return UpdateVariable(ctx, op, 0, *variable, ctx.input(1));
}

template <UpdateOp op>
KernelFactory UpdateKernel() {
  return WithObjectCode<UpdateCodes<op>::template Code, UpdateCodes<op>::template CodeOfTensors>(
      "dtype", Compute<UpdateResource<op>>());
}

absl::Status IsInitialized(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, ResourceInput<VariableObject>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(variable->Read().has_value()));
  return absl::OkStatus();
}

absl::Status VariableShape(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, ResourceInput<VariableObject>(ctx, 0));
  const Tensor value = variable->Read();
  GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, value));
  GYRE_ASSIGN_OR_RETURN(Tensor dims,
                        ctx.Allocate(ctx.output_dtype(0), Shape::Vector(value.rank())));
  for (int i = 0; i < value.rank(); ++i) {
    if (dims.dtype() == DType::kInt64) {
      dims.mutable_values<int64_t>()[i] = value.dim(i);
    } else if (value.dim(i) <= std::numeric_limits<int32_t>::max()) {
      dims.mutable_values<int32_t>()[i] = static_cast<int32_t>(value.dim(i));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", i, " of variable ", variable->name(), " is ", value.dim(i),
                       ", more than an int32 holds: ask for out_type = int64"));
    }
  }
  ctx.set_output(0, std::move(dims));
  return absl::OkStatus();
}

absl::Status HandleShape(ShapeContext& c) {
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, {c.attrs().GetOr<DType>("dtype", DType::kInvalid),
                          c.attrs().GetOr<PartialShape>("shape", PartialShape::Unknown())});
  return absl::OkStatus();
}

absl::Status HandlesShape(ShapeContext& c) {
  const auto dtypes = c.attrs().GetOr<std::vector<DType>>("dtypes", {});
  const auto shapes = c.attrs().GetOr<std::vector<PartialShape>>("shapes", {});
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Scalar());
    const size_t k = static_cast<size_t>(i);
    if (k < dtypes.size() && k < shapes.size()) c.set_output_handle(i, {dtypes[k], shapes[k]});
  }
  return absl::OkStatus();
}

absl::Status CheckHandleDType(const ShapeContext& c, int i, DType wanted) {
  const std::optional<HandleInfo>& handle = c.input_handle(i);
  if (!handle || handle->dtype == DType::kInvalid || handle->dtype == wanted)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", i, " is the handle of a variable of type ", DTypeName(handle->dtype),
                   ", used as ", DTypeName(wanted)));
}

absl::Status ReadShape(ShapeContext& c) {
  for (int i = 0; i < std::min(c.num_inputs(), c.num_outputs()); ++i) {
    GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
    GYRE_RETURN_IF_ERROR(CheckHandleDType(c, i, c.output_dtype(i)));
    if (c.input_handle(i)) c.set_output(i, c.input_handle(i)->shape);
  }
  return absl::OkStatus();
}

absl::Status AssignShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(CheckHandleDType(c, 0, c.input_dtype(1)));
  if (c.input_handle(0))
    GYRE_RETURN_IF_ERROR(c.input_handle(0)->shape.Intersect(c.input(1)).status());
  return absl::OkStatus();
}

absl::Status ShapeOfVariable(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  c.set_output(0, PartialShape::UnknownOfRank(1));
  if (!c.input_handle(0) || !c.input_handle(0)->shape.has_rank()) return absl::OkStatus();
  const PartialShape& shape = c.input_handle(0)->shape;
  c.set_output(0, PartialShape(Dims{shape.rank()}));
  c.set_output_as_shape(0, shape);
  return absl::OkStatus();
}

void RegisterHandles(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "VarHandleOp() -> resource: resource {container: string = ''; shared_name: string = ''; "
           "debug_name: string = ''; dtype: type; shape: shape; allowed_devices: list(string) = "
           "[]}",
       .doc = "A handle of the session's variable of this name.",
       .traits = {.effect = Effect::kRead, .makes_variable = true},
       .shape = HandleShape,
       .gradient = NotDifferentiable("it has no inputs"),
       .kernel = Compute<VarHandle>()});
  ops.Add({.schema =
               "_VarHandlesOp() -> resources: N * resource {containers: list(string); "
               "shared_names: list(string); N: int >= 0; dtypes: list(type); shapes: list(shape)}",
           .doc = "Handles of N variables of the session.",
           .traits = {.effect = Effect::kRead, .makes_variable = true},
           .shape = HandlesShape,
           .gradient = NotDifferentiable("it has no inputs"),
           .kernel = Compute<VarHandles>()});
}

void RegisterReads(OpRegistry& ops) {
  ops.Add({.schema = "ReadVariableOp(resource: resource) -> value: dtype {dtype: type}",
           .doc = "The current value of a variable.",
           .traits = {.effect = Effect::kRead, .role = Role::kReadsAll},
           .shape = ReadShape,
           .gradient = {gradient::PassOn},
           .kernel = WithObjectCode<ReadCode, ReadTensorCode>("dtype", Compute<ReadVariables>())});
  ops.Add({.schema =
               "_ReadVariablesOp(resources: N * resource) -> values: dtypes {N: int >= 0; dtypes: "
               "list(type) >= 1}",
           .doc = "The current values of N variables.",
           .traits = {.effect = Effect::kRead},
           .shape = ReadShape,
           .gradient = {gradient::PassOn},
           .kernel = Compute<ReadVariables>()});
  ops.Add({.schema = "VarIsInitializedOp(resource: resource) -> is_initialized: bool",
           .doc = "Whether the variable has a value.",
           .traits = {.effect = Effect::kRead},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is a bool"),
           .kernel = Compute<IsInitialized>()});
  ops.Add(
      {.schema = "VariableShape(input: resource) -> output: out_type {out_type: indextype = int32}",
       .doc = "The shape of a variable's value.",
       .traits = {.effect = Effect::kRead},
       .shape = ShapeOfVariable,
       .gradient = NotDifferentiable("its result is an integer"),
       .kernel = Compute<VariableShape>()});
}

void RegisterAssigns(OpRegistry& ops) {
  ops.Add(
      {.schema = "AssignVariableOp(resource: resource, value: dtype) -> {dtype: type; "
                 "validate_shape: bool = "
                 "false}",
       .doc = "Makes `value` the variable's value.",
       .traits = {.effect = Effect::kWrite, .role = Role::kAssigns},
       .shape = AssignShape,
       .gradient = NotDifferentiable("it changes a variable"),
       .kernel = WithObjectCode<AssignCode, AssignTensorCode>("dtype", Compute<AssignVariable>())});
  ops.Add({.schema = "AssignAddVariableOp(resource: resource, value: dtype) -> {dtype: type}",
           .doc = "Adds `value` to the variable.",
           .traits = {.effect = Effect::kWrite},
           .shape = AssignShape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = UpdateKernel<UpdateOp::kAdd>()});
  ops.Add({.schema = "AssignSubVariableOp(resource: resource, value: dtype) -> {dtype: type}",
           .doc = "Subtracts `value` from the variable.",
           .traits = {.effect = Effect::kWrite},
           .shape = AssignShape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = UpdateKernel<UpdateOp::kSub>()});
}

}  // namespace

void RegisterResourceVariable(OpRegistry& ops) {
  RegisterHandles(ops);
  RegisterReads(ops);
  RegisterAssigns(ops);
}

}  // namespace gyre

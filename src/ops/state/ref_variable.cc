// Variables behind references: VariableV2, Variable, TemporaryVariable and what is done to a Ref.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/control/forward.h"
#include "ops/registry.h"
#include "ops/state/update.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

struct VariableAttrs {
  explicit VariableAttrs(const Node& node)
      : where(node),
        dtype(NodeAttr<DType>(node, "dtype")),
        shape(NodeAttr<PartialShape>(node, "shape")) {}
  ResourceName where;
  DType dtype;
  PartialShape shape;
};

absl::Status MakeVariable(KernelContext& ctx, const VariableAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(RefPtr<VariableObject> variable,
                        NamedVariable(ctx, attrs.where, attrs.dtype, attrs.shape));
  ctx.set_output(0, Tensor::FromRef(attrs.dtype, std::move(variable)));
  return absl::OkStatus();
}

struct TemporaryAttrs {
  explicit TemporaryAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "dtype")),
        shape(NodeAttr<PartialShape>(node, "shape")),
        name(NodeAttr<std::string>(node, "var_name")) {
    if (name.empty()) name = node.name;
  }
  DType dtype;
  PartialShape shape;
  std::string name;
};

// Starts as zeros, where the peer leaves the memory as it finds it.
absl::Status MakeTemporary(KernelContext& ctx, const TemporaryAttrs& attrs) {
  const std::optional<Shape> shape = attrs.shape.ToShape();
  if (!shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("a temporary variable needs a known shape, not ", attrs.shape.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor value, ctx.AllocateZeros(attrs.dtype, *shape));
  auto variable = MakeRef<VariableObject>(attrs.name, attrs.dtype, attrs.shape);
  variable->Assign(std::move(value));
  ctx.set_output(0, Tensor::FromRef(attrs.dtype, std::move(variable)));
  return absl::OkStatus();
}

struct DestroyTemporaryAttrs {
  explicit DestroyTemporaryAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "T")), name(NodeAttr<std::string>(node, "var_name")) {}
  DType dtype;
  std::string name;
};

absl::Status DestroyTemporary(KernelContext& ctx, const DestroyTemporaryAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  if (variable->name() != attrs.name) {
    return absl::InvalidArgumentError(
        absl::StrCat("var_name is ", attrs.name, ", but the reference is to ", variable->name()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor value, ReadRef(ctx.input(0)));
  variable->Destroy();
  ctx.set_output(0, std::move(value));
  return absl::OkStatus();
}

absl::Status IsInitialized(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const VariableObject* variable, ResourceInput<VariableObject>(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(variable->Read().has_value()));
  return absl::OkStatus();
}

struct AssignAttrs {
  explicit AssignAttrs(const Node& node)
      : dtype(NodeAttr<DType>(node, "T")), validate_shape(NodeAttr<bool>(node, "validate_shape")) {}
  DType dtype;
  bool validate_shape;
};

absl::Status AssignRef(KernelContext& ctx, const AssignAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  const Shape& shape = ctx.input(1).shape();
  if (attrs.validate_shape) {
    const Tensor old = variable->Read();
    if (old.has_value() ? old.shape() != shape : !variable->shape().Allows(shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Assign requires shapes of both tensors to match. lhs shape= ",
                       old.has_value() ? old.shape().ToString() : variable->shape().ToString(),
                       " rhs shape= ", shape.ToString()));
    }
  }
  variable->Assign(ctx.TakeInput(1));
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

template <UpdateOp op>
struct UpdateAttrs {
  static absl::StatusOr<UpdateAttrs> Make(const Node& node) {
    const DType dtype = NodeAttr<DType>(node, "T");
    GYRE_RETURN_IF_ERROR(CheckUpdate(op, dtype));
    return UpdateAttrs{dtype};
  }
  DType dtype;
};

template <UpdateOp op>
absl::Status UpdateRef(KernelContext& ctx, const UpdateAttrs<op>& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  GYRE_RETURN_IF_ERROR(UpdateVariable(ctx, op, 0, *variable, ctx.input(1)));
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

struct SelectAttrs {
  explicit SelectAttrs(const Node& node) : n(NodeAttr<int64_t>(node, "N")) {}
  int64_t n;
};

absl::Status RefSelect(KernelContext& ctx, const SelectAttrs& attrs) {
  const Tensor& index = ctx.input(0);
  if (index.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index must be a scalar, but it has shape ", index.shape().ToString()));
  }
  const int32_t i = index.scalar<int32_t>();
  if (i < 0 || i >= attrs.n) {
    return absl::InvalidArgumentError(
        absl::StrCat("Index must be in the range [0, ", attrs.n, ") but got ", i));
  }
  ctx.set_output(0, ctx.TakeInput(1 + i));
  return absl::OkStatus();
}

// Graphs of old say [] for "I don't know" in `Variable`.
absl::Status OldVariableShape(ShapeContext& c) {
  const PartialShape* shape = c.attrs().Get<PartialShape>("shape");
  if (shape != nullptr && shape->has_rank() && shape->rank() > 0) c.set_output(0, *shape);
  return absl::OkStatus();
}

absl::Status AssignShape(ShapeContext& c) {
  if (!c.attrs().GetOr<bool>("validate_shape", true)) {
    c.set_output(0, c.input(1));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(0).Intersect(c.input(1)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status SelectShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (c.num_inputs() < 2) return absl::OkStatus();
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!c.input(i).IsFullyKnown() || c.input(i) != c.input(1)) return absl::OkStatus();
  }
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

void RegisterMakers(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "VariableV2() -> ref: Ref(dtype) {shape: shape; dtype: type; container: string = ''; "
           "shared_name: string = ''}",
       .doc = "A reference to the session's variable of this name.",
       .traits = {.effect = Effect::kRead, .makes_variable = true},
       .shape = shape::ByAttr,
       .gradient = NotDifferentiable("it has no inputs"),
       .kernel = Compute<MakeVariable>()});
  ops.Add(
      {.schema =
           "Variable() -> ref: Ref(dtype) {shape: shape; dtype: type; container: string = ''; "
           "shared_name: string = ''}",
       .doc = "A reference to the session's variable of this name (the older form of VariableV2).",
       .traits = {.effect = Effect::kRead, .makes_variable = true},
       .shape = OldVariableShape,
       .gradient = NotDifferentiable("it has no inputs"),
       .kernel = Compute<MakeVariable>()});
  ops.Add(
      {.schema = "TemporaryVariable() -> ref: Ref(dtype) {shape: shape; dtype: type; var_name: "
                 "string = ''}",
       .doc = "A reference to a new variable, initially zeros, that lives no longer than the run.",
       .traits = {.effect = Effect::kAllocate},
       .shape = shape::ByAttr,
       .gradient = NotDifferentiable("it has no inputs"),
       .kernel = Compute<MakeTemporary>()});
  ops.Add(
      {.schema = "DestroyTemporaryVariable(ref: Ref(T)) -> value: T {T: type; var_name: string}",
       .doc = "The last value of a temporary variable, which is uninitialised from then on.",
       .traits = {.effect = Effect::kWrite},
       .shape = shape::SameAsInput,
       .gradient = NotDifferentiable("it changes a variable"),
       .kernel = Compute<DestroyTemporary>()});
}

void RegisterUpdates(OpRegistry& ops) {
  ops.Add({.schema = "Assign(ref: Ref(T), value: T) -> output_ref: Ref(T) {T: type; "
                     "validate_shape: bool = true; "
                     "use_locking: bool = true}",
           .doc = "Makes `value` the variable's value, and hands on the reference.",
           .traits = {.effect = Effect::kWrite,
                      .allows_uninitialized_input = true,
                      .role = Role::kAssigns},
           .shape = AssignShape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<AssignRef>()});
  ops.Add({.schema = "AssignAdd(ref: Ref(T), value: T) -> output_ref: Ref(T) {T: numbertype; "
                     "use_locking: bool = "
                     "false}",
           .doc = "Adds `value` to the variable, and hands on the reference.",
           .traits = {.effect = Effect::kWrite},
           .shape = shape::SameForAll,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<UpdateRef<UpdateOp::kAdd>>()});
  ops.Add({.schema = "AssignSub(ref: Ref(T), value: T) -> output_ref: Ref(T) {T: numbertype; "
                     "use_locking: bool = "
                     "false}",
           .doc = "Subtracts `value` from the variable, and hands on the reference.",
           .traits = {.effect = Effect::kWrite},
           .shape = shape::SameForAll,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<UpdateRef<UpdateOp::kSub>>()});
}

}  // namespace

void RegisterRefVariable(OpRegistry& ops) {
  RegisterMakers(ops);
  RegisterUpdates(ops);
  ops.Add({.schema = "IsVariableInitialized(ref: Ref(dtype)) -> is_initialized: bool {dtype: type}",
           .doc = "Whether the variable has a value.",
           .traits = {.effect = Effect::kRead, .allows_uninitialized_input = true},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is a bool"),
           .kernel = Compute<IsInitialized>()});
  ops.Add({.schema = "RefIdentity(input: Ref(T)) -> output: Ref(T) {T: type}",
           .doc = "The same reference.",
           .traits = {.allows_uninitialized_input = true, .hands_on = true},
           .shape = shape::SameAsInput,
           .gradient = {gradient::PassOn},
           .kernel = Compute<ForwardInput>()});
  ops.Add(
      {.schema =
           "RefSelect(index: int32, inputs: Ref(N * T)) -> output: Ref(T) {T: type; N: int >= 1}",
       .doc = "The reference at position `index`.",
       .shape = SelectShape,
       .gradient = NotDifferentiable("it chooses a reference"),
       .kernel = Compute<RefSelect>()});
}

}  // namespace gyre

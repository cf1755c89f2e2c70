// OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue: some tensors, or none.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/list/tensor_list.h"
#include "ops/memory.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Immutable; any thread.
class Optional final : public AddableObject {
 public:
  static constexpr absl::string_view kTypeName = "Optional";

  Optional(bool has_value, std::vector<Tensor> components, MemoryBudget* budget)
      : has_value_(has_value), components_(std::move(components)), charge_(budget) {}
  ~Optional() override { DropIteratively(std::move(components_)); }

  absl::string_view type_name() const override { return kTypeName; }
  bool has_value() const { return has_value_; }
  const std::vector<Tensor>& components() const { return components_; }
  // What the object itself holds is taken out of the run's budget.
  static absl::StatusOr<RefPtr<Object>> None(const KernelContext& ctx) {
    return Make(ctx, /*has_value=*/false, {});
  }
  // A value may have any number of components, zero included.
  static absl::StatusOr<RefPtr<Object>> Some(const KernelContext& ctx,
                                             std::vector<Tensor> components) {
    return Make(ctx, /*has_value=*/true, std::move(components));
  }

  // None plus none is none.
  absl::StatusOr<RefPtr<Object>> Add(KernelContext& ctx, const Object& other) const override {
    const NestingGuard guard;
    GYRE_RETURN_IF_ERROR(guard.Check());
    const auto* optional = dynamic_cast<const Optional*>(&other);
    if (optional == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot add an ", kTypeName, " and a ", other.type_name()));
    }
    if (has_value_ != optional->has_value_) {
      return absl::InvalidArgumentError(
          "Cannot add optionals because one has a value and the other doesn't.");
    }
    if (!has_value_) return None(ctx);
    if (components_.size() != optional->components_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cannot add optionals because they have different numbers of components (",
                       components_.size(), " vs. ", optional->components_.size(), ")."));
    }
    std::vector<Tensor> sums;
    for (size_t i = 0; i < components_.size(); ++i) {
      GYRE_ASSIGN_OR_RETURN(sums.emplace_back(),
                            AddTensors(ctx, components_[i], optional->components_[i]));
    }
    return Some(ctx, std::move(sums));
  }

  int64_t PayloadBytes() const override {
    const NestingGuard guard;
    int64_t bytes = 0;
    for (const Tensor& component : components_) bytes += gyre::PayloadBytes(component);
    return guard.Check().ok() ? bytes : 0;
  }

  // None stays none.
  absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext& ctx) const override {
    const NestingGuard guard;
    GYRE_RETURN_IF_ERROR(guard.Check());
    if (!has_value_) return None(ctx);
    std::vector<Tensor> zeros;
    for (const Tensor& component : components_) {
      GYRE_ASSIGN_OR_RETURN(zeros.emplace_back(), ZerosLikeTensor(ctx, component));
    }
    return Some(ctx, std::move(zeros));
  }

 private:
  static absl::StatusOr<RefPtr<Object>> Make(const KernelContext& ctx, bool has_value,
                                             std::vector<Tensor> components) {
    const size_t bytes = sizeof(Optional) + components.size() * sizeof(Tensor);
    auto optional = MakeRef<Optional>(has_value, std::move(components), ctx.env().budget);
    GYRE_RETURN_IF_ERROR(optional->charge_.Set(static_cast<int64_t>(bytes)));
    return RefPtr<Object>(std::move(optional));
  }

  const bool has_value_;
  std::vector<Tensor> components_;
  MemoryCharge charge_;
};

absl::Status FromValue(KernelContext& ctx) {
  std::vector<Tensor> components;
  for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.TakeInput(i));
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> optional, Optional::Some(ctx, std::move(components)));
  ctx.set_output(0, Tensor::FromObject(DType::kVariant, std::move(optional)));
  return absl::OkStatus();
}

absl::Status None(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> none, Optional::None(ctx));
  ctx.set_output(0, Tensor::FromObject(DType::kVariant, std::move(none)));
  return absl::OkStatus();
}

absl::StatusOr<const Optional*> OptionalInput(const KernelContext& ctx) {
  if (const auto* optional = ctx.input(0).object_as<Optional>()) return optional;
  const Object* object = ctx.input(0).object();
  return absl::InvalidArgumentError(
      absl::StrCat("input 0 must be an Optional, but it is ",
                   object == nullptr ? "something else" : absl::StrCat("a ", object->type_name())));
}

absl::Status HasValue(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
  ctx.set_output(0, Tensor::Scalar(optional->has_value()));
  return absl::OkStatus();
}

struct GetAttrs {
  static absl::StatusOr<GetAttrs> Make(const Node& node) {
    GetAttrs attrs{NodeAttr<std::vector<PartialShape>>(node, "output_shapes")};
    if (attrs.shapes.size() != node.signature.outputs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output_shapes and output_types must be of the same length, not ",
                       attrs.shapes.size(), " and ", node.signature.outputs.size()));
    }
    return attrs;
  }
  std::vector<PartialShape> shapes;
};

absl::Status CheckComponent(int i, const Tensor& component, DType dtype,
                            const PartialShape& shape) {
  if (component.dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("The given optional's component ", i,
                                                   " is of type ", DTypeName(component.dtype()),
                                                   ", expected ", DTypeName(dtype), "."));
  }
  if (!shape.Allows(component.shape())) {
    return absl::InvalidArgumentError(absl::StrCat("The given optional's component ", i,
                                                   " has shape ", component.shape().ToString(),
                                                   ", expected ", shape.ToString(), "."));
  }
  return absl::OkStatus();
}

absl::Status GetValue(KernelContext& ctx, const GetAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
  if (!optional->has_value()) {
    return absl::InvalidArgumentError("The given optional does not have a value.");
  }
  const std::vector<Tensor>& components = optional->components();
  if (static_cast<int>(components.size()) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("The given optional has ", components.size(),
                                                   " components, expected ", ctx.num_outputs(),
                                                   "."));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    const size_t k = static_cast<size_t>(i);
    GYRE_RETURN_IF_ERROR(CheckComponent(i, components[k], ctx.output_dtype(i), attrs.shapes[k]));
    ctx.set_output(i, components[k]);
  }
  return absl::OkStatus();
}

absl::Status GetValueShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  return shape::ByOutputShapes(c);
}

// Optionals have optionals as their gradients, in which components without one are left out.
bool HasGradient(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant;
}

void FromValueGradient(GradientContext& g) {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  std::vector<int> inputs;
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.input_dtype(i) == DType::kResource && g.wants(i)) {
      return g.Fail(absl::UnimplementedError(
          "the gradient of a variable whose handle was kept in an optional"));
    }
    if (!HasGradient(g.input_dtype(i))) continue;
    const PartialShape& shape = g.input_shape(i);
    // A float may stand for a TensorArray, whose gradient is a list.
    const bool may_be_flow =
        g.input_dtype(i) == DType::kFloat && shape.has_rank() && shape.rank() == 0;
    inputs.push_back(i);
    dtypes.push_back(may_be_flow ? g.zero(i).dtype() : g.input_dtype(i));
    shapes.push_back(shape);
  }
  const int n = static_cast<int>(inputs.size());
  if (n == 0) return;
  const std::vector<Expr> components = g.builder().Ops(
      "OptionalGetValue", {g.grad()}, {{"output_types", dtypes}, {"output_shapes", shapes}}, n);
  for (int k = 0; k < n; ++k) g.Add(inputs[k], components[k]);
}

void GetValueGradient(GradientContext& g) {
  std::vector<Expr> components;
  for (int i = 0; i < g.num_outputs(); ++i) {
    if (HasGradient(g.output_dtype(i))) components.push_back(g.grad(i));
  }
  g.Add(0, g.op("OptionalFromValue", std::move(components)));
}

}  // namespace

void RegisterOptional(OpRegistry& ops) {
  ops.Add({.schema = "OptionalFromValue(components: Toutput_types) -> optional: variant "
                     "{Toutput_types: list(type) >= "
                     "1}",
           .doc = "An optional that holds the components.",
           .shape = shape::Scalar,
           .gradient = {FromValueGradient},
           .kernel = Compute<FromValue>()});
  ops.Add({.schema = "OptionalNone() -> optional: variant",
           .doc = "An optional that holds nothing.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("it has no inputs"),
           .kernel = Compute<None>()});
  ops.Add({.schema = "OptionalHasValue(optional: variant) -> has_value: bool",
           .doc = "Whether an optional holds something.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is a bool"),
           .kernel = Compute<HasValue>()});
  ops.Add({.schema = "OptionalGetValue(optional: variant) -> components: output_types "
                     "{output_types: list(type) >= 1; "
                     "output_shapes: list(shape) >= 1}",
           .doc = "What an optional holds; an error if that is nothing.",
           .shape = GetValueShape,
           .gradient = {GetValueGradient},
           .kernel = Compute<GetValue>()});
}

}  // namespace gyre

// OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue: some tensors, or none; and,
// for their gradients, _OptionalZero and _OptionalGetOrZeros.
#include "absl/algorithm/container.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_rules.h"
#include "ops/list/tensor_list.h"
#include "ops/memory.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Immutable while it is shared; any thread.
class Optional final : public AddableObject {
 public:
  static constexpr absl::string_view kTypeName = "Optional";

  enum class State : uint8_t {
    kNone,
    kSome,
    kZero,  // the gradient of an optional on which nothing depends: zeros, whatever it holds
  };

  Optional(State state, std::vector<Tensor> components, MemoryBudget* budget)
      : state_(state), components_(std::move(components)), charge_(budget) {}
  ~Optional() override { DropIteratively(std::move(components_)); }

  absl::string_view type_name() const override { return kTypeName; }
  bool has_value() const { return state_ == State::kSome; }
  bool is_zero() const { return state_ == State::kZero; }
  const std::vector<Tensor>& components() const { return components_; }
  // Requirement: nobody else refers to it.
  Tensor TakeComponent(size_t i) { return std::move(components_[i]); }
  // A value may have any number of components, zero included. What the object itself holds is taken
  // out of the run's budget.
  static absl::StatusOr<RefPtr<Object>> Make(const KernelContext& ctx, State state,
                                             std::vector<Tensor> components = {}) {
    return Make(ctx.env().budget, state, std::move(components));
  }
  static absl::StatusOr<RefPtr<Object>> Make(MemoryBudget* budget, State state,
                                             std::vector<Tensor> components) {
    const size_t bytes = sizeof(Optional) + components.size() * sizeof(Tensor);
    auto optional = MakeRef<Optional>(state, std::move(components), budget);
    GYRE_RETURN_IF_ERROR(optional->charge_.Set(static_cast<int64_t>(bytes)));
    return RefPtr<Object>(std::move(optional));
  }

  // None plus none is none, zero plus anything is that.
  absl::StatusOr<RefPtr<Object>> Add(KernelContext& ctx, const Object& other) const override {
    const NestingGuard guard;
    GYRE_RETURN_IF_ERROR(guard.Check());
    const auto* optional = dynamic_cast<const Optional*>(&other);
    if (optional == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot add an ", kTypeName, " and a ", other.type_name()));
    }
    if (is_zero()) return Make(ctx, optional->state_, optional->components_);
    if (optional->is_zero()) return Make(ctx, state_, components_);
    if (has_value() != optional->has_value()) {
      return absl::InvalidArgumentError(
          "Cannot add optionals because one has a value and the other doesn't.");
    }
    if (!has_value()) return Make(ctx, state_);
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
    return Make(ctx, state_, std::move(sums));
  }

  int64_t PayloadBytes() const override {
    const NestingGuard guard;
    int64_t bytes = 0;
    for (const Tensor& component : components_) bytes += gyre::PayloadBytes(component);
    return guard.Check().ok() ? bytes : 0;
  }

  absl::StatusOr<VariantParts> TakeApart() const override {
    return VariantParts{std::string(1, static_cast<char>(state_)), components_};
  }

  // None stays none.
  absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext& ctx) const override {
    const NestingGuard guard;
    GYRE_RETURN_IF_ERROR(guard.Check());
    if (!has_value()) return Make(ctx, state_);
    std::vector<Tensor> zeros;
    for (const Tensor& component : components_) {
      GYRE_ASSIGN_OR_RETURN(zeros.emplace_back(), ZerosLikeTensor(ctx, component));
    }
    return Make(ctx, state_, std::move(zeros));
  }

 private:
  const State state_;
  std::vector<Tensor> components_;
  MemoryCharge charge_;
};

absl::Status FromValue(KernelContext& ctx) {
  std::vector<Tensor> components;
  for (int i = 0; i < ctx.num_inputs(); ++i) components.push_back(ctx.TakeInput(i));
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> optional,
                        Optional::Make(ctx, Optional::State::kSome, std::move(components)));
  ctx.set_output(0, Tensor::FromObject(DType::kVariant, std::move(optional)));
  return absl::OkStatus();
}

template <Optional::State kState>
absl::Status WithoutComponents(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(RefPtr<Object> optional, Optional::Make(ctx, kState));
  ctx.set_output(0, Tensor::FromObject(DType::kVariant, std::move(optional)));
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
  }
  // What nobody else can read is handed on, not shared: a list may then be changed in place.
  const RefPtr<Optional> taken = ctx.TakeInput(0).TakeObject<Optional>();
  const bool is_own = taken->IsUnique();
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    const size_t k = static_cast<size_t>(i);
    ctx.set_output(i, is_own ? taken->TakeComponent(k) : components[k]);
  }
  return absl::OkStatus();
}

// An optional that no list has initialised is zero.
absl::Status GetOrZeros(KernelContext& ctx) {
  const bool is_nothing = ctx.input(0).rank() == 0 && ctx.input(0).object() == nullptr;
  bool is_zero = is_nothing;
  if (!is_nothing) {
    GYRE_ASSIGN_OR_RETURN(const Optional* optional, OptionalInput(ctx));
    is_zero = optional->is_zero();
  }
  if (!is_zero) return GetValue(ctx, {std::vector<PartialShape>(ctx.num_outputs())});
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, ctx.TakeInput(i + 1));
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

// The adjoint of a component is of the component's kind.
void PassKinds(GradientContext& g, const std::vector<bool>& kept, AttrMap& attrs) {
  const auto* texts = g.node().attrs.Get<std::vector<std::string>>(kKindsAttr);
  if (texts == nullptr || texts->size() != kept.size()) return;
  std::vector<std::string> of_kept;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) of_kept.push_back((*texts)[i]);
  }
  attrs.Set(kKindsAttr, std::move(of_kept));
}

// What stands for component i of a gradient that is zero. Where nobody wants it, anything does of
// its type, which a float does not tell: it may stand for a TensorArray, whose gradient is a list.
Expr ZeroComponent(GradientContext& g, int i) {
  const DType dtype = g.input_dtype(i);
  if (g.wants(i) || dtype == DType::kFloat) return g.zero(i);
  return dtype == DType::kVariant ? g.op("_OptionalZero", {}) : g.builder().Zero(dtype);
}

void FromValueGradient(GradientContext& g) {
  std::vector<Expr> optional_and_zeros = {g.grad()};
  std::vector<int> inputs;
  std::vector<bool> kept;
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.input_dtype(i) == DType::kResource && g.wants(i)) {
      return g.Fail(absl::UnimplementedError(
          "the gradient of a variable whose handle was kept in an optional"));
    }
    kept.push_back(HasGradient(g.input_dtype(i)));
    if (!kept.back()) continue;
    inputs.push_back(i);
    optional_and_zeros.push_back(ZeroComponent(g, i));
  }
  const int n = static_cast<int>(inputs.size());
  if (n == 0) return;
  AttrMap attrs;
  PassKinds(g, kept, attrs);
  const std::vector<Expr> components =
      g.builder().Ops("_OptionalGetOrZeros", std::move(optional_and_zeros), std::move(attrs), n);
  for (int k = 0; k < n; ++k) g.Add(inputs[k], components[k]);
}

void GetValueGradient(GradientContext& g) {
  std::vector<Expr> components;
  std::vector<bool> kept;
  for (int i = 0; i < g.num_outputs(); ++i) {
    kept.push_back(HasGradient(g.output_dtype(i)));
    if (kept.back()) components.push_back(g.grad(i));
  }
  AttrMap attrs;
  PassKinds(g, kept, attrs);
  g.Add(0, g.op("OptionalFromValue", std::move(components), std::move(attrs)));
}

void RegisterGradients(OpRegistry& ops) {
  ops.Add({.schema = "_OptionalZero() -> optional: variant",
           .doc = "The gradient of an optional on which nothing depends.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("it has no inputs"),
           .kinds = kinds::Nothing,
           .kernel = Compute<WithoutComponents<Optional::State::kZero>>()});
  ops.Add({.schema = "_OptionalGetOrZeros(optional: variant, zeros: T) -> components: T "
                     "{T: list(type) >= 1}",
           .doc = "What the gradient of an optional holds; `zeros` if that is zero.",
           .shape = shape::Unknown,
           .gradient = {GetValueGradient},
           .kinds = kinds::ContentOrInputs,
           .kernel = Compute<GetOrZeros>()});
}

absl::Status OptionalNoneBatch(BatchContext& c) { return c.Emit({}, {}, {Rows::kElements}); }

absl::Status OptionalFromValueBatch(BatchContext& c) {
  std::vector<Expr> components;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const bool is_list = c.rows_of(i) == Rows::kElements;
    if (!is_list && c.input_dtype(i) == DType::kVariant)
      return batch::Refuse("a list that is the same for all rows is kept for the gradient");
    components.push_back(is_list ? c.input(i) : c.stacked(i));
  }
  return c.Emit(components, {}, {Rows::kElements});
}

absl::Status OptionalGetValueBatch(BatchContext& c) {
  auto shapes = c.attr<std::vector<PartialShape>>("output_shapes", {});
  std::vector<Rows> rows;
  for (size_t i = 0; i < c.node().signature.outputs.size(); ++i) {
    const bool is_list = c.node().signature.outputs[i].dtype == DType::kVariant;
    rows.push_back(is_list ? Rows::kElements : Rows::kStacked);
    if (!is_list && i < shapes.size()) shapes[i] = batch::WithRowAxis(shapes[i], -1);
  }
  return c.Emit({c.input(0)}, {{"output_shapes", shapes}}, rows);
}

absl::Status OptionalHasValueBatch(BatchContext& c) {
  return c.Emit({c.input(0)}, {}, {Rows::kSame});
}

}  // namespace

absl::StatusOr<RefPtr<Object>> MakeOptional(VariantParts parts, Tensor::Alloc alloc) {
  const auto state = static_cast<Optional::State>(parts.state.empty() ? '\xff' : parts.state[0]);
  const bool is_some = state == Optional::State::kSome;
  const bool is_sound = state <= Optional::State::kZero && (is_some || parts.components.empty());
  if (!is_sound || !absl::c_all_of(parts.components, [](const Tensor& t) { return t.has_value(); }))
    return absl::InvalidArgumentError("these parts do not make an optional");
  return Optional::Make(alloc.budget, state, std::move(parts.components));
}

void RegisterOptional(OpRegistry& ops) {
  ops.Add({.schema = "OptionalFromValue(components: Toutput_types) -> optional: variant "
                     "{Toutput_types: list(type) >= "
                     "1}",
           .doc = "An optional that holds the components.",
           .traits = {.keeps_for_gradients = true},
           .shape = shape::Scalar,
           .gradient = {FromValueGradient},
           .batch = {.rule = OptionalFromValueBatch, .knows_lists = true, .makes_list = true},
           .kinds = kinds::OptionalOfInputs,
           .kernel = Compute<FromValue>()});
  ops.Add({.schema = "OptionalNone() -> optional: variant",
           .doc = "An optional that holds nothing.",
           .traits = {.keeps_for_gradients = true},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("it has no inputs"),
           .batch = {.rule = OptionalNoneBatch, .knows_lists = true, .makes_list = true},
           .kinds = kinds::Nothing,
           .kernel = Compute<WithoutComponents<Optional::State::kNone>>()});
  ops.Add({.schema = "OptionalHasValue(optional: variant) -> has_value: bool",
           .doc = "Whether an optional holds something.",
           .traits = {.keeps_for_gradients = true},
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is a bool"),
           .batch = {.rule = OptionalHasValueBatch, .knows_lists = true},
           .kernel = Compute<HasValue>()});
  ops.Add({.schema = "OptionalGetValue(optional: variant) -> components: output_types "
                     "{output_types: list(type) >= 1; "
                     "output_shapes: list(shape) >= 1}",
           .doc = "What an optional holds; an error if that is nothing.",
           .traits = {.keeps_for_gradients = true},
           .shape = GetValueShape,
           .gradient = {GetValueGradient},
           .batch = {.rule = OptionalGetValueBatch, .knows_lists = true},
           .kinds = kinds::Content,
           .kernel = Compute<GetValue>()});
  RegisterGradients(ops);
}

}  // namespace gyre

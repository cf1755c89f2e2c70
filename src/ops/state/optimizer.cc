// ApplyGradientDescent, ApplyMomentum, ApplyAdam and their forms on handles: one training step of
// one variable.
#include <cmath>
#include <complex>

#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

using TrainableTypes = Types<float, double, Half, BFloat16, complex64, complex128>;

// The 16-bit floats compute in float.
template <typename T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Half> {
  using type = float;
};
template <>
struct ComputeType<BFloat16> {
  using type = float;
};

// The first `count` inputs of an optimiser: the variable and its slots, locked together, of one
// shape with the gradient, and writable.
class TrainedVariables {
 public:
  // `grad`: which input is the gradient.
  static absl::StatusOr<std::unique_ptr<TrainedVariables>> Open(const KernelContext& ctx,
                                                                DType dtype, int count, int grad) {
    std::vector<VariableObject*> variables;
    for (int i = 0; i < count; ++i) {
      GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, i, dtype));
      variables.push_back(variable);
    }
    std::unique_ptr<TrainedVariables> opened(new TrainedVariables(std::move(variables)));
    GYRE_RETURN_IF_ERROR(opened->Check(ctx, ctx.input(grad).shape()));
    return opened;
  }

  template <typename T>
  T* data(int i) {
    return static_cast<T*>(lock_.value(*variables_[i]).mutable_raw_data());
  }

 private:
  explicit TrainedVariables(std::vector<VariableObject*> variables)
      : variables_(std::move(variables)), lock_(absl::MakeConstSpan(variables_)) {}

  absl::Status Check(const KernelContext& ctx, const Shape& grad) {
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Tensor& value = lock_.value(*variables_[i]);
      GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, static_cast<int>(i), *variables_[i], value));
      if (value.shape() != grad) {
        return absl::InvalidArgumentError(absl::StrCat(
            "variable ", variables_[i]->name(), " and the gradient do not have the same shape: ",
            value.shape().ToString(), " ", grad.ToString()));
      }
    }
    for (VariableObject* variable : variables_)
      GYRE_RETURN_IF_ERROR(MakeWritable(ctx, lock_.value(*variable)));
    return absl::OkStatus();
  }

  const std::vector<VariableObject*> variables_;
  VariableLock lock_;
};

absl::Status RequireScalars(const KernelContext& ctx, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    if (ctx.input(i).rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(ctx.node().op->inputs[i].name,
                                                     " is not a scalar: its shape is ",
                                                     ctx.input(i).shape().ToString()));
    }
  }
  return absl::OkStatus();
}

// An optimiser's outputs are the reference it was given, if that is what it was given.
void HandOn(KernelContext& ctx) {
  if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.TakeInput(0));
}

struct StepAttrs {
  explicit StepAttrs(const Node& node) : nesterov(NodeAttr<bool>(node, "use_nesterov")) {}
  bool nesterov;
};

template <typename T>
struct GradientDescent {
  using C = typename ComputeType<T>::type;
  // var, alpha, delta
  static absl::Status Run(KernelContext& ctx) {
    GYRE_RETURN_IF_ERROR(RequireScalars(ctx, 1, 2));
    {
      GYRE_ASSIGN_OR_RETURN(const auto trained, TrainedVariables::Open(ctx, DTypeOf<T>, 1, 2));
      const C alpha(ctx.input(1).scalar<T>());
      const absl::Span<const T> delta = ctx.input(2).values<T>();
      T* const var = trained->template data<T>(0);
      for (size_t i = 0; i < delta.size(); ++i) var[i] = T(C(var[i]) - alpha * C(delta[i]));
    }
    HandOn(ctx);
    return absl::OkStatus();
  }
};

template <typename T>
struct Momentum {
  using C = typename ComputeType<T>::type;
  // var, accum, lr, grad, momentum
  static absl::Status Run(KernelContext& ctx, const StepAttrs& attrs) {
    GYRE_RETURN_IF_ERROR(RequireScalars(ctx, 2, 3));
    GYRE_RETURN_IF_ERROR(RequireScalars(ctx, 4, 5));
    {
      GYRE_ASSIGN_OR_RETURN(const auto trained, TrainedVariables::Open(ctx, DTypeOf<T>, 2, 3));
      const C lr(ctx.input(2).scalar<T>());
      const C momentum(ctx.input(4).scalar<T>());
      const absl::Span<const T> grad = ctx.input(3).values<T>();
      T* const var = trained->template data<T>(0);
      T* const accum = trained->template data<T>(1);
      for (size_t i = 0; i < grad.size(); ++i) {
        const C g(grad[i]);
        const C a = C(accum[i]) * momentum + g;
        accum[i] = T(a);
        var[i] = T(C(var[i]) - (attrs.nesterov ? g * lr + a * momentum * lr : a * lr));
      }
    }
    HandOn(ctx);
    return absl::OkStatus();
  }
};

// Kingma and Ba, "Adam: a method for stochastic optimization", 2014, in the order of operations of
// its section 2 (last paragraph).
template <typename T>
struct Adam {
  using C = typename ComputeType<T>::type;
  // var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad
  static absl::Status Run(KernelContext& ctx, const StepAttrs& attrs) {
    GYRE_RETURN_IF_ERROR(RequireScalars(ctx, 3, 9));
    {
      GYRE_ASSIGN_OR_RETURN(const auto trained, TrainedVariables::Open(ctx, DTypeOf<T>, 3, 9));
      const auto scalar = [&](int i) { return C(ctx.input(i).scalar<T>()); };
      const C one(1);
      const C beta1 = scalar(6);
      const C beta2 = scalar(7);
      const C epsilon = scalar(8);
      const C rate = scalar(5) * std::sqrt(one - scalar(4)) / (one - scalar(3));
      const absl::Span<const T> grad = ctx.input(9).values<T>();
      T* const var = trained->template data<T>(0);
      T* const ms = trained->template data<T>(1);
      T* const vs = trained->template data<T>(2);
      for (size_t i = 0; i < grad.size(); ++i) {
        const C g(grad[i]);
        const C m = C(ms[i]) + (g - C(ms[i])) * (one - beta1);
        const C v = C(vs[i]) + (g * g - C(vs[i])) * (one - beta2);
        ms[i] = T(m);
        vs[i] = T(v);
        const C direction = attrs.nesterov ? g * (one - beta1) + beta1 * m : m;
        var[i] = T(C(var[i]) - direction * rate / (std::sqrt(v) + epsilon));
      }
    }
    HandOn(ctx);
    return absl::OkStatus();
  }
};

// Inputs [0, variables) are the variables; those from there on that `grad` does not name are
// scalars.
absl::Status OptimizerShape(ShapeContext& c, int variables, int grad) {
  const bool by_ref = c.num_outputs() > 0;
  PartialShape shape = c.input(grad);
  for (int i = 0; i < variables; ++i) {
    if (!by_ref && !c.input_handle(i)) continue;
    GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(by_ref ? c.input(i) : c.input_handle(i)->shape));
  }
  for (int i = variables; i < c.num_inputs(); ++i) {
    if (i != grad) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  }
  if (by_ref) c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status GradientDescentShape(ShapeContext& c) { return OptimizerShape(c, 1, 2); }
absl::Status MomentumShape(ShapeContext& c) { return OptimizerShape(c, 2, 3); }
absl::Status AdamShape(ShapeContext& c) { return OptimizerShape(c, 3, 9); }

// `variables` and `rest` are the names of the inputs, in order; `attrs` the attributes of its own.
struct Optimizer {
  absl::string_view name;
  std::vector<absl::string_view> variables;
  std::vector<absl::string_view> rest;
  absl::string_view attrs;
  absl::string_view doc;
  ShapeFn shape;
  KernelFactory kernel;
};

void RegisterForm(OpRegistry& ops, const Optimizer& optimizer, bool by_ref) {
  std::string inputs;
  for (const absl::string_view name : optimizer.variables) {
    absl::StrAppend(&inputs, name, ": ", by_ref ? "Ref(T)" : "resource", ", ");
  }
  for (size_t i = 0; i < optimizer.rest.size(); ++i) {
    absl::StrAppend(&inputs, i > 0 ? ", " : "", optimizer.rest[i], ": T");
  }
  const std::string schema =
      absl::StrCat(by_ref ? "Apply" : "ResourceApply", optimizer.name, "(", inputs, ") -> ",
                   by_ref ? "out: Ref(T) " : "", "{T: numbertype; use_locking: bool = false",
                   optimizer.attrs, "}");
  ops.Add({.schema = schema,
           .doc = optimizer.doc,
           .traits = {.effect = Effect::kWrite},
           .shape = optimizer.shape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = optimizer.kernel});
}

}  // namespace

void RegisterOptimizer(OpRegistry& ops) {
  const Optimizer optimizers[] = {
      {.name = "GradientDescent",
       .variables = {"var"},
       .rest = {"alpha", "delta"},
       .attrs = "",
       .doc = "Subtracts alpha · delta from a variable.",
       .shape = GradientDescentShape,
       .kernel = ForTypes<GradientDescent, TrainableTypes>("T")},
      {.name = "Momentum",
       .variables = {"var", "accum"},
       .rest = {"lr", "grad", "momentum"},
       .attrs = "; use_nesterov: bool = false",
       .doc = "One step of gradient descent with momentum.",
       .shape = MomentumShape,
       .kernel = ForTypes<Momentum, TrainableTypes>("T")},
      {.name = "Adam",
       .variables = {"var", "m", "v"},
       .rest = {"beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
       .attrs = "; use_nesterov: bool = false",
       .doc = "One step of Adam.",
       .shape = AdamShape,
       .kernel = ForTypes<Adam, TrainableTypes>("T")},
  };
  for (const Optimizer& optimizer : optimizers) {
    for (const bool by_ref : {true, false}) RegisterForm(ops, optimizer, by_ref);
  }
}

}  // namespace gyre

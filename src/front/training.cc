#include "gyre/training.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/graph.h"
#include "gyre/math.h"

namespace gyre {

using internal::InMainGraph;
using internal::OpCall;
using internal::ThrowInvalid;

namespace {

// What all ops of one step are told.
struct Step {
  Operand rate;
  Value iterations;  // steps taken before
  std::source_location where;
};

// A number of another type, unless it is a literal, which takes the type that its op wants.
Operand In(DType dtype, const Operand& number) {
  if (number.is_literal() || number.value().dtype() == dtype) return number;
  return Operand(cast(number, dtype), number.where());
}

Operand HandleOf(const Variable& variable, const std::source_location& where) {
  return Operand(variable.handle(), where);
}

const Node& NodeOf(const Value& value) { return value.scope()->function().node(value.node()); }

// Zeros of the shape of a variable's initial value. Requirement: InMainGraph.
Value ZerosFor(const Variable& variable) {
  if (const std::optional<Shape> shape = variable.shape().ToShape()) {
    return zeros(std::vector<int64_t>(shape->dims().begin(), shape->dims().end()),
                 variable.dtype());
  }
  const Operation& initializer = variable.initializer();
  const Endpoint initial = initializer.scope()->function().node(initializer.node()).inputs[1];
  return zeros_like(Value(initializer.scope(), initial.node, initial.slot));
}

std::string ShapeAndType(DType dtype, const PartialShape& shape) {
  return absl::StrCat(DTypeName(dtype), shape.ToString());
}

void CheckGradient(const Value& gradient, const Variable& variable,
                   const std::source_location& where) {
  if (!gradient.has_value()) {
    ThrowInvalid(absl::StrCat("the gradient for variable '", variable.name(),
                              "' has no value: train only what the loss depends on"),
                 where);
  }
  if (gradient.dtype() != variable.dtype() || !gradient.shape().Intersect(variable.shape()).ok()) {
    ThrowInvalid(
        absl::StrCat("variable '", variable.name(), "' is ",
                     ShapeAndType(variable.dtype(), variable.shape()), ", but its gradient is ",
                     ShapeAndType(gradient.dtype(), gradient.shape())),
        where);
  }
}

}  // namespace

Operand LearningRate::At(const Value& iterations) const {
  const Operand rate = schedule_ ? Operand(schedule_(iterations), where_) : constant_;
  const DType dtype = rate.is_literal() ? rate.literal().dtype() : rate.value().dtype();
  const bool is_scalar = rate.is_literal() || rate.value().shape().Allows(Shape());
  if (!is_scalar || (!IsFloating(dtype) && !IsInteger(dtype))) {
    ThrowInvalid(absl::StrCat("a learning rate is a real scalar, not ",
                              ShapeAndType(dtype, rate.is_literal() ? PartialShape::Scalar()
                                                                    : rate.value().shape())),
                 where_);
  }
  return rate;
}

namespace internal {

// An optimizer with what it remembers. Shared by its copies.
class OptimizerState {
 public:
  OptimizerState(std::string name, LearningRate rate)
      : name_(std::move(name)), rate_(std::move(rate)) {}
  virtual ~OptimizerState() = default;

  // Changes one variable.
  using Update = std::function<Operation(const Variable& variable, const Value& gradient)>;

  const std::optional<Variable>& iterations() const { return iterations_; }
  // Throws unless variables of this dtype can be trained.
  virtual void CheckType(const Variable& variable, const std::source_location& where) const = 0;
  // What each variable goes through in this step.
  virtual Update Begin(const Step& step) = 0;

  Operation Apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables,
                  const std::source_location& where);

 protected:
  // "w/momentum": zeros of the shape of w, made once.
  const Variable& Slot(const Variable& variable, const std::string& name,
                       const std::source_location& where);

 private:
  const Variable& CountIn(const std::shared_ptr<GraphState>& graph,
                          const std::source_location& where);

  const std::string name_;
  const LearningRate rate_;
  std::optional<Variable> iterations_;
  std::map<std::string, Variable> slots_;  // by the wanted name
};

const Variable& OptimizerState::Slot(const Variable& variable, const std::string& name,
                                     const std::source_location& where) {
  const std::string wanted = absl::StrCat(variable.name(), "/", name);
  if (const auto it = slots_.find(wanted); it != slots_.end()) return it->second;
  const InMainGraph in_main(variable.handle().scope()->graph());
  const BuildScope beside = device(NodeOf(variable.handle()).device);
  return slots_
      .emplace(wanted, Variable(wanted, Operand(ZerosFor(variable), where), variable.shape()))
      .first->second;
}

const Variable& OptimizerState::CountIn(const std::shared_ptr<GraphState>& graph,
                                        const std::source_location& where) {
  if (!iterations_) {
    const InMainGraph in_main(graph);
    iterations_.emplace(absl::StrCat(name_, "/iterations"), Operand(int64_t{0}, where));
  }
  return *iterations_;
}

Operation OptimizerState::Apply(const std::vector<Value>& gradients,
                                const std::vector<Variable>& variables,
                                const std::source_location& where) {
  const ScopePtr scope = variables[0].handle().scope()->graph()->scope();
  const Variable& count = CountIn(scope->graph(), where);
  const Value iterations = count.read(where);
  const Update update =
      Begin({.rate = rate_.At(iterations), .iterations = iterations, .where = where});
  std::vector<Operation> done;
  for (size_t i = 0; i < variables.size(); ++i) done.push_back(update(variables[i], gradients[i]));
  done.push_back(count.assign_add(Operand(int64_t{1}, where)));
  return Operation(scope, scope->Add({.op = "NoOp",
                                      .name = absl::StrCat(name_, "/step"),
                                      .where = where,
                                      .awaited = std::move(done)}));
}

namespace {

class SgdState : public OptimizerState {
 public:
  explicit SgdState(const SgdOptions& options)
      : OptimizerState("sgd", options.learning_rate),
        momentum_(options.momentum),
        nesterov_(options.nesterov) {}

  void CheckType(const Variable& variable, const std::source_location& where) const override {
    if (IsFloating(variable.dtype())) return;
    ThrowInvalid(
        absl::StrCat("variable '", variable.name(), "' is of type ", DTypeName(variable.dtype()),
                     "; only variables of floating types can be trained"),
        where);
  }

  Update Begin(const Step& step) override {
    return [this, step](const Variable& variable, const Value& gradient) {
      const Operand rate = In(variable.dtype(), step.rate);
      if (momentum_ == 0) {
        return OpCall("ResourceApplyGradientDescent", step.where)
            .In(HandleOf(variable, step.where))
            .In(rate)
            .In(Operand(gradient, step.where))
            .Add();
      }
      return OpCall("ResourceApplyMomentum", step.where)
          .In(HandleOf(variable, step.where))
          .In(HandleOf(Slot(variable, "momentum", step.where), step.where))
          .In(rate)
          .In(Operand(gradient, step.where))
          .In(Operand(momentum_, step.where))
          .Attr("use_nesterov", nesterov_)
          .Add();
    };
  }

 private:
  const double momentum_;
  const bool nesterov_;
};

class AdamState : public OptimizerState {
 public:
  explicit AdamState(const AdamOptions& options)
      : OptimizerState("adam", options.learning_rate),
        beta1_(options.beta1),
        beta2_(options.beta2),
        epsilon_(options.epsilon) {}

  void CheckType(const Variable& variable, const std::source_location& where) const override {
    if (variable.dtype() == DType::kFloat || variable.dtype() == DType::kDouble) return;
    ThrowInvalid(
        absl::StrCat(
            "variable '", variable.name(), "' is of type ", DTypeName(variable.dtype()),
            "; Adam trains variables of float32 and float64",
            IsFloating(variable.dtype()) ? ": make it float32, and cast what is read of it" : ""),
        where);
  }

  // The op computes w - r m / (√v + ε), times corrections that are computed from powers of the
  // betas in the variable's type, in which 1 - β2 is off by some 1e-5. So it is told that the
  // powers are 0, and gets the corrections within r and ε:
  //   r m/c1 / (√(v/c2) + ε) = (r √c2/c1) m / (√v + ε √c2),   with c = 1 - β^t
  Update Begin(const Step& step) override {
    const Value t = cast(step.iterations + int64_t{1}, DType::kDouble);
    const Value root = sqrt(1.0 - pow(beta2_, t));
    const Value rate = In(DType::kDouble, step.rate) * root / (1.0 - pow(beta1_, t));
    const Value epsilon = epsilon_ * root;
    return [=, this, where = step.where](const Variable& variable, const Value& gradient) {
      const DType dtype = variable.dtype();
      const auto in = [&](const auto& number) { return In(dtype, Operand(number, where)); };
      return OpCall("ResourceApplyAdam", where)
          .In(HandleOf(variable, where))
          .In(HandleOf(Slot(variable, "adam_m", where), where))
          .In(HandleOf(Slot(variable, "adam_v", where), where))
          .In(in(0.0))
          .In(in(0.0))
          .In(in(rate))
          .In(in(beta1_))
          .In(in(beta2_))
          .In(in(epsilon))
          .In(in(gradient))
          .Add();
    };
  }

 private:
  const double beta1_;
  const double beta2_;
  const double epsilon_;
};

}  // namespace
}  // namespace internal

Operation Optimizer::minimize(const Value& loss, const std::vector<Variable>& variables,
                              const GradientOptions& options, std::source_location where) const {
  std::vector<Source> sources;
  for (const Variable& variable : variables) {
    state_->CheckType(variable, where);
    sources.emplace_back(variable);
  }
  return apply(gradients({loss}, sources, options, where), variables, where);
}

Operation Optimizer::apply(const std::vector<Value>& gradients,
                           const std::vector<Variable>& variables,
                           std::source_location where) const {
  if (variables.empty()) ThrowInvalid("there are no variables to train", where);
  if (gradients.size() != variables.size()) {
    ThrowInvalid(absl::StrCat("there must be one gradient per variable, but there are ",
                              gradients.size(), " for ", variables.size(), " variables"),
                 where);
  }
  std::set<std::string> names;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!names.insert(variables[i].name()).second)
      ThrowInvalid(absl::StrCat("variable '", variables[i].name(), "' is given twice"), where);
    state_->CheckType(variables[i], where);
    CheckGradient(gradients[i], variables[i], where);
  }
  return state_->Apply(gradients, variables, where);
}

const Variable& Optimizer::iterations(std::source_location where) const {
  if (!state_->iterations()) {
    internal::Throw(absl::FailedPreconditionError(
        absl::StrCat("an optimizer counts its steps from the first minimize or apply on, and there "
                     "has been none\n  at ",
                     internal::LineOf(where))));
  }
  return *state_->iterations();
}

Sgd::Sgd(const SgdOptions& options, std::source_location where)
    : Optimizer(std::make_shared<internal::SgdState>(options)) {
  if (!std::isfinite(options.momentum) || options.momentum < 0) {
    ThrowInvalid(absl::StrCat("momentum must be 0 or more, not ", options.momentum), where);
  }
  if (options.nesterov && options.momentum == 0)
    ThrowInvalid("nesterov is a form of momentum: give a momentum, too", where);
}

Adam::Adam(const AdamOptions& options, std::source_location where)
    : Optimizer(std::make_shared<internal::AdamState>(options)) {
  for (const auto& [name, beta] : {std::pair("beta1", options.beta1), {"beta2", options.beta2}}) {
    if (!(beta >= 0 && beta < 1))
      ThrowInvalid(absl::StrCat(name, " must be in [0, 1), not ", beta), where);
  }
  if (!std::isfinite(options.epsilon) || options.epsilon < 0)
    ThrowInvalid(absl::StrCat("epsilon must be 0 or more, not ", options.epsilon), where);
}

}  // namespace gyre

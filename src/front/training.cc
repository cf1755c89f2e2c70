#include "gyre/training.h"

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "front/error.h"
#include "front/functions/graph_builder.h"
#include "front/graph_state.h"
#include "front/op_call.h"
#include "gyre/functions.h"
#include "gyre/graph.h"
#include "gyre/math.h"
#include "ops/functions/optimizer.h"

namespace gyre {

using internal::ThrowInvalid;

namespace {

// A number of another type, unless it is a literal, which takes the type that its op wants.
Operand In(DType dtype, const Operand& number) {
  if (number.is_literal() || number.value().dtype() == dtype) return number;
  return Operand(cast(number, dtype), number.where());
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
  // Throws if there is no rule.
  OptimizerState(const absl::StatusOr<OptimizerRule>& rule, LearningRate rate,
                 const std::source_location& where)
      : rule_(rule.ok() ? *rule : (ThrowInvalid(rule.status().message(), where), OptimizerRule())),
        rate_(std::move(rate)) {}

  const std::optional<Variable>& iterations() const { return iterations_; }
  void CheckTrainable(const Variable& variable, const std::source_location& where) const {
    const absl::Status status = rule_.CheckTrainable(variable.name(), variable.dtype());
    if (!status.ok()) ThrowInvalid(status.message(), where);
  }
  Operation Apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables,
                  const std::source_location& where);

 private:
  // The numbers of one step, which all its ops take.
  std::vector<Operand> Numbers(const Value& iterations, const std::source_location& where) const;
  // Changes one variable. `numbers`: of its type.
  Operation Update(const Variable& variable, const Value& gradient,
                   const std::vector<Operand>& numbers, const std::source_location& where);
  // "w/momentum": zeros of the shape of w, made once.
  const Variable& Slot(const Variable& variable, const std::string& name,
                       const std::source_location& where);
  const Variable& CountIn(const std::shared_ptr<GraphState>& graph,
                          const std::source_location& where);

  const OptimizerRule rule_;
  const LearningRate rate_;
  std::optional<Variable> iterations_;
  std::map<std::string, Variable> slots_;  // by the wanted name
};

const Variable& OptimizerState::Slot(const Variable& variable, const std::string& name,
                                     const std::source_location& where) {
  const std::string wanted = absl::StrCat(variable.name(), "/", rule_.slot_prefix, name);
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
    iterations_.emplace(absl::StrCat(rule_.name, "/iterations"), Operand(int64_t{0}, where));
  }
  return *iterations_;
}

std::vector<Operand> OptimizerState::Numbers(const Value& iterations,
                                             const std::source_location& where) const {
  GraphBuilder builder(where);
  FormulaContext context(builder, {{.tensor = builder.Add(Operand(iterations, where))},
                                   {.tensor = builder.Add(rate_.At(iterations))}});
  std::vector<Operand> numbers;
  for (const Term& number : rule_.numbers(context)) numbers.push_back(builder.operand(number));
  return numbers;
}

Operation OptimizerState::Update(const Variable& variable, const Value& gradient,
                                 const std::vector<Operand>& numbers,
                                 const std::source_location& where) {
  using Kind = OptimizerRule::Input::Kind;
  OpCall call(rule_.op, where);
  auto number = numbers.begin();
  for (const auto& [kind, name] : rule_.inputs) {
    if (kind == Kind::kVariable) call.In(Operand(variable.handle(), where));
    if (kind == Kind::kSlot) call.In(Operand(Slot(variable, name, where).handle(), where));
    if (kind == Kind::kNumber) call.In(*number++);
    if (kind == Kind::kGradient) call.In(Operand(gradient, where));
  }
  for (const auto& [attr, value] : rule_.attrs) call.Attr(attr, value);
  return call.Add();
}

Operation OptimizerState::Apply(const std::vector<Value>& gradients,
                                const std::vector<Variable>& variables,
                                const std::source_location& where) {
  const ScopePtr scope = variables[0].handle().scope()->graph()->scope();
  const Variable& count = CountIn(scope->graph(), where);
  const std::vector<Operand> numbers = Numbers(count.read(where), where);
  std::map<DType, std::vector<Operand>> by_type;
  std::vector<Operation> done;
  for (size_t i = 0; i < variables.size(); ++i) {
    std::vector<Operand>& own = by_type[variables[i].dtype()];
    if (own.empty()) {
      for (const Operand& number : numbers) own.push_back(In(variables[i].dtype(), number));
    }
    done.push_back(Update(variables[i], gradients[i], own, where));
  }
  done.push_back(count.assign_add(Operand(int64_t{1}, where)));
  return Operation(scope, scope->Add({.op = "NoOp",
                                      .name = absl::StrCat(rule_.name, "/step"),
                                      .where = where,
                                      .awaited = std::move(done)}));
}

}  // namespace internal

Operation Optimizer::minimize(const Value& loss, const std::vector<Variable>& variables,
                              const GradientOptions& options, std::source_location where) const {
  std::vector<Source> sources;
  for (const Variable& variable : variables) {
    state_->CheckTrainable(variable, where);
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
    state_->CheckTrainable(variables[i], where);
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
    : Optimizer(std::make_shared<internal::OptimizerState>(
          SgdRule(options.momentum, options.nesterov), options.learning_rate, where)) {}

Adam::Adam(const AdamOptions& options, std::source_location where)
    : Optimizer(std::make_shared<internal::OptimizerState>(
          AdamRule(options.beta1, options.beta2, options.epsilon), options.learning_rate, where)) {}

}  // namespace gyre

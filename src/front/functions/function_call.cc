#include "front/functions/function_call.h"

#include <utility>

#include "front/error.h"
#include "front/functions/graph_builder.h"
#include "session/literal.h"

namespace gyre::internal {
namespace {

DType TypeOf(const Operand& operand) {
  return operand.is_literal() ? operand.literal().dtype() : operand.value().dtype();
}

}  // namespace

FunctionCall::FunctionCall(absl::string_view function, const std::source_location& where)
    : function_(*Functions().Find(function)), where_(where) {}

FunctionCall& FunctionCall::In(const Operand& operand) {
  arguments_.push_back({.operand = operand});
  return *this;
}

FunctionCall& FunctionCall::In(const std::optional<Operand>& operand) {
  arguments_.push_back({.operand = operand});
  return *this;
}

FunctionCall& FunctionCall::In(const Axes& axes) {
  arguments_.push_back({.operand = axes.given()});
  return *this;
}

// That of the Values among the arguments, or what their literals have in common.
DType FunctionCall::TypeOfGroup(char group) const {
  DType common = DType::kInvalid;
  bool is_literal = true;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const std::optional<Operand>& operand = arguments_[i].operand;
    if (function_.parameters[i].group != group || !operand) continue;
    const DType own = TypeOf(*operand);
    if (!operand->is_literal() && is_literal) {
      common = own;
      is_literal = false;
    } else if (is_literal) {
      common = common == DType::kInvalid ? own : CommonType(common, own);
    }
  }
  return common;
}

std::vector<Value> FunctionCall::All() {
  GraphBuilder builder(where_);
  std::vector<Argument> arguments;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Parameter& parameter = function_.parameters[i];
    Given& given = arguments_[i];
    Argument argument{.plain = given.plain};
    if (given.operand && given.operand->is_literal() && parameter.kind == Parameter::Kind::kAxes) {
      const Tensor axes = ValueOrThrow(ConvertLiteral(given.operand->literal(), DType::kInt32));
      argument.axes.emplace(axes.values<int32_t>().begin(), axes.values<int32_t>().end());
      argument.is_one_axis = axes.shape().rank() == 0;
    } else if (given.operand && given.operand->is_literal() &&
               parameter.kind == Parameter::Kind::kShape) {
      const Tensor dims = ValueOrThrow(ConvertLiteral(given.operand->literal(), DType::kInt64));
      argument.dims.emplace(dims.values<int64_t>().begin(), dims.values<int64_t>().end());
      argument.tensor = builder.Add(*given.operand);
    } else if (given.operand && given.operand->is_literal() && parameter.group != 0) {
      absl::StatusOr<Tensor> number =
          ConvertLiteral(given.operand->literal(), TypeOfGroup(parameter.group));
      if (!number.ok()) ThrowInvalid(number.status().message(), given.operand->where());
      argument.tensor = builder.Add(Operand(*std::move(number), given.operand->where()));
      const double* fallback =
          parameter.default_value ? std::get_if<double>(&*parameter.default_value) : nullptr;
      argument.is_default = fallback != nullptr && given.operand->literal().shape().rank() == 0 &&
                            given.operand->literal().dtype() == DType::kDouble &&
                            given.operand->literal().scalar<double>() == *fallback;
    } else if (given.operand) {
      argument.tensor = builder.Add(*given.operand);
    }
    arguments.push_back(std::move(argument));
  }
  FormulaContext context(builder, std::move(arguments));
  std::vector<Value> results;
  for (const Term& result : function_.formula(context))
    results.push_back(to_value(builder.operand(result)));
  return results;
}

}  // namespace gyre::internal

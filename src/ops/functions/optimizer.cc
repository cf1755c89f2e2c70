#include "ops/functions/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

using Kind = OptimizerRule::Input::Kind;

absl::Status RequireAtLeastZero(absl::string_view name, double number) {
  if (std::isfinite(number) && number >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be 0 or more, not ", number));
}

absl::Status RequireShare(absl::string_view name, double number) {
  if (number >= 0 && number < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be in [0, 1), not ", number));
}

OptimizerRule GradientDescent() {
  return {.name = "sgd",
          .op = "ResourceApplyGradientDescent",
          .inputs = {{Kind::kVariable}, {Kind::kNumber, "learning_rate"}, {Kind::kGradient}},
          .numbers = [](FormulaContext& f) { return std::vector{f.tensor(1)}; }};
}

}  // namespace

std::vector<std::string> OptimizerRule::NamesOf(Input::Kind kind) const {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    if (input.kind == kind) names.push_back(input.name);
  }
  return names;
}

absl::Status OptimizerRule::CheckTrainable(absl::string_view variable, DType dtype) const {
  const bool is_precise = dtype == DType::kFloat || dtype == DType::kDouble;
  const bool is_floating = IsFloating(dtype) || IsComplex(dtype);
  if (is_precise || (is_floating && needs_precision.empty())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "variable '", variable, "' is of type ", DTypeName(dtype), "; ",
      needs_precision.empty() ? "only variables of floating and complex types can be trained"
                              : needs_precision,
      IsFloating(dtype) ? ": make it float32, and cast what is read of it" : ""));
}

absl::StatusOr<OptimizerRule> SgdRule(double momentum, bool nesterov) {
  GYRE_RETURN_IF_ERROR(RequireAtLeastZero("momentum", momentum));
  if (nesterov && momentum == 0) {
    return absl::InvalidArgumentError("nesterov is a form of momentum: give a momentum, too");
  }
  if (momentum == 0) return GradientDescent();
  return OptimizerRule{.name = "sgd",
                       .op = "ResourceApplyMomentum",
                       .inputs = {{Kind::kVariable},
                                  {Kind::kSlot, "momentum"},
                                  {Kind::kNumber, "learning_rate"},
                                  {Kind::kGradient},
                                  {Kind::kNumber, "momentum"}},
                       .attrs = {{"use_nesterov", nesterov}},
                       .numbers = [momentum](FormulaContext& f) {
                         return std::vector{f.tensor(1), f.Number(DType::kDouble, momentum)};
                       }};
}

absl::StatusOr<OptimizerRule> AdamRule(double beta1, double beta2, double epsilon) {
  GYRE_RETURN_IF_ERROR(RequireShare("beta1", beta1));
  GYRE_RETURN_IF_ERROR(RequireShare("beta2", beta2));
  GYRE_RETURN_IF_ERROR(RequireAtLeastZero("epsilon", epsilon));
  const auto numbers = [=](FormulaContext& f) -> std::vector<Term> {
    const Term t = Cast(f.tensor(0), DType::kDouble) + 1.0;
    const Term first = f.Number(DType::kDouble, beta1), second = f.Number(DType::kDouble, beta2);
    const Term first_power = f.op("Pow", {first, t});
    const Term second_power = f.op("Pow", {second, t});
    const Term root = f.op("Sqrt", {1.0 - second_power});
    return {first_power, second_power, f.tensor(1), first, second, root * epsilon};
  };
  return OptimizerRule{.name = "adam",
                       .op = "ResourceApplyAdam",
                       .inputs = {{Kind::kVariable},
                                  {Kind::kSlot, "m"},
                                  {Kind::kSlot, "v"},
                                  {Kind::kNumber, "beta1_power"},
                                  {Kind::kNumber, "beta2_power"},
                                  {Kind::kNumber, "learning_rate"},
                                  {Kind::kNumber, "beta1"},
                                  {Kind::kNumber, "beta2"},
                                  {Kind::kNumber, "epsilon"},
                                  {Kind::kGradient}},
                       .slot_prefix = "adam_",
                       .needs_precision = "Adam trains variables of float32 and float64",
                       .numbers = numbers};
}

}  // namespace gyre

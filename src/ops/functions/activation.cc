// Activations of neural networks that are several ops.
#include "ops/functions/families.h"

namespace gyre {
namespace {

std::vector<Term> Gelu(FormulaContext& f) {
  const Term x = f.tensor(0);
  Term part;
  if (f.plain<bool>(1)) {
    const Term cube = x * f.op("Square", {x}) * 0.044715;
    part = f.op("Tanh", {(x + cube) * 0.7978845608028654}) + 1.0;
  } else {
    part = f.op("Erfc", {x * -0.7071067811865476});
  }
  return {f.Last("Mul", {x * 0.5, part})};
}

std::vector<Term> Silu(FormulaContext& f) {
  const Term x = f.tensor(0);
  const Term inner = f.is_default(1) ? x : x * f.tensor(1);
  return {f.Last("Mul", {x, f.op("Sigmoid", {inner})})};
}

std::vector<Term> Softsign(FormulaContext& f) {
  const Term x = f.tensor(0);
  return {f.Last("RealDiv", {x, f.op("Abs", {x}) + 1})};
}

std::vector<Term> LogSigmoid(FormulaContext& f) {
  return {f.Last("Neg", {f.op("Softplus", {-f.tensor(0)})})};
}

std::vector<Term> Crelu(FormulaContext& f) {
  const Term x = f.tensor(0);
  return {f.Last("Relu", {f.op("ConcatV2", {x, -x, f.tensor(1)})})};
}

// An op that works along the last axis, along another.
FormulaFn AlongLast(absl::string_view op, absl::string_view function) {
  return [=](FormulaContext& f) -> std::vector<Term> {
    const Term x = f.tensor(0);
    const int64_t axis = f.plain<int64_t>(1);
    const PartialShape known = f.shape(x);
    if (axis == -1 || (known.has_rank() && axis == known.rank() - 1)) return {f.Last(op, {x})};
    const std::vector<int32_t> swapped = f.SwapWithLast(x, axis, function, "logits");
    const Term turned = f.op("Transpose", {x, f.builder().Ints(swapped)});
    return {f.op("Transpose", {f.Last(op, {turned}), f.builder().Ints(swapped)})};
  };
}

std::vector<Term> BiasAdd(FormulaContext& f) {
  const auto* format = std::get_if<std::string>(&f.argument(2).plain);
  const bool channels_first = format != nullptr && format->rfind("NC", 0) == 0;
  return {f.Last("BiasAdd", {f.tensor(0), f.tensor(1)},
                 {{"data_format", std::string(channels_first ? "NCHW" : "NHWC")}})};
}

}  // namespace

void RegisterActivationFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(features: tensor, alpha: float = 0.2)",
                 .api = {"nn.leaky_relu"},
                 .op = "LeakyRelu"});
  functions.Add({.signature = "(features: tensor, approximate: bool = false)",
                 .doc = "x Φ(x), Φ being the distribution function of the normal distribution; or "
                        "with `approximate` 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). Source: "
                        "Hendrycks and Gimpel, Gaussian error linear units (2016).",
                 .api = {"nn.gelu"},
                 .formula = Gelu});
  functions.Add({.signature = "(features: T, beta: T = 1.0)",
                 .doc = "x sigmoid(beta x). Source: Ramachandran et al., Searching for activation "
                        "functions (2017).",
                 .api = {"nn.silu", "nn.swish"},
                 .formula = Silu});
  functions.Add({.signature = "(features: tensor)",
                 .doc = "x / (1 + |x|).",
                 .api = {"nn.softsign"},
                 .formula = Softsign});
  functions.Add({.signature = "(x: tensor)",
                 .doc = "log(sigmoid(x)) = -softplus(-x), without overflow.",
                 .api = {"math.log_sigmoid"},
                 .formula = LogSigmoid});
  functions.Add({.signature = "(features: tensor, axis: tensor = -1)",
                 .doc = "relu(x) and relu(-x), joined along an axis.",
                 .api = {"nn.crelu"},
                 .formula = Crelu});
  functions.Add({.signature = "(logits: tensor, axis: int = -1)",
                 .doc = "exp(logits) divided by its sum along `axis`.",
                 .api = {"nn.softmax"},
                 .formula = AlongLast("Softmax", "Softmax along another axis than the last")});
  functions.Add(
      {.signature = "(logits: tensor, axis: int = -1)",
       .doc = "The logarithm of softmax along `axis`.",
       .api = {"nn.log_softmax"},
       .formula = AlongLast("LogSoftmax", "LogSoftmax along another axis than the last")});
  functions.Add({.signature = "(value: T, bias: T, data_format: string = none)",
                 .doc = "Adds an element of `bias` to each channel: the last dimension, or with "
                        "\"NC…\" the second.",
                 .api = {"nn.bias_add"},
                 .formula = BiasAdd});
}

}  // namespace gyre

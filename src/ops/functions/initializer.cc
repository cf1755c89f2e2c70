#include "ops/functions/initializer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Of a normal distribution cut at two standard deviations.
constexpr double kTruncatedStddev = 0.87962566103423978;

// How many inputs and outputs a unit has. In double: sizes may be anything.
std::pair<double, double> Fans(absl::Span<const int64_t> shape) {
  if (shape.empty()) return {1, 1};
  const auto last = static_cast<double>(shape.back());
  if (shape.size() == 1) return {last, last};
  double field = 1;
  for (const int64_t size : shape.first(shape.size() - 2)) field *= static_cast<double>(size);
  return {static_cast<double>(shape[shape.size() - 2]) * field, last * field};
}

// Numbers of a distribution, of the shape of argument 0; argument `seed` decides them if there is
// one.
Term Draw(FormulaContext& f, absl::string_view kind, DType dtype, int seed) {
  const bool is_seeded = f.is_given(seed);
  std::vector<Term> inputs = {f.tensor(0)};
  if (is_seeded) {
    const int64_t numbers[] = {f.plain<int64_t>(seed), 0};
    inputs.push_back(f.builder().Constant(Tensor::FromValues<int64_t>(numbers, Shape::Vector(2))));
  }
  if (kind == "uniform")
    return f.op(is_seeded ? "StatelessRandomUniform" : "RandomUniform", inputs, {{"dtype", dtype}});
  if (kind == "untruncated_normal") {
    return f.op(is_seeded ? "StatelessRandomNormal" : "RandomStandardNormal", inputs,
                {{"dtype", dtype}});
  }
  return f.op(is_seeded ? "StatelessTruncatedNormal" : "TruncatedNormal", inputs,
              {{"dtype", dtype}});
}

std::vector<Term> Scaled(FormulaContext& f, double scale, const std::string& mode,
                         const std::string& distribution, int dtype, int seed) {
  if (!f.argument(0).dims)
    f.builder().RefuseValue("the shape of first values must be known, not computed");
  const absl::StatusOr<double> spread =
      VarianceSpread(scale, mode, distribution, *f.argument(0).dims);
  if (!spread.ok()) f.builder().RefuseValue(std::string(spread.status().message()));
  const Term drawn = Draw(f, distribution, f.plain<DType>(dtype), seed);
  if (distribution != "uniform") return {f.Last("Mul", {drawn, f.Number(drawn.dtype(), *spread)})};
  return {f.Last("AddV2", {drawn * (2 * *spread), f.Number(drawn.dtype(), -*spread)})};
}

std::vector<Term> VarianceScaling(FormulaContext& f) {
  return Scaled(f, f.plain<double>(1), f.plain<std::string>(2), f.plain<std::string>(3), 4, 5);
}

void AddNamed(FunctionRegistry& functions, absl::string_view name, absl::string_view doc,
              double scale, absl::string_view mode, absl::string_view distribution) {
  functions.Add(
      {.signature = "(shape: shape, dtype: type = float32, seed: int = none)",
       .doc = doc,
       .api = {name},
       .formula = [=, mode = std::string(mode), distribution = std::string(distribution)](
                      FormulaContext& f) { return Scaled(f, scale, mode, distribution, 1, 2); }});
}

}  // namespace

absl::StatusOr<double> VarianceSpread(double scale, absl::string_view mode,
                                      absl::string_view distribution,
                                      absl::Span<const int64_t> shape) {
  const bool is_mode = mode == "fan_in" || mode == "fan_out" || mode == "fan_avg";
  const bool is_uniform = distribution == "uniform", is_cut = distribution == "truncated_normal";
  if (!(scale > 0) || !is_mode || !(is_uniform || is_cut || distribution == "untruncated_normal")) {
    return absl::InvalidArgumentError(absl::StrCat("invalid variance scaling: scale ", scale,
                                                   ", mode '", mode, "', distribution '",
                                                   distribution, "'"));
  }
  const auto [inputs, outputs] = Fans(shape);
  const double count = mode == "fan_in"    ? inputs
                       : mode == "fan_out" ? outputs
                                           : (inputs + outputs) / 2;
  const double variance = scale / std::max(1.0, count);
  if (is_uniform) return std::sqrt(3 * variance);
  return is_cut ? std::sqrt(variance) / kTruncatedStddev : std::sqrt(variance);
}

void RegisterInitializerFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(shape: shape, scale: float = 1.0, mode: string = fan_in, "
                              "distribution: string = truncated_normal, dtype: type = float32, "
                              "seed: int = none)",
                 .doc = "Random numbers of variance scale / n, n being the number of a unit's "
                        "inputs (\"fan_in\"), outputs (\"fan_out\") or their mean (\"fan_avg\"); "
                        "distribution \"uniform\", \"truncated_normal\" or \"untruncated_normal\". "
                        "A seed makes them the same each time. Sources: Glorot and Bengio, "
                        "Understanding the difficulty of training deep feedforward networks "
                        "(2010); He et al., Delving deep into rectifiers (2015).",
                 .api = {"random.variance_scaling"},
                 .formula = VarianceScaling});
  AddNamed(functions, "random.glorot_uniform", "Evenly distributed in ±√(6 / (inputs + outputs)).",
           1, "fan_avg", "uniform");
  AddNamed(functions, "random.glorot_normal",
           "Truncated normal of variance 2 / (inputs + outputs).", 1, "fan_avg",
           "truncated_normal");
  AddNamed(functions, "random.he_uniform", "Evenly distributed in ±√(6 / inputs).", 2, "fan_in",
           "uniform");
  AddNamed(functions, "random.he_normal", "Truncated normal of variance 2 / inputs.", 2, "fan_in",
           "truncated_normal");
}

}  // namespace gyre

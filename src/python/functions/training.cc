#include "python/functions/training.h"

#include "absl/container/inlined_vector.h"
#include "ops/functions/initializer.h"
#include "ops/functions/optimizer.h"
#include "python/arrays/items.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/functions/formula_runner.h"
#include "python/tensor.h"

namespace gyre::python {
namespace {

using Kind = OptimizerRule::Input::Kind;

OptimizerRule Found(absl::StatusOr<OptimizerRule> rule) {
  if (!rule.ok()) ThrowValueError(rule.status().message());
  return *std::move(rule);
}

nb::list Names(const OptimizerRule& rule, Kind kind, const std::string& prefix = {}) {
  nb::list names;
  for (const std::string& name : rule.NamesOf(kind)) names.append(ToStr(prefix + name));
  return names;
}

// For each dtype the numbers of a step.
nb::list Numbers(const OptimizerRule& rule, nb::handle iterations, nb::handle rate,
                 nb::handle dtypes) {
  FormulaRunner runner("");
  FormulaContext context(
      runner, {{.tensor = runner.Add(Convert(iterations))}, {.tensor = runner.Add(Convert(rate))}});
  const std::vector<Term> numbers = rule.numbers(context);
  nb::list result;
  for (const nb::handle dtype : ItemsOf(dtypes, "dtypes")) {
    nb::list own;
    for (const Term& number : numbers) own.append(runner.TensorAs(number, ToDType(dtype)));
    result.append(own);
  }
  return result;
}

void Apply(const OptimizerRule& rule, nb::handle variable, nb::handle slots, nb::handle numbers,
           nb::handle gradient, nb::handle name) {
  const nb::tuple of_slots = ItemsOf(slots, "slots"), of_numbers = ItemsOf(numbers, "numbers");
  if (nb::len(of_slots) != rule.NamesOf(Kind::kSlot).size() ||
      nb::len(of_numbers) != rule.NamesOf(Kind::kNumber).size()) {
    ThrowValueError(absl::StrCat(rule.op, " takes other numbers of slots and of numbers"));
  }
  absl::InlinedVector<nb::handle, 10> inputs;
  size_t slot = 0, number = 0;
  for (const auto& input : rule.inputs) {
    if (input.kind == Kind::kVariable) inputs.push_back(variable);
    if (input.kind == Kind::kSlot) inputs.push_back(of_slots[slot++]);
    if (input.kind == Kind::kNumber) inputs.push_back(of_numbers[number++]);
    if (input.kind == Kind::kGradient) inputs.push_back(gradient);
  }
  Execute(FindOp(rule.op), absl::Span<const nb::handle>(inputs), rule.attrs,
          name.is_none() ? absl::string_view() : TextOf(name, "a name"));
}

void CheckTrainable(const OptimizerRule& rule, nb::handle variable, nb::handle dtype) {
  const absl::Status status = rule.CheckTrainable(TextOf(variable, "a name"), ToDType(dtype));
  if (!status.ok()) ThrowValueError(status.message());
}

double Spread(double scale, nb::handle mode, nb::handle distribution, nb::handle shape) {
  std::vector<int64_t> sizes;
  for (const nb::handle size : ItemsOf(shape, "sizes")) sizes.push_back(nb::cast<int64_t>(size));
  const absl::StatusOr<double> spread =
      VarianceSpread(scale, TextOf(mode, "a mode"), TextOf(distribution, "a distribution"), sizes);
  if (!spread.ok()) ThrowValueError(spread.status().message());
  return *spread;
}

}  // namespace

void BindTraining(nb::module_& m) {
  nb::class_<OptimizerRule>(m, "OptimizerRule", nb::is_final(),
                            "Which op changes a variable by its gradient, and what it takes.")
      .def_static(
          "sgd", [](double momentum, bool nesterov) { return Found(SgdRule(momentum, nesterov)); },
          nb::arg("momentum") = 0.0, nb::arg("nesterov") = false)
      .def_static(
          "adam",
          [](double beta1, double beta2, double epsilon) {
            return Found(AdamRule(beta1, beta2, epsilon));
          },
          nb::arg("beta1") = 0.9, nb::arg("beta2") = 0.999, nb::arg("epsilon") = 1e-8)
      .def_prop_ro("op", [](const OptimizerRule& rule) { return ToStr(rule.op); })
      .def_prop_ro("slots", [](const OptimizerRule& rule) { return Names(rule, Kind::kSlot); })
      .def_prop_ro(
          "slot_variables",
          [](const OptimizerRule& rule) { return Names(rule, Kind::kSlot, rule.slot_prefix); })
      .def_prop_ro("number_names",
                   [](const OptimizerRule& rule) { return Names(rule, Kind::kNumber); })
      .def("numbers", &Numbers, nb::arg("iterations"), nb::arg("rate"), nb::arg("dtypes"))
      .def("check", &CheckTrainable, nb::arg("variable"), nb::arg("dtype"))
      .def("apply", &Apply, nb::arg("variable"), nb::arg("slots"), nb::arg("numbers"),
           nb::arg("gradient"), nb::arg("name").none() = nb::none());
  m.def("variance_spread", &Spread, nb::arg("scale"), nb::arg("mode"), nb::arg("distribution"),
        nb::arg("shape"), "How far the first values of weights spread.");
}

}  // namespace gyre::python

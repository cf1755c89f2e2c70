// Random numbers and checks: effects that all rows can have at once. Others are loops.
#include "base/status.h"
#include "passes/vectorize/dims.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// Other numbers for each row.
absl::Status Random(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(0));
  std::vector<Expr> inputs = {c.with_rows(c.input(0))};
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return c.Emit(inputs);
}

// Holds if it holds in all rows; what is shown are the values of all.
absl::Status Assert(RowContext& c) {
  std::vector<Expr> inputs = {c.input(0)};
  if (c.is_stacked(0)) inputs[0] = c.op("All", {c.input(0), c.builder().Ints({0})});
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return c.Emit(inputs);
}

absl::Status CheckNumerics(RowContext& c) { return c.Emit({c.input(0)}, {}, {c.rows_of(0)}); }

}  // namespace

absl::Span<const NamedRule> EffectRules() {
  static constexpr NamedRule kRules[] = {
      {"RandomUniform", {Random}},
      {"RandomUniformInt", {Random}},
      {"RandomStandardNormal", {Random}},
      {"TruncatedNormal", {Random}},
      {"Assert", {Assert}},
      {"CheckNumerics", {CheckNumerics}},
  };
  return kRules;
}

}  // namespace gyre::vectorize

#include "ops/linalg/einsum_gradient.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/linalg/einsum_equation.h"

namespace gyre {
namespace {

constexpr EinsumLabel kEllipsis = EinsumEquation::kEllipsis;

bool Contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string Text(const EinsumLabels& labels) {
  std::string text;
  for (const EinsumLabel label : labels) {
    absl::StrAppend(&text, label == kEllipsis ? "..." : std::string(1, static_cast<char>(label)));
  }
  return text;
}

// A product under construction: operands with their labels.
struct Product {
  std::vector<Expr> operands;
  std::vector<EinsumLabels> labels;

  void Multiply(Expr operand, EinsumLabels its_labels) {
    operands.push_back(operand);
    labels.push_back(std::move(its_labels));
  }
  bool HasLabel(EinsumLabel label) const {
    return std::any_of(labels.begin(), labels.end(),
                       [&](const EinsumLabels& operand) { return Contains(operand, label); });
  }
  Expr Reduce(GradientContext& g, const EinsumLabels& output) const {
    std::vector<std::string> inputs;
    inputs.reserve(labels.size());
    for (const EinsumLabels& operand : labels) inputs.push_back(Text(operand));
    const std::string equation = absl::StrCat(absl::StrJoin(inputs, ","), "->", Text(output));
    return g.op("Einsum", operands, {{"equation", equation}});
  }
};

// The sizes of input i at `positions`, of which negative ones count from the end.
Expr SizesAt(GradientContext& g, int i, const std::vector<int32_t>& positions) {
  const Expr dims = g.input_dims(i);
  Expr at = g.builder().Ints(positions);
  if (std::any_of(positions.begin(), positions.end(), [](int32_t p) { return p < 0; })) {
    at = g.op("FloorMod", {at, g.op("Size", {dims})});
  }
  return g.op("GatherV2", {dims, at, g.builder().Int(0)});
}

// Labels that input i alone has are summed over: each element along them gets the same gradient.
void SpreadOwnLabels(GradientContext& g, int i, const EinsumLabels& own, Product& product) {
  EinsumLabels missing;
  std::vector<int32_t> positions;
  const auto ellipsis = std::find(own.begin(), own.end(), kEllipsis);
  for (auto it = own.begin(); it != own.end(); ++it) {
    if (it == ellipsis || product.HasLabel(*it) || Contains(missing, *it)) continue;
    missing.push_back(*it);
    positions.push_back(static_cast<int32_t>(it - (it < ellipsis ? own.begin() : own.end())));
  }
  if (missing.empty()) return;
  const Expr one = g.builder().Scalar(g.output_dtype(0), 1);
  product.Multiply(Fill(SizesAt(g, i, positions), one), missing);
}

// The dimensions of a tensor that stand behind the ellipsis.
PartialShape BroadcastPart(const EinsumLabels& labels, const PartialShape& shape) {
  const auto ellipsis = std::find(labels.begin(), labels.end(), kEllipsis);
  if (ellipsis == labels.end()) return PartialShape::Scalar();
  if (!shape.has_rank()) return PartialShape::Unknown();
  const auto begin = shape.dims().begin() + (ellipsis - labels.begin());
  const auto end = shape.dims().end() - (labels.end() - ellipsis - 1);
  return PartialShape(Dims(begin, end));
}

// `dims` without the first `before` and the last `behind`.
Expr Middle(GradientContext& g, Expr dims, int before, int behind) {
  ExprBuilder& b = g.builder();
  return g.op("StridedSlice", {dims, b.Ints({before}), b.Ints({-behind}), b.Ints({1})},
              {{"end_mask", int64_t{behind == 0 ? 1 : 0}}});
}

// Adds `x`, labelled `labels`, to the gradient of input i, summed over those of the dimensions
// behind the ellipsis along which the input was broadcast.
void AddBroadcastPart(GradientContext& g, int i, const EinsumEquation& equation, Expr x,
                      const EinsumLabels& labels) {
  std::vector<PartialShape> others;
  for (int j = 0; j < g.num_inputs(); ++j) {
    if (j != i) others.push_back(BroadcastPart(equation.inputs[j], g.input_shape(j)));
  }
  const EinsumLabels& own = equation.inputs[i];
  const auto ellipsis = std::find(labels.begin(), labels.end(), kEllipsis);
  const int before = static_cast<int>(ellipsis - labels.begin());
  auto stretch = gradient::StretchOf(BroadcastPart(own, g.input_shape(i)),
                                     BroadcastPart(equation.output, g.output_shape(0)), others);
  if (stretch) {
    for (int32_t& axis : stretch->added) axis += before;
    for (int32_t& axis : stretch->widened) axis += before;
    return gradient::AddStretched(g, i, x, stretch);
  }
  const int behind = static_cast<int>(labels.end() - ellipsis) - 1;
  const Expr dims = g.input_dims(i);
  const Expr from =
      Contains(own, kEllipsis) ? Middle(g, dims, before, behind) : g.builder().Ints({});
  const Expr to = Middle(g, ShapeOf(x), before, behind);
  const Expr axes = g.op("BroadcastGradientArgs", {from, to}) + before;
  g.Add(i, Reshape(Sum(x, axes), dims));
}

void OperandGradient(GradientContext& g, int i, const EinsumEquation& equation) {
  Product product;
  product.Multiply(g.grad(), equation.output);
  for (int j = 0; j < g.num_inputs(); ++j) {
    if (j != i) product.Multiply(Conj(g.input(j)), equation.inputs[j]);
  }
  const EinsumLabels& own = equation.inputs[i];
  SpreadOwnLabels(g, i, own, product);
  EinsumLabels labels = own;
  const bool broadcasts = Contains(equation.output, kEllipsis);
  if (broadcasts && !Contains(own, kEllipsis)) labels.insert(labels.begin(), kEllipsis);
  const Expr x = product.Reduce(g, labels);
  if (!broadcasts) return g.Add(i, x);
  AddBroadcastPart(g, i, equation, x, labels);
}

}  // namespace

void EinsumGradient(GradientContext& g) {
  const absl::StatusOr<EinsumEquation> equation =
      ParseEinsumEquation(g.attr<std::string>("equation", ""), g.num_inputs());
  if (!equation.ok()) return g.Fail(equation.status());
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.wants(i)) OperandGradient(g, i, *equation);
  }
}

}  // namespace gyre

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/linalg/einsum_equation.h"
#include "ops/linalg/einsum_gradient.h"
#include "ops/linalg/gemm.h"
#include "ops/reduction/sum.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct EinsumAttrs {
  static absl::StatusOr<EinsumAttrs> Make(const Node& node) {
    EinsumAttrs attrs;
    GYRE_RETURN_IF_ERROR(
        VisitType<NumberTypes>(NodeAttr<DType>(node, "T"), [](auto) { return absl::OkStatus(); }));
    GYRE_ASSIGN_OR_RETURN(attrs.equation,
                          ParseEinsumEquation(NodeAttr<std::string>(node, "equation"),
                                              static_cast<int>(NodeAttr<int64_t>(node, "N"))));
    return attrs;
  }
  EinsumEquation equation;
};

// A tensor and the labels of its dimensions.
struct Operand {
  Tensor tensor;
  EinsumLabels labels;
};

bool Contains(const EinsumLabels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

EinsumLabels operator+(EinsumLabels a, const EinsumLabels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Folds operands into one, two at a time from the left. Dimensions of size 1 are left out: they
// change neither the elements nor their order, and what is not there broadcasts by itself.
class Contraction {
 public:
  Contraction(const KernelContext& ctx, const ResolvedEinsum& einsum)
      : ctx_(ctx), sizes_(einsum.sizes) {
    for (const EinsumLabel label : einsum.output) {
      if (SizeOf(label) != 1) output_.push_back(label);
    }
  }

  absl::StatusOr<Tensor> Run(std::vector<Operand> operands, const Shape& output_shape) const {
    for (Operand& operand : operands) {
      operand = WithoutOnes(operand);
      GYRE_ASSIGN_OR_RETURN(operand, Diagonal(operand));
    }
    Operand result = std::move(operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) {
      EinsumLabels needed = output_;
      for (size_t j = i + 1; j < operands.size(); ++j) needed = needed + operands[j].labels;
      GYRE_ASSIGN_OR_RETURN(result, SumUnneeded(result, needed + operands[i].labels));
      GYRE_ASSIGN_OR_RETURN(const Operand next, SumUnneeded(operands[i], needed + result.labels));
      GYRE_ASSIGN_OR_RETURN(result, Multiply(result, next, needed));
    }
    GYRE_ASSIGN_OR_RETURN(result, SumUnneeded(result, output_));
    GYRE_ASSIGN_OR_RETURN(result, Arrange(result, output_));
    return result.tensor.Reshaped(output_shape);
  }

 private:
  int64_t SizeOf(EinsumLabel label) const { return sizes_.at(label); }

  absl::StatusOr<Shape> ShapeOf(const EinsumLabels& labels) const {
    Dims dims;
    for (const EinsumLabel label : labels) dims.push_back(SizeOf(label));
    return Shape::Make(dims);
  }

  int64_t ProductOf(const EinsumLabels& labels) const {
    int64_t product = 1;  // cannot overflow: these are dimensions of one tensor
    for (const EinsumLabel label : labels) product *= SizeOf(label);
    return product;
  }

  static Operand WithoutOnes(const Operand& operand) {
    Operand result;
    Dims dims;
    for (int i = 0; i < operand.tensor.rank(); ++i) {
      if (operand.tensor.dim(i) == 1) continue;
      dims.push_back(operand.tensor.dim(i));
      result.labels.push_back(operand.labels[i]);
    }
    result.tensor = operand.tensor.Reshaped(Shape::Trusted(std::move(dims)));
    return result;
  }

  // Takes the diagonal of dimensions that share a label.
  absl::StatusOr<Operand> Diagonal(const Operand& operand) const {
    EinsumLabels distinct;
    for (const EinsumLabel label : operand.labels) {
      if (!Contains(distinct, label)) distinct.push_back(label);
    }
    if (distinct.size() == operand.labels.size()) return operand;
    return Arrange(operand, distinct);
  }

  // `operand` with its dimensions in the order of `labels`. A label that appears twice on either
  // side stands for a diagonal: elements beside it are left out, or zero.
  absl::StatusOr<Operand> Arrange(const Operand& operand, const EinsumLabels& labels) const {
    if (operand.labels == labels) return operand;
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(labels));
    Operand result = {Tensor(), labels};
    GYRE_ASSIGN_OR_RETURN(result.tensor, ctx_.AllocateZeros(operand.tensor.dtype(), shape));
    if (result.tensor.num_elements() == 0) return result;
    StridedAxes axes;
    EinsumLabels done;
    const Dims from = RowMajorStrides(operand.tensor.shape());
    const Dims to = RowMajorStrides(shape);
    for (const EinsumLabel label : labels) {
      if (Contains(done, label)) continue;
      done.push_back(label);
      axes.push_back(
          {SizeOf(label), StrideOf(label, operand.labels, from), StrideOf(label, labels, to)});
    }
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx_, operand.tensor, 0, result.tensor, 0, std::move(axes)));
    return result;
  }

  static int64_t StrideOf(EinsumLabel label, const EinsumLabels& labels, const Dims& strides) {
    int64_t stride = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label) stride += strides[i];
    }
    return stride;
  }

  // Adds up along the labels that are not among `needed`.
  absl::StatusOr<Operand> SumUnneeded(const Operand& operand, const EinsumLabels& needed) const {
    Operand result;
    ReducedDims reduced;
    for (const EinsumLabel label : operand.labels) {
      reduced.push_back(!Contains(needed, label));
      if (!reduced.back()) result.labels.push_back(label);
    }
    if (result.labels.size() == operand.labels.size()) return operand;
    GYRE_ASSIGN_OR_RETURN(result.tensor,
                          SumOver(ctx_, operand.tensor, reduced, /*keep_dims=*/false));
    return result;
  }

  // The roles of the labels of two factors: in both and needed later, in both and summed, in one
  // alone.
  struct Roles {
    EinsumLabels batch;
    EinsumLabels summed;
    EinsumLabels rows;
    EinsumLabels columns;
  };

  static Roles RolesOf(const Operand& a, const Operand& b, const EinsumLabels& needed) {
    Roles roles;
    for (const EinsumLabel label : a.labels) {
      if (!Contains(b.labels, label)) {
        roles.rows.push_back(label);
      } else if (Contains(needed, label)) {
        roles.batch.push_back(label);
      } else {
        roles.summed.push_back(label);
      }
    }
    for (const EinsumLabel label : b.labels) {
      if (!Contains(a.labels, label)) roles.columns.push_back(label);
    }
    return roles;
  }

  // A factor as a batch of matrices [i, j], moving elements only where their order fits neither [i,
  // j] nor [j, i].
  absl::StatusOr<GemmFactor> AsFactor(Operand& operand, const EinsumLabels& batch,
                                      const EinsumLabels& i, const EinsumLabels& j) const {
    const bool transposed = operand.labels == batch + j + i && operand.labels != batch + i + j;
    if (!transposed) {
      GYRE_ASSIGN_OR_RETURN(operand, Arrange(operand, batch + i + j));
    }
    return GemmFactor{operand.tensor.raw_data(), ProductOf(transposed ? i : j), transposed};
  }

  absl::StatusOr<Operand> Multiply(Operand a, Operand b, const EinsumLabels& needed) const {
    const Roles roles = RolesOf(a, b, needed);
    Operand result = {Tensor(), roles.batch + roles.rows + roles.columns};
    GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(result.labels));
    GYRE_ASSIGN_OR_RETURN(result.tensor, ctx_.Allocate(a.tensor.dtype(), shape));
    if (shape.num_elements() == 0) return result;
    GYRE_ASSIGN_OR_RETURN(const GemmFactor left,
                          AsFactor(a, roles.batch, roles.rows, roles.summed));
    GYRE_ASSIGN_OR_RETURN(const GemmFactor right,
                          AsFactor(b, roles.batch, roles.summed, roles.columns));
    GemmBatch gemm = {.dtype = a.tensor.dtype(),
                      .m = ProductOf(roles.rows),
                      .n = ProductOf(roles.columns),
                      .k = ProductOf(roles.summed),
                      .a = left,
                      .b = right,
                      .c = result.tensor.mutable_raw_data()};
    if (!roles.batch.empty()) {
      gemm.batch.push_back({ProductOf(roles.batch), gemm.m * gemm.k, gemm.k * gemm.n});
    }
    GYRE_RETURN_IF_ERROR(gyre::Multiply(ctx_, gemm));
    return result;
  }

  const KernelContext& ctx_;
  const std::map<EinsumLabel, int64_t>& sizes_;
  EinsumLabels output_;  // those of size other than 1
};

Dims OutputDims(const ResolvedEinsum& einsum) {
  Dims dims;
  for (const EinsumLabel label : einsum.output) dims.push_back(einsum.sizes.at(label));
  return dims;
}

absl::Status Einsum(KernelContext& ctx, const EinsumAttrs& attrs) {
  std::vector<PartialShape> shapes;
  for (int i = 0; i < ctx.num_inputs(); ++i) shapes.emplace_back(ctx.input(i).shape());
  GYRE_ASSIGN_OR_RETURN(const ResolvedEinsum einsum, ResolveEinsum(attrs.equation, shapes));
  GYRE_ASSIGN_OR_RETURN(const Shape output_shape, Shape::Make(OutputDims(einsum)));
  std::vector<Operand> operands;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    operands.push_back({ctx.input(i), einsum.inputs[i]});
  }
  GYRE_ASSIGN_OR_RETURN(Tensor output,
                        Contraction(ctx, einsum).Run(std::move(operands), output_shape));
  ctx.set_output(0, std::move(output));
  return absl::OkStatus();
}

absl::Status EinsumShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(
      const EinsumEquation equation,
      ParseEinsumEquation(NodeAttr<std::string>(c.node(), "equation"), c.num_inputs()));
  std::vector<PartialShape> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).has_rank()) return absl::OkStatus();
    shapes.push_back(c.input(i));
  }
  GYRE_ASSIGN_OR_RETURN(const ResolvedEinsum einsum, ResolveEinsum(equation, shapes));
  c.set_output(0, PartialShape(OutputDims(einsum)));
  return absl::OkStatus();
}

// A label of its own for the axis of rows, in front of what differs and of the result.
absl::Status EinsumBatch(BatchContext& c) {
  const std::string equation = c.attr<std::string>("equation", "");
  const std::vector<std::string> sides = absl::StrSplit(equation, absl::MaxSplits("->", 1));
  if (sides.size() != 2) return batch::Refuse("its equation names no result");
  char label = 'A';
  while (label <= 'Z' && absl::StrContains(equation, label)) ++label;
  if (label > 'Z') return batch::Refuse("its equation leaves no label for the axis of rows");
  std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.is_stacked(i)) terms[i].insert(terms[i].begin(), label);
    inputs.push_back(c.input(i));
  }
  std::string all;
  for (const std::string& term : terms) absl::StrAppend(&all, all.empty() ? "" : ",", term);
  return c.Emit(inputs, {{"equation", absl::StrCat(all, "->", std::string(1, label), sides[1])}});
}

}  // namespace

void RegisterEinsum(OpRegistry& ops) {
  ops.Add({
      .schema = "Einsum(inputs: N * T) -> output: T {equation: string; N: int >= 1; T: type}",
      .doc = "Products of elements with equal labels, added up along the labels that the output "
             "does not have.",
      .shape = EinsumShape,
      .gradient = {EinsumGradient},
      .batch = {EinsumBatch},
      .kernel = Compute<&Einsum>(),
  });
}

}  // namespace gyre

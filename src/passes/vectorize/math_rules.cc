// Elementwise ops, reductions, products, and what neural networks are made of.
#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "ir/shape_context.h"
#include "passes/vectorize/dims.h"
#include "passes/vectorize/row_context.h"

namespace gyre::vectorize {
namespace {

// ---- Elementwise

bool IsScalar(const PartialShape& shape) { return shape.has_rank() && shape.rank() == 0; }

// Whether input i may have fewer dimensions in a row than another input that is broadcast with it.
bool MayBeOfLowerRank(const RowContext& c, int i) {
  const PartialShape& own = c.row_shape(i);
  for (int k = 0; k < c.num_inputs(); ++k) {
    const PartialShape& other = c.row_shape(k);
    if (k == i || IsScalar(other)) continue;
    if (!own.has_rank() || !other.has_rank() || own.rank() < other.rank()) return true;
  }
  return false;
}

// The stacked input i with as many axes behind that of rows as the input of most dimensions has.
Expr RaisedToCommonRank(RowContext& c, int i) {
  bool all_known = true;
  int rank = 0;
  for (int k = 0; k < c.num_inputs(); ++k) {
    all_known &= c.row_shape(k).has_rank();
    if (c.row_shape(k).has_rank()) rank = std::max(rank, c.row_shape(k).rank());
  }
  if (all_known) return c.stacked(i, rank);
  Expr common = c.op("Size", {c.row_dims(i)});
  for (int k = 0; k < c.num_inputs(); ++k) {
    if (k != i) common = c.op("Maximum", {common, c.op("Size", {c.row_dims(k)})});
  }
  return c.stacked(i, common);
}

}  // namespace

absl::Status ElementwiseRule(RowContext& c) {
  const bool broadcasts = c.node().op->shape != shape::SameForAll;
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!broadcasts) {
      inputs.push_back(c.stacked(i));
    } else if (c.is_stacked(i) && MayBeOfLowerRank(c, i)) {
      inputs.push_back(RaisedToCommonRank(c, i));
    } else {
      inputs.push_back(c.input(i));
    }
  }
  return c.Emit(inputs);
}

namespace {

// Tensors that cannot be broadcast together may be asked for, too.
absl::Status Equality(RowContext& c) {
  if (!c.attr<bool>("incompatible_shape_error", true))
    return NotBatched("its inputs may be of different shapes");
  return ElementwiseRule(c);
}

// Inputs behind the first that must be scalars, such as a pattern.
absl::Status FirstInputOnly(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return c.Emit(inputs);
}

// Along the last axes, whatever stands in front of them.
absl::Status AllInputsStacked(RowContext& c) {
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.stacked(i));
  return c.Emit(inputs);
}

// Strings of one shape, and scalars.
absl::Status StringJoin(RowContext& c) {
  int rank = 0;
  for (int i = 0; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const int own, c.NeedRank(i));
    rank = std::max(rank, own);
  }
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.row_shape(i).rank() == rank) {
      inputs.push_back(c.stacked(i));
    } else if (!c.is_stacked(i)) {
      inputs.push_back(c.input(i));
    } else {
      return NotBatched("a scalar that differs from row to row is joined to tensors");
    }
  }
  return c.Emit(inputs);
}

// The condition of Select: for all elements, for each row of them, or for each element.
absl::Status Select(RowContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  GYRE_ASSIGN_OR_RETURN(const int condition_rank, c.NeedRank(0));
  Expr condition = c.stacked(0);
  for (int i = condition_rank; i < rank; ++i)
    condition = c.op("ExpandDims", {condition, c.builder().Int(-1)});
  return c.EmitAs("SelectV2", {condition, c.stacked(1), c.stacked(2)});
}

// ---- Along axes

// An axis, or axes, as input 1.
absl::Status AlongAxes(RowContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

absl::Status L2Loss(RowContext& c) {
  const Expr x = c.input(0);
  if (!x.ok()) return c.builder().status();
  ExprBuilder& b = c.builder();
  Expr axes;
  if (c.row_shape(0).has_rank()) {
    std::vector<int32_t> known(c.row_shape(0).rank());
    std::iota(known.begin(), known.end(), 1);
    axes = b.Ints(known);
  } else {
    axes = c.op("Range", {b.Int(1), c.op("Rank", {x}), b.Int(1)});
  }
  return c.EmitAs("Mul", {Sum(c.op("Square", {x}), axes), b.Scalar(x.dtype(), 0.5)});
}

// ---- Products

// With left matrices that differ and one on the right: one product of all their rows.
absl::Status ProductOfRows(RowContext& c) {
  ExprBuilder& b = c.builder();
  const auto dim = [&](Expr of, int axis) {
    return c.op("StridedSlice", {of, b.Ints({axis}), b.Ints({axis + 1}), b.Ints({1})});
  };
  const PartialShape& left = c.row_shape(0);
  Expr joined;  // the shape of all rows' matrices, one below the other
  if (left.has_rank() && left.dim(1) > 0) {
    joined = b.Ints({-1, static_cast<int32_t>(left.dim(1))});
  } else {
    const Expr dims = c.row_dims(0);
    joined = Joined({c.op("Mul", {dim(dims, 0), c.rows()}), dim(dims, 1)});
  }
  const Expr product = c.op("MatMul", {Reshape(c.input(0), joined), c.input(1)},
                            {{"transpose_b", c.attr<bool>("transpose_b", false)}});
  Expr row;  // the shape of one row's product
  if (const std::optional<gyre::Shape> known = c.output_row_shape(0).ToShape()) {
    row = b.Ints({static_cast<int32_t>(known->dim(0)), static_cast<int32_t>(known->dim(1))});
  } else {
    row = Joined({dim(c.row_dims(0), 0), dim(ShapeOf(product), 1)});
  }
  return c.EmitAs("Reshape", {product, c.with_rows(row)});
}

// Matrix i, transposed. (What ops of batches do to complex numbers is more than that.)
Expr Turned(RowContext& c, int i) {
  const Expr x = c.input(i);
  return c.op("Transpose",
              {x, c.is_stacked(i) ? c.builder().Ints({0, 2, 1}) : c.builder().Ints({1, 0})});
}

// The products of two matrices in each row.
Expr ProductsOfMatrices(RowContext& c) {
  const bool turns[] = {c.attr<bool>("transpose_a", false), c.attr<bool>("transpose_b", false)};
  if (!IsComplex(c.input_dtype(0))) {
    return c.op("BatchMatMulV2", {c.input(0), c.input(1)},
                {{"adj_x", turns[0]}, {"adj_y", turns[1]}});
  }
  return c.op("BatchMatMulV2",
              {turns[0] ? Turned(c, 0) : c.input(0), turns[1] ? Turned(c, 1) : c.input(1)});
}

absl::Status MatMul(RowContext& c) {
  if (!c.is_stacked(1) && !c.attr<bool>("transpose_a", false)) return ProductOfRows(c);
  c.Set(0, ProductsOfMatrices(c));
  return absl::OkStatus();
}

absl::Status MatMulAdd(RowContext& c) {
  return c.EmitAs("AddV2", {c.input(2), ProductsOfMatrices(c)});
}

absl::Status BatchMatMul(RowContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int left, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int right, c.NeedRank(1));
  const int rank = std::max(left, right);
  AttrMap attrs = {{"adj_x", c.attr<bool>("adj_x", false)},
                   {"adj_y", c.attr<bool>("adj_y", false)}};
  return c.EmitAs("BatchMatMulV2",
                  {c.is_stacked(0) ? c.stacked(0, rank) : c.input(0),
                   c.is_stacked(1) ? c.stacked(1, rank) : c.input(1)},
                  std::move(attrs));
}

// A label of its own for the axis of rows, in front of what differs and of the result.
absl::Status Einsum(RowContext& c) {
  const std::string equation = c.attr<std::string>("equation", "");
  const std::vector<std::string> sides = absl::StrSplit(equation, absl::MaxSplits("->", 1));
  if (sides.size() != 2) return NotBatched("its equation names no result");
  char label = 'A';
  while (label <= 'Z' && absl::StrContains(equation, label)) ++label;
  if (label > 'Z') return NotBatched("its equation leaves no label for the axis of rows");
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

// ---- Neural networks

absl::Status BiasAdd(RowContext& c) {
  if (c.attr<std::string>("data_format", "NHWC") != "NHWC")
    return NotBatched("its data_format is not NHWC");
  if (!c.is_stacked(1)) return c.Emit({c.input(0), c.input(1)});
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
  return c.EmitAs("AddV2", {c.input(0), c.stacked(1, rank)});
}

absl::Status BiasAddGrad(RowContext& c) {
  if (c.attr<std::string>("data_format", "NHWC") != "NHWC")
    return NotBatched("its data_format is not NHWC");
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
  std::vector<int32_t> axes(rank - 1);
  std::iota(axes.begin(), axes.end(), 1);
  return c.EmitAs("Sum", {c.input(0), c.builder().Ints(axes)});
}

// Logits and labels: the op takes many examples, and so those of all rows.
absl::Status CrossEntropy(RowContext& c) {
  GYRE_ASSIGN_OR_RETURN(const int logits_rank, c.NeedRank(0));
  GYRE_ASSIGN_OR_RETURN(const int labels_rank, c.NeedRank(1));
  const bool is_sparse = c.input_dtype(1) != c.input_dtype(0);
  if (logits_rank != 2 || labels_rank != (is_sparse ? 1 : 2)) return NotBatched("it broadcasts");
  ExprBuilder& b = c.builder();
  // In rows of unequal shape one is broadcast to the other.
  if (!is_sparse && (!c.row_shape(0).IsFullyKnown() || c.row_shape(0) != c.row_shape(1)))
    return NotBatched("its logits and labels may differ in shape");
  const auto joined = [&](Expr x, int rank) {
    if (!x.ok()) return x;
    const Expr dims = ShapeOf(x);
    const auto part = [&](int begin, int end) {
      return c.op("StridedSlice", {dims, b.Ints({begin}), b.Ints({end}), b.Ints({1})});
    };
    const Expr examples = c.op("Prod", {part(0, 2), b.Ints({0})}, {{"keep_dims", true}});
    return Reshape(x, rank == 2 ? Joined({examples, part(2, 3)}) : examples);
  };
  const std::vector<Expr> outputs =
      b.Ops(c.node().op_name, {joined(c.stacked(0), 2), joined(c.stacked(1), labels_rank)}, {}, 2);
  const Expr dims = c.row_dims(0);
  const Expr examples = c.op("StridedSlice", {dims, b.Ints({0}), b.Ints({1}), b.Ints({1})});
  c.Set(0, Reshape(outputs[0], c.with_rows(examples)));
  c.Set(1, Reshape(outputs[1], c.with_rows(dims)));
  return absl::OkStatus();
}

}  // namespace

absl::Span<const NamedRule> MathRules() {
  static constexpr NamedRule kRules[] = {
      {"AddN", {AllInputsStacked}},
      {"Equal", {Equality}},
      {"NotEqual", {Equality}},
      {"RegexFullMatch", {FirstInputOnly}},
      {"StringJoin", {StringJoin}},
      {"Select", {Select}},
      {"Sum", {AlongAxes}},
      {"Mean", {AlongAxes}},
      {"Prod", {AlongAxes}},
      {"Max", {AlongAxes}},
      {"Min", {AlongAxes}},
      {"All", {AlongAxes}},
      {"Any", {AlongAxes}},
      {"ArgMax", {AlongAxes}},
      {"ArgMin", {AlongAxes}},
      {"Cumsum", {AlongAxes}},
      {"Cumprod", {AlongAxes}},
      {"L2Loss", {L2Loss}},
      {"Softmax", {AllInputsStacked}},
      {"LogSoftmax", {AllInputsStacked}},
      {"Bitcast", {AllInputsStacked}},
      {"TopKV2", {FirstInputOnly}},
      {"MatrixDiagV3", {FirstInputOnly}},
      {"MatMul", {MatMul}},
      {"_MatMulAdd", {MatMulAdd}},
      {"BatchMatMul", {BatchMatMul}},
      {"BatchMatMulV2", {BatchMatMul}},
      {"Einsum", {Einsum}},
      {"BiasAdd", {BiasAdd}},
      {"BiasAddGrad", {BiasAddGrad}},
      {"SoftmaxCrossEntropyWithLogits", {CrossEntropy}},
      {"SparseSoftmaxCrossEntropyWithLogits", {CrossEntropy}},
  };
  return kRules;
}

}  // namespace gyre::vectorize

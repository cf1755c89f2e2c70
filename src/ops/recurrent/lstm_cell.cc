// LSTMBlockCell and LSTMBlockCellGrad: one step of a long short-term memory, and its adjoint.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/recurrent/lstm.h"
#include "ops/registry.h"

namespace gyre {
namespace recurrent {

absl::StatusOr<LstmSizes> LstmSizesOf(const KernelContext& ctx, int first, int rank) {
  GYRE_RETURN_IF_ERROR(RequireRank(ctx, first, rank));
  GYRE_RETURN_IF_ERROR(RequireRank(ctx, first + 1, 2));
  const Shape& x = ctx.input(first).shape();
  const LstmSizes s{x.dim(rank - 2), x.dim(rank - 1), ctx.input(first + 1).dim(1)};
  GYRE_RETURN_IF_ERROR(RequireSizes(s.input, s.cell));
  GYRE_RETURN_IF_ERROR(RequireDims(ctx, first + 1, {s.batch, s.cell}));
  GYRE_RETURN_IF_ERROR(RequireDims(ctx, first + 2, {s.batch, s.cell}));
  GYRE_RETURN_IF_ERROR(RequireDims(ctx, first + 3, {s.input + s.cell, 4 * s.cell}));
  for (int i = 4; i < 7; ++i) GYRE_RETURN_IF_ERROR(RequireDims(ctx, first + i, {s.cell}));
  GYRE_RETURN_IF_ERROR(RequireDims(ctx, first + 7, {4 * s.cell}));
  return s;
}

}  // namespace recurrent

namespace {

using namespace recurrent;  // NOLINT: this file is of it

struct CellAttrs {
  explicit CellAttrs(const Node& node)
      : options{kIcfo, NodeAttr<float>(node, "forget_bias"), NodeAttr<float>(node, "cell_clip")},
        use_peephole(NodeAttr<bool>(node, "use_peephole")) {}
  LstmOptions options;
  bool use_peephole;
};

template <typename T>
struct CellKernel {
  static absl::Status Run(KernelContext& ctx, const CellAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const LstmSizes s, LstmSizesOf(ctx, 0, 2));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({s.batch, s.cell}));
    GYRE_ASSIGN_OR_RETURN(const Shape wide, Shape::Make({s.batch, 4 * s.cell}));
    std::vector<Tensor> outs;
    T* data[7];
    for (T*& d : data) {
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
      d = static_cast<T*>(out.mutable_raw_data());
      outs.push_back(std::move(out));
    }
    if (shape.num_elements() > 0) {
      GYRE_ASSIGN_OR_RETURN(Tensor gates, ctx.Allocate(DTypeOf<T>, wide));
      T* const g = static_cast<T*>(gates.mutable_raw_data());
      const LstmWeights<T> weights(ctx, 0, attrs.use_peephole);
      const auto input = [&](int i) { return static_cast<const T*>(ctx.input(i).raw_data()); };
      const int64_t n = 4 * s.cell;
      GYRE_RETURN_IF_ERROR(Product<T>(ctx, s.batch, n, s.input, {input(0), s.input}, {weights.w, n},
                                      /*add=*/false, g));
      GYRE_RETURN_IF_ERROR(Product<T>(ctx, s.batch, n, s.cell, {input(2), s.cell},
                                      {weights.w + s.input * n, n}, /*add=*/true, g));
      const LstmState<T> state{data[0], data[1], data[2], data[3], data[4], data[5], data[6]};
      GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, n, [&](int64_t row) {
        LstmRow<T>(s, attrs.options, weights, g, input(1), row, state);
      }));
    }
    for (int i = 0; i < 7; ++i) ctx.set_output(i, std::move(outs[i]));
    return absl::OkStatus();
  }
};

struct CellGradAttrs {
  explicit CellGradAttrs(const Node& node) : use_peephole(NodeAttr<bool>(node, "use_peephole")) {}
  bool use_peephole;
};

template <typename T>
struct CellGradKernel {
  static absl::Status Run(KernelContext& ctx, const CellGradAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const LstmSizes s, LstmSizesOf(ctx, 0, 2));
    for (int i = 8; i < 16; ++i) GYRE_RETURN_IF_ERROR(RequireDims(ctx, i, {s.batch, s.cell}));
    GYRE_ASSIGN_OR_RETURN(const Shape wide, Shape::Make({s.batch, 4 * s.cell}));
    GYRE_ASSIGN_OR_RETURN(Tensor back, ctx.Allocate(DTypeOf<T>, ctx.input(1).shape()));
    GYRE_ASSIGN_OR_RETURN(Tensor gates, ctx.Allocate(DTypeOf<T>, wide));
    const auto input = [&](int i) { return static_cast<const T*>(ctx.input(i).raw_data()); };
    T* const dgates = static_cast<T*>(gates.mutable_raw_data());
    T* const cs_prev_grad = static_cast<T*>(back.mutable_raw_data());
    const LstmWeights<T> weights(ctx, 0, attrs.use_peephole);
    const LstmAdjoints<T> step{input(1),  input(8),  input(9),  input(10), input(11),
                               input(12), input(13), input(14), input(15)};
    GYRE_RETURN_IF_ERROR(ForRows(ctx, s.cell == 0 ? 0 : s.batch, 4 * s.cell, [&](int64_t row) {
      LstmGradRow<T>(s, kIcfo, weights, step, row, dgates, cs_prev_grad);
    }));
    std::vector<double> sums(3 * s.cell);
    if (attrs.use_peephole) {
      GYRE_RETURN_IF_ERROR(AddPeepholes<T>(ctx, s.cell == 0 ? 0 : s.batch, s.cell, kIcfo,
                                           {dgates, input(1), input(9)}, sums.data()));
    }
    ctx.set_output(0, std::move(back));
    ctx.set_output(1, std::move(gates));
    return SetVectors<T>(ctx, 2, 3, s.cell, sums.data());
  }
};

absl::Status CellShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  const PartialShape shape(Dims{DimOf(c, 0, 0), DimOf(c, 1, 1)});
  for (int i = 0; i < 7; ++i) c.set_output(i, shape);
  return absl::OkStatus();
}

absl::Status CellGradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  const int64_t batch = DimOf(c, 0, 0), cell = DimOf(c, 1, 1);
  GYRE_RETURN_IF_ERROR(RequireSizes(0, cell));
  c.set_output(0, PartialShape(Dims{batch, cell}));
  c.set_output(1, PartialShape(Dims{batch, cell < 0 ? -1 : 4 * cell}));
  for (int i = 2; i < 5; ++i) c.set_output(i, PartialShape(Dims{cell}));
  return absl::OkStatus();
}

// Inputs are x, cs_prev, h_prev, w, wci, wcf, wco, b; outputs i, cs, f, o, ci, co, h.
void CellGradient(GradientContext& g) {
  if (!OnlyThese(g, {1, 6})) return;
  std::vector<Expr> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 6; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  const std::vector<Expr> grads = g.builder().Ops(
      "LSTMBlockCellGrad", inputs, {{"use_peephole", g.attr<bool>("use_peephole", false)}}, 5);
  const Expr dgates = grads[1];
  g.Add(1, grads[0]);
  if (g.wants(0) || g.wants(2)) {
    const Expr both = g.op("MatMul", {dgates, g.input(3)}, {{"transpose_b", true}});
    const Expr second = g.builder().Ints({1});
    const auto size = [&](int i) {
      return g.op("StridedSlice", {g.input_dims(i), second, g.builder().Ints({2}), second});
    };
    const std::vector<Expr> parts = g.builder().Ops(
        "SplitV",
        {both, g.op("ConcatV2", {size(0), size(2), g.builder().Int(0)}), g.builder().Int(1)},
        {{"num_split", int64_t{2}}}, 2);
    g.Add(0, parts[0]);
    g.Add(2, parts[1]);
  }
  if (g.wants(3)) {
    g.Add(3,
          g.op("MatMul", {SideBySide(g, g.input(0), g.input(2)), dgates}, {{"transpose_a", true}}));
  }
  for (int i = 0; i < 3; ++i) g.Add(4 + i, grads[2 + i]);
  if (g.wants(7)) g.Add(7, SumOfRows(g, dgates));
}

}  // namespace

void RegisterLstmCell(OpRegistry& ops) {
  ops.Add({
      .schema = "LSTMBlockCell(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) "
                "-> i: T, cs: T, f: T, o: T, ci: T, co: T, h: T {forget_bias: float = 1.0; "
                "cell_clip: float = 3.0; use_peephole: bool = false; T: {half, float}}",
      .doc = "One step of a long short-term memory; gates are in the order i, c, f, o.",
      .shape = CellShape,
      .gradient = {CellGradient},
      .kernel = ForTypes<CellKernel, Types<float, Half>>("T"),
  });
  ops.Add({
      .schema = "LSTMBlockCellGrad(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: "
                "T, i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T) -> "
                "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T {use_peephole: "
                "bool; T: {half, float}}",
      .doc = "The gradient of LSTMBlockCell by its state, its gates and its peepholes.",
      .shape = CellGradShape,
      .gradient = RefusesGradient("LSTMBlockCell has first derivatives only"),
      .kernel = ForTypes<CellGradKernel, Types<float, Half>>("T"),
  });
}

}  // namespace gyre

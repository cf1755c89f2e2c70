// GRUBlockCell and GRUBlockCellGrad: one step of a gated recurrent unit, and its adjoint.
//
//   [r, u] = σ([x, h'] w_ru + b_ru)    c = tanh([x, r h'] w_c + b_c)    h = u h' + (1 - u) c
//
// (K. Cho et al. 2014.)
#include <utility>
#include <vector>

#include "ops/dispatch.h"
#include "ops/math/simd.h"
#include "ops/recurrent/recurrent.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using namespace recurrent;  // NOLINT: this file is of it

struct Sizes {
  // Of x, h_prev, w_ru, w_c, b_ru and b_c, inputs 0 to 5.
  static absl::StatusOr<Sizes> Make(const KernelContext& ctx) {
    GYRE_RETURN_IF_ERROR(RequireRank(ctx, 0, 2));
    GYRE_RETURN_IF_ERROR(RequireRank(ctx, 1, 2));
    const Sizes s{ctx.input(0).dim(0), ctx.input(0).dim(1), ctx.input(1).dim(1)};
    GYRE_RETURN_IF_ERROR(RequireSizes(s.input, s.cell));
    GYRE_RETURN_IF_ERROR(RequireDims(ctx, 1, {s.batch, s.cell}));
    GYRE_RETURN_IF_ERROR(RequireDims(ctx, 2, {s.input + s.cell, 2 * s.cell}));
    GYRE_RETURN_IF_ERROR(RequireDims(ctx, 3, {s.input + s.cell, s.cell}));
    GYRE_RETURN_IF_ERROR(RequireDims(ctx, 4, {2 * s.cell}));
    GYRE_RETURN_IF_ERROR(RequireDims(ctx, 5, {s.cell}));
    return s;
  }
  absl::StatusOr<Shape> State() const { return Shape::Make({batch, cell}); }
  absl::StatusOr<Shape> Gates() const { return Shape::Make({batch, 2 * cell}); }
  int64_t batch, input, cell;
};

const float* In(const KernelContext& ctx, int i) {
  return static_cast<const float*>(ctx.input(i).raw_data());
}
float* Out(Tensor& t) { return static_cast<float*>(t.mutable_raw_data()); }

// out[batch, n] = x w[:input] + h w[input:].
absl::Status StateProduct(const KernelContext& ctx, const Sizes& s, const float* h, const float* w,
                          int64_t n, float* out) {
  GYRE_RETURN_IF_ERROR(Product<float>(ctx, s.batch, n, s.input, {In(ctx, 0), s.input}, {w, n},
                                      /*add=*/false, out));
  return Product<float>(ctx, s.batch, n, s.cell, {h, s.cell}, {w + s.input * n, n},
                        /*add=*/true, out);
}

absl::Status GruCell(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Sizes s, Sizes::Make(ctx));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, s.State());
  GYRE_ASSIGN_OR_RETURN(const Shape wide, s.Gates());
  std::vector<Tensor> outs;
  for (int i = 0; i < 4; ++i) {
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, shape));
    outs.push_back(std::move(out));
  }
  if (shape.num_elements() > 0) {
    GYRE_ASSIGN_OR_RETURN(Tensor gates_tensor, ctx.Allocate(DType::kFloat, wide));
    float *gates = Out(gates_tensor), *r = Out(outs[0]), *u = Out(outs[1]), *c = Out(outs[2]),
          *h = Out(outs[3]);
    const float *before = In(ctx, 1), *b_ru = In(ctx, 4), *b_c = In(ctx, 5);
    const UnaryRow sigmoid = simd::FindRow(simd::UnaryOp::kSigmoid, DType::kFloat);
    const UnaryRow tanh = simd::FindRow(simd::UnaryOp::kTanh, DType::kFloat);
    const int64_t n = s.cell;
    GYRE_RETURN_IF_ERROR(StateProduct(ctx, s, before, In(ctx, 2), 2 * n, gates));
    // r h' stands in h for now.
    GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, 3 * n, [&](int64_t row) {
      const float* g = gates + row * 2 * n;
      const int64_t at = row * n;
      for (int64_t j = 0; j < n; ++j) {
        r[at + j] = g[j] + b_ru[j];
        u[at + j] = g[n + j] + b_ru[n + j];
      }
      sigmoid(r + at, r + at, n);
      sigmoid(u + at, u + at, n);
      for (int64_t j = at; j < at + n; ++j) h[j] = r[j] * before[j];
    }));
    GYRE_RETURN_IF_ERROR(StateProduct(ctx, s, h, In(ctx, 3), n, c));
    GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, 2 * n, [&](int64_t row) {
      const int64_t at = row * n;
      for (int64_t j = 0; j < n; ++j) c[at + j] += b_c[j];
      tanh(c + at, c + at, n);
      for (int64_t j = at; j < at + n; ++j) h[j] = u[j] * (before[j] - c[j]) + c[j];
    }));
  }
  for (int i = 0; i < 4; ++i) ctx.set_output(i, std::move(outs[i]));
  return absl::OkStatus();
}

// Inputs 6 to 9 are r, u, c and the adjoint of h. Outputs are the adjoints of x, of h_prev, and of
// what tanh and the sigmoids were taken of.
absl::Status GruCellGrad(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const Sizes s, Sizes::Make(ctx));
  for (int i = 6; i < 10; ++i) GYRE_RETURN_IF_ERROR(RequireDims(ctx, i, {s.batch, s.cell}));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, s.State());
  GYRE_ASSIGN_OR_RETURN(const Shape wide, s.Gates());
  GYRE_ASSIGN_OR_RETURN(Tensor d_x, ctx.AllocateZeros(DType::kFloat, ctx.input(0).shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor d_h_prev, ctx.Allocate(DType::kFloat, shape));
  GYRE_ASSIGN_OR_RETURN(Tensor d_c, ctx.Allocate(DType::kFloat, shape));
  GYRE_ASSIGN_OR_RETURN(Tensor d_ru, ctx.Allocate(DType::kFloat, wide));
  if (shape.num_elements() > 0) {
    GYRE_ASSIGN_OR_RETURN(Tensor d_hr_tensor, ctx.Allocate(DType::kFloat, shape));
    float *dh_prev = Out(d_h_prev), *dc = Out(d_c), *dru = Out(d_ru), *d_hr = Out(d_hr_tensor);
    const float *before = In(ctx, 1), *w_ru = In(ctx, 2), *w_c = In(ctx, 3), *r = In(ctx, 6),
                *u = In(ctx, 7), *c = In(ctx, 8), *dh = In(ctx, 9);
    const int64_t n = s.cell;
    GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, 2 * n, [&](int64_t row) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = row * n + j;
        dc[at] = dh[at] * (1 - u[at]) * (1 - c[at] * c[at]);
        dru[row * 2 * n + n + j] = dh[at] * (before[at] - c[at]) * u[at] * (1 - u[at]);
      }
    }));
    GYRE_RETURN_IF_ERROR(Product<float>(ctx, s.batch, n, n, {dc, n}, {w_c + s.input * n, n, true},
                                        /*add=*/false, d_hr));
    GYRE_RETURN_IF_ERROR(ForRows(ctx, s.batch, 2 * n, [&](int64_t row) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = row * n + j;
        dru[row * 2 * n + j] = d_hr[at] * before[at] * r[at] * (1 - r[at]);
        dh_prev[at] = d_hr[at] * r[at] + dh[at] * u[at];
      }
    }));
    GYRE_RETURN_IF_ERROR(Product<float>(ctx, s.batch, n, 2 * n, {dru, 2 * n},
                                        {w_ru + s.input * 2 * n, 2 * n, true}, /*add=*/true,
                                        dh_prev));
    GYRE_RETURN_IF_ERROR(Product<float>(ctx, s.batch, s.input, 2 * n, {dru, 2 * n},
                                        {w_ru, 2 * n, true}, /*add=*/false, Out(d_x)));
    GYRE_RETURN_IF_ERROR(Product<float>(ctx, s.batch, s.input, n, {dc, n}, {w_c, n, true},
                                        /*add=*/true, Out(d_x)));
  }
  ctx.set_output(0, std::move(d_x));
  ctx.set_output(1, std::move(d_h_prev));
  ctx.set_output(2, std::move(d_c));
  ctx.set_output(3, std::move(d_ru));
  return absl::OkStatus();
}

absl::Status GruShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  for (int i = 0; i < 4; ++i) c.set_output(i, PartialShape(Dims{DimOf(c, 0, 0), DimOf(c, 1, 1)}));
  return absl::OkStatus();
}

absl::Status GruGradShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireRank(i, 2));
  const int64_t batch = DimOf(c, 0, 0), cell = DimOf(c, 1, 1);
  c.set_output(0, PartialShape(Dims{batch, DimOf(c, 0, 1)}));
  c.set_output(1, PartialShape(Dims{batch, cell}));
  c.set_output(2, PartialShape(Dims{batch, cell}));
  c.set_output(3, PartialShape(Dims{batch, DimOf(c, 2, 1)}));
  return absl::OkStatus();
}

void GruGradient(GradientContext& g) {
  if (!OnlyThese(g, {3})) return;
  std::vector<Expr> inputs;
  for (int i = 0; i < 6; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(3));
  const std::vector<Expr> grads = g.builder().Ops("GRUBlockCellGrad", inputs, {}, 4);
  g.Add(0, grads[0]);
  g.Add(1, grads[1]);
  const Expr x = g.input(0), h = g.input(1), dc = grads[2], dru = grads[3];
  const auto weights = [&](Expr state, Expr gates) {
    return g.op("MatMul", {SideBySide(g, x, state), gates}, {{"transpose_a", true}});
  };
  if (g.wants(2)) g.Add(2, weights(h, dru));
  if (g.wants(3)) g.Add(3, weights(h * g.output(0), dc));
  if (g.wants(4)) g.Add(4, SumOfRows(g, dru));
  if (g.wants(5)) g.Add(5, SumOfRows(g, dc));
}

}  // namespace

void RegisterGruCell(OpRegistry& ops) {
  ops.Add({
      .schema = "GRUBlockCell(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> r: T, u: T, "
                "c: T, h: T {T: {float}}",
      .doc = "One step of a gated recurrent unit.",
      .shape = GruShape,
      .gradient = {GruGradient},
      .kernel = Compute<GruCell>(),
  });
  ops.Add({
      .schema = "GRUBlockCellGrad(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, "
                "c: T, d_h: T) -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T {T: {float}}",
      .doc = "The gradient of GRUBlockCell by its input, its state and its gates.",
      .shape = GruGradShape,
      .gradient = RefusesGradient("GRUBlockCell has first derivatives only"),
      .kernel = Compute<GruCellGrad>(),
  });
}

}  // namespace gyre

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/product_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct MatMulAttrs {
  explicit MatMulAttrs(const Node& node)
      : transpose_a(NodeAttr<bool>(node, "transpose_a")),
        transpose_b(NodeAttr<bool>(node, "transpose_b")) {}
  bool transpose_a;
  bool transpose_b;
};

absl::Status MatMul(KernelContext& ctx, const MatMulAttrs& attrs) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  if (a.rank() != 2 || b.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a and b must be matrices, but their shapes are ", a.shape().ToString(),
                     " and ", b.shape().ToString()));
  }
  const int64_t k = a.dim(attrs.transpose_a ? 0 : 1);
  if (k != b.dim(attrs.transpose_b ? 1 : 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("matrix sizes do not match: a is ", a.shape().ToString(),
                     attrs.transpose_a ? " (transposed)" : "", ", b is ", b.shape().ToString(),
                     attrs.transpose_b ? " (transposed)" : ""));
  }
  const int64_t m = a.dim(attrs.transpose_a ? 1 : 0);
  const int64_t n = b.dim(attrs.transpose_b ? 0 : 1);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({m, n}));
  GYRE_ASSIGN_OR_RETURN(Tensor product, ctx.Allocate(a.dtype(), shape));
  GYRE_RETURN_IF_ERROR(Multiply(ctx, {.dtype = a.dtype(),
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .a = {a.raw_data(), a.dim(1), attrs.transpose_a},
                                      .b = {b.raw_data(), b.dim(1), attrs.transpose_b},
                                      .c = product.mutable_raw_data()}));
  ctx.set_output(0, std::move(product));
  return absl::OkStatus();
}

absl::Status MatMulShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  const MatMulAttrs attrs(c.node());
  const PartialShape a = c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(2);
  const PartialShape b = c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(2);
  const int64_t a_k = a.dim(attrs.transpose_a ? 0 : 1);
  const int64_t b_k = b.dim(attrs.transpose_b ? 1 : 0);
  if (a_k >= 0 && b_k >= 0 && a_k != b_k) {
    return absl::InvalidArgumentError(absl::StrCat(
        "matrix sizes do not match: a is ", a.ToString(), attrs.transpose_a ? " (transposed)" : "",
        ", b is ", b.ToString(), attrs.transpose_b ? " (transposed)" : ""));
  }
  c.set_output(
      0, PartialShape(Dims{a.dim(attrs.transpose_a ? 1 : 0), b.dim(attrs.transpose_b ? 0 : 1)}));
  return absl::OkStatus();
}

void MatMulGradient(GradientContext& g) {
  const MatMulAttrs turns(g.node());
  for (int i = 0; i < 2; ++i) {
    if (!g.wants(i)) continue;
    const TurnedProduct product =
        FactorGradient(i, g.grad(), Conj(g.input(1 - i)), turns.transpose_a, turns.transpose_b);
    g.Add(i, g.op("MatMul", {product.left, product.right},
                  {{"transpose_a", product.turn_left}, {"transpose_b", product.turn_right}}));
  }
}

}  // namespace

void RegisterMatMul(OpRegistry& ops) {
  ops.Add({
      .schema = "MatMul(a: T, b: T) -> product: T {transpose_a: bool = false; "
                "transpose_b: bool = false; T: {bfloat16, half, float, double, int32, int64, "
                "uint8, uint16, uint32, uint64, complex64, complex128}; grad_a: bool = false; "
                "grad_b: bool = false}",
      .doc = "The product of two matrices, each transposed first if asked for.",
      .shape = MatMulShape,
      .gradient = {MatMulGradient},
      .kernel = Compute<&MatMul>(),
  });
}

}  // namespace gyre

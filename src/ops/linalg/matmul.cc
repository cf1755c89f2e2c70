#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dense_code.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/product_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status MatMulAdd(KernelContext& ctx, const MatMulAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(MatrixProduct product, ProductOf(attrs, ctx.input(0), ctx.input(1)));
  GYRE_RETURN_IF_ERROR(CheckSum(product, ctx.input(2)));
  GYRE_ASSIGN_OR_RETURN(Tensor sum, ctx.ReuseOrAllocate(2, ctx.input(2).dtype(), product.shape));
  if (sum.raw_data() != ctx.input(2).raw_data())
    std::memcpy(sum.mutable_raw_data(), ctx.input(2).raw_data(), sum.bytes());
  product.gemm.c = sum.mutable_raw_data();
  product.gemm.add = true;
  GYRE_RETURN_IF_ERROR(Multiply(ctx, product.gemm));
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

// Both for operands of known shapes. The plan is the product, but for where its matrices lie.
template <bool kAdd>
void MultiplyDense(const void* plan, const void* const* inputs, void* const* outputs) {
  GemmBatch product = *static_cast<const GemmBatch*>(plan);
  product.a.data = inputs[0];
  product.b.data = inputs[1];
  product.c = outputs[0];
  if (kAdd)
    std::memcpy(product.c, inputs[2],
                static_cast<size_t>(product.m * product.n) * DTypeSize(product.dtype));
  MultiplySmall(product);
}
template <bool kAdd>
std::optional<DenseCode> MatMulDense(const Node& node, absl::Span<const DenseOperand> inputs,
                                     absl::Span<const Shape> outputs) {
  const MatMulAttrs attrs(node);
  const std::optional<Shape>&a = inputs[0].shape, &b = inputs[1].shape;
  if (!a || !b || a->rank() != 2 || b->rank() != 2) return std::nullopt;
  const int64_t m = a->dim(attrs.transpose_a ? 1 : 0), k = a->dim(attrs.transpose_a ? 0 : 1);
  const int64_t n = b->dim(attrs.transpose_b ? 0 : 1);
  const DType dtype = node.signature.outputs[0].dtype;
  if (b->dim(attrs.transpose_b ? 1 : 0) != k || !IsSmallProduct(dtype, m, n, k) ||
      outputs[0] != Shape::Trusted({m, n}) || (kAdd && inputs[2].shape != outputs[0]))
    return std::nullopt;
  return DenseCode{
      .function = &MultiplyDense<kAdd>,
      .plan = std::make_shared<GemmBatch>(GemmBatch{.dtype = dtype,
                                                    .m = m,
                                                    .n = n,
                                                    .k = k,
                                                    .a = {nullptr, a->dim(1), attrs.transpose_a},
                                                    .b = {nullptr, b->dim(1), attrs.transpose_b},
                                                    .c = nullptr,
                                                    .batch = {},
                                                    .add = kAdd}),
      .num_operands = kAdd ? 3u : 2u,
      .work = m * n * k / 4};
}

absl::StatusOr<PartialShape> ProductShape(const ShapeContext& c) {
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
  return PartialShape(Dims{a.dim(attrs.transpose_a ? 1 : 0), b.dim(attrs.transpose_b ? 0 : 1)});
}

absl::Status MatMulShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, ProductShape(c));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status MatMulAddShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape product, ProductShape(c));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, product.Intersect(c.input(2)));
  c.set_output(0, std::move(shape));
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

void MatMulAddGradient(GradientContext& g) {
  MatMulGradient(g);
  if (g.wants(2)) g.Add(2, g.grad());
}

// With left matrices that differ and one on the right: one product of all their rows.
absl::Status ProductOfRows(BatchContext& c) {
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
    joined = batch::Joined({c.op("Mul", {dim(dims, 0), c.rows()}), dim(dims, 1)});
  }
  const Expr product = c.op("MatMul", {Reshape(c.input(0), joined), c.input(1)},
                            {{"transpose_b", c.attr<bool>("transpose_b", false)}});
  Expr row;  // the shape of one row's product
  if (const std::optional<Shape> known = c.output_row_shape(0).ToShape()) {
    row = b.Ints({static_cast<int32_t>(known->dim(0)), static_cast<int32_t>(known->dim(1))});
  } else {
    row = batch::Joined({dim(c.row_dims(0), 0), dim(ShapeOf(product), 1)});
  }
  return c.EmitAs("Reshape", {product, c.with_rows(row)});
}

// Matrix i, transposed. (What ops of batches do to complex numbers is more than that.)
Expr Turned(BatchContext& c, int i) {
  const Expr x = c.input(i);
  return c.op("Transpose",
              {x, c.is_stacked(i) ? c.builder().Ints({0, 2, 1}) : c.builder().Ints({1, 0})});
}

// The products of two matrices in each row.
Expr ProductsOfMatrices(BatchContext& c) {
  const bool turns[] = {c.attr<bool>("transpose_a", false), c.attr<bool>("transpose_b", false)};
  if (!IsComplex(c.input_dtype(0))) {
    return c.op("BatchMatMulV2", {c.input(0), c.input(1)},
                {{"adj_x", turns[0]}, {"adj_y", turns[1]}});
  }
  return c.op("BatchMatMulV2",
              {turns[0] ? Turned(c, 0) : c.input(0), turns[1] ? Turned(c, 1) : c.input(1)});
}

absl::Status MatMulBatch(BatchContext& c) {
  if (!c.is_stacked(1) && !c.attr<bool>("transpose_a", false)) return ProductOfRows(c);
  c.Set(0, ProductsOfMatrices(c));
  return absl::OkStatus();
}

absl::Status MatMulAddBatch(BatchContext& c) {
  return c.EmitAs("AddV2", {c.input(2), ProductsOfMatrices(c)});
}

}  // namespace

absl::StatusOr<MatrixProduct> ProductOf(const MatMulAttrs& attrs, const Tensor& a,
                                        const Tensor& b) {
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
  const int64_t m = a.dim(attrs.transpose_a ? 1 : 0), n = b.dim(attrs.transpose_b ? 0 : 1);
  GYRE_ASSIGN_OR_RETURN(Shape shape, Shape::Make({m, n}));
  return MatrixProduct{std::move(shape),
                       {.dtype = a.dtype(),
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = {a.raw_data(), a.dim(1), attrs.transpose_a},
                        .b = {b.raw_data(), b.dim(1), attrs.transpose_b},
                        .c = nullptr,
                        .batch = {}}};
}

absl::Status CheckSum(const MatrixProduct& product, const Tensor& sum) {
  if (sum.shape() == product.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the product has shape ", product.shape.ToString(),
                                                 ", but it is added to ", sum.shape().ToString()));
}

void RegisterMatMul(OpRegistry& ops) {
  ops.Add({
      .schema = "MatMul(a: T, b: T) -> product: T {transpose_a: bool = false; "
                "transpose_b: bool = false; T: {bfloat16, half, float, double, int32, int64, "
                "uint8, uint16, uint32, uint64, complex64, complex128}; grad_a: bool = false; "
                "grad_b: bool = false}",
      .doc = "The product of two matrices, each transposed first if asked for.",
      .traits = {.role = Role::kMatrixProduct},
      .shape = MatMulShape,
      .gradient = {MatMulGradient},
      .batch = {MatMulBatch},
      .kernel = WithDenseCode<&MatMulDense<false>>(Compute<&ComputeProduct<MatMulAttrs>>()),
  });
  ops.Add({
      .schema = "_MatMulAdd(a: T, b: T, sum: T) -> output: T {transpose_a: bool = false; "
                "transpose_b: bool = false; T: {bfloat16, half, float, double, complex64, "
                "complex128}}",
      .doc = "`sum` with the product of two matrices, each transposed first if asked for, added "
             "to it.",
      .shape = MatMulAddShape,
      .gradient = {MatMulAddGradient},
      .batch = {MatMulAddBatch},
      .kernel = WithDenseCode<&MatMulDense<true>>(Compute<&MatMulAdd>()),
  });
}

}  // namespace gyre

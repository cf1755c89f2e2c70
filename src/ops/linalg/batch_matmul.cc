#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/linalg/gemm.h"
#include "ops/linalg/product_gradient.h"
#include "ops/registry.h"

namespace gyre {
namespace {

PartialShape BatchOf(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() < 2) return PartialShape::Unknown();
  return PartialShape(Dims(shape.dims().begin(), shape.dims().end() - 2));
}

absl::Status SizeError(const std::string& x, const std::string& y, const BatchMatMulAttrs& attrs) {
  return absl::InvalidArgumentError(absl::StrCat("matrix sizes do not match: x is ", x,
                                                 attrs.adj_x ? " (adjoint)" : "", ", y is ", y,
                                                 attrs.adj_y ? " (adjoint)" : ""));
}

// What the two batches broadcast to, followed by the size of the product of their matrices.
absl::StatusOr<PartialShape> ProductShape(const PartialShape& x, const PartialShape& y,
                                          const BatchMatMulAttrs& attrs) {
  const int64_t x_k = x.dim(x.rank() - (attrs.adj_x ? 2 : 1));
  const int64_t y_k = y.dim(y.rank() - (attrs.adj_y ? 1 : 2));
  if (x_k >= 0 && y_k >= 0 && x_k != y_k) return SizeError(x.ToString(), y.ToString(), attrs);
  const absl::StatusOr<PartialShape> batch = shape::BroadcastShapes(BatchOf(x), BatchOf(y));
  if (!batch.ok()) return Annotate(batch.status(), "batch dimensions");
  Dims dims(batch->dims().begin(), batch->dims().end());
  dims.push_back(x.dim(x.rank() - (attrs.adj_x ? 1 : 2)));
  dims.push_back(y.dim(y.rank() - (attrs.adj_y ? 2 : 1)));
  return PartialShape(std::move(dims));
}

// How far apart the matrices of a factor are along each batch dimension of the product, of which
// there are `rank`.
Dims BatchStrides(const Shape& factor, int rank) {
  Dims strides(rank, 0);
  int64_t stride = factor.dim(factor.rank() - 1) * factor.dim(factor.rank() - 2);
  for (int i = 1; i <= factor.rank() - 2; ++i) {
    const int64_t size = factor.dim(factor.rank() - 2 - i);
    if (size != 1) strides[rank - i] = stride;
    stride *= size;
  }
  return strides;
}

absl::Status BatchMatMulShape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    if (c.input(i).has_rank() && c.input(i).rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("x and y must have at least two dimensions, but the shape of input ", i,
                       " is ", c.input(i).ToString()));
    }
  }
  if (!c.input(0).has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(PartialShape product,
                        ProductShape(c.input(0), c.input(1), BatchMatMulAttrs(c.node())));
  c.set_output(0, std::move(product));
  return absl::OkStatus();
}

void BatchMatMulGradient(GradientContext& g) {
  const BatchMatMulAttrs turns(g.node());
  for (int i = 0; i < 2; ++i) {
    if (!g.wants(i)) continue;
    const TurnedProduct product =
        FactorGradient(i, g.grad(), g.input(1 - i), turns.adj_x, turns.adj_y);
    const Expr gradient = g.op("BatchMatMulV2", {product.left, product.right},
                               {{"adj_x", product.turn_left}, {"adj_y", product.turn_right}});
    gradient::AddStretched(
        g, i, gradient,
        gradient::StretchOf(BatchOf(g.input_shape(i)), BatchOf(g.output_shape(0)),
                            {BatchOf(g.input_shape(1 - i))}));
  }
}

absl::Status BatchMatMulBatch(BatchContext& c) {
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

}  // namespace

absl::StatusOr<MatrixProduct> ProductOf(const BatchMatMulAttrs& attrs, const Tensor& x,
                                        const Tensor& y) {
  if (x.rank() < 2 || y.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("x and y must have at least two dimensions, but their shapes are ",
                     x.shape().ToString(), " and ", y.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const PartialShape known, ProductShape(x.shape(), y.shape(), attrs));
  GYRE_ASSIGN_OR_RETURN(Shape shape, Shape::Make(known.dims()));
  const int64_t x_columns = x.dim(x.rank() - 1);
  const int64_t y_columns = y.dim(y.rank() - 1);
  GemmBatch gemm = {.dtype = x.dtype(),
                    .m = shape.dim(shape.rank() - 2),
                    .n = shape.dim(shape.rank() - 1),
                    .k = attrs.adj_x ? x.dim(x.rank() - 2) : x_columns,
                    .a = {x.raw_data(), x_columns, attrs.adj_x, attrs.adj_x},
                    .b = {y.raw_data(), y_columns, attrs.adj_y, attrs.adj_y},
                    .c = nullptr,
                    .batch = {}};
  const int batch_rank = shape.rank() - 2;
  const Dims x_strides = BatchStrides(x.shape(), batch_rank);
  const Dims y_strides = BatchStrides(y.shape(), batch_rank);
  for (int i = 0; i < batch_rank; ++i) {
    if (shape.dim(i) != 1) gemm.batch.push_back({shape.dim(i), x_strides[i], y_strides[i]});
  }
  return MatrixProduct{std::move(shape), std::move(gemm)};
}

void RegisterBatchMatMul(OpRegistry& ops) {
  ops.Add({
      .schema = "BatchMatMul(x: T, y: T) -> output: T {T: {bfloat16, half, float, double, int32, "
                "int64, complex64, complex128}; adj_x: bool = false; adj_y: bool = false; "
                "grad_x: bool = false; grad_y: bool = false}",
      .doc = "The products of a batch of pairs of matrices.",
      .shape = BatchMatMulShape,
      .gradient = {BatchMatMulGradient},
      .batch = {BatchMatMulBatch},
      .kernel = Compute<&ComputeProduct<BatchMatMulAttrs>>(),
  });
  ops.Add({
      .schema = "BatchMatMulV2(x: T, y: T) -> output: T {T: {bfloat16, half, float, double, int16, "
                "int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}; "
                "adj_x: bool = false; adj_y: bool = false; grad_x: bool = false; "
                "grad_y: bool = false}",
      .doc = "The products of pairs of matrices, one for each element of what their batches "
             "broadcast to.",
      .shape = BatchMatMulShape,
      .gradient = {BatchMatMulGradient},
      .batch = {BatchMatMulBatch},
      .kernel = Compute<&ComputeProduct<BatchMatMulAttrs>>(),
  });
}

}  // namespace gyre

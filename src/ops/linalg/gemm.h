// Products of matrices, one or a batch of them: what MatMul, BatchMatMul and Einsum come down to.
//
// The bits of a result depend on the sizes and on the CPU's instruction set, never on threads.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gyre/core/dtype.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// One factor of a product, in row-major memory: element (i, j) is data[i * stride + j], or data[j *
// stride + i] when transposed.
struct GemmFactor {
  const void* data;
  int64_t stride;
  bool transposed = false;
  bool conjugated = false;  // matters for complex numbers alone
};

// c[m, n] = a[m, k] b[k, n], or c += a b, for every element of a batch.
struct GemmBatch {
  // One dimension of the batch, and how far apart its matrices are, in elements; 0 where a factor
  // is broadcast.
  struct Dim {
    int64_t size;
    int64_t a_stride;
    int64_t b_stride;
  };

  DType dtype;
  int64_t m;
  int64_t n;
  int64_t k;
  GemmFactor a;
  GemmFactor b;
  void* c;                            // batch after batch, row-major, contiguous
  absl::InlinedVector<Dim, 4> batch;  // outermost first
  bool add = false;                   // to what c holds
};

// Computes the products. Floating-point numbers are added in blocks along k; half and bfloat16 are
// computed as float; integers wrap around. UNIMPLEMENTED for other types. Runs in parallel and
// polls where that pays.
absl::Status Multiply(const KernelContext& ctx, const GemmBatch& batch);

// Whether Multiply computes a product of two matrices in one go, and what it does then.
bool IsSmallProduct(DType dtype, int64_t m, int64_t n, int64_t k);
void MultiplySmall(const GemmBatch& product);

// How the nodes of products turn their factors: read once for each node.
struct MatMulAttrs {  // of MatMul and _MatMulAdd
  explicit MatMulAttrs(const Node& node)
      : transpose_a(NodeAttr<bool>(node, "transpose_a")),
        transpose_b(NodeAttr<bool>(node, "transpose_b")) {}
  bool transpose_a;
  bool transpose_b;
};
struct BatchMatMulAttrs {  // of BatchMatMul and BatchMatMulV2
  explicit BatchMatMulAttrs(const Node& node)
      : adj_x(NodeAttr<bool>(node, "adj_x")), adj_y(NodeAttr<bool>(node, "adj_y")) {}
  bool adj_x;
  bool adj_y;
};

// The product that a node asks for, whoever computes it.
struct MatrixProduct {
  Shape shape;
  GemmBatch gemm;  // where the result goes is left open
};
// INVALID_ARGUMENT for shapes that do not fit.
absl::StatusOr<MatrixProduct> ProductOf(const MatMulAttrs& attrs, const Tensor& a, const Tensor& b);
absl::StatusOr<MatrixProduct> ProductOf(const BatchMatMulAttrs& attrs, const Tensor& x,
                                        const Tensor& y);
// OK if `sum` has the shape of the product that is added to it.
absl::Status CheckSum(const MatrixProduct& product, const Tensor& sum);

// The kernel of a product of inputs 0 and 1.
template <typename Attrs>
absl::Status ComputeProduct(KernelContext& ctx, const Attrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(MatrixProduct product, ProductOf(attrs, ctx.input(0), ctx.input(1)));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(product.gemm.dtype, product.shape));
  product.gemm.c = result.mutable_raw_data();
  GYRE_RETURN_IF_ERROR(Multiply(ctx, product.gemm));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace gyre

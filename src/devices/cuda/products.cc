#include "devices/cuda/products.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/cublas.h"
#include "devices/cuda/cuda_device.h"
#include "ops/gpu_ops.h"
#include "ops/linalg/gemm.h"

namespace gyre::cuda {
namespace {

using MakeProduct = absl::StatusOr<MatrixProduct> (*)(const Node&, const Tensor&, const Tensor&);

// What is added to; null: nothing.
absl::Status Multiply(KernelContext& ctx, MakeProduct make, const Tensor* sum) {
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  GYRE_ASSIGN_OR_RETURN(const Tensor a, device->There(ctx, ctx.input(0)));
  GYRE_ASSIGN_OR_RETURN(const Tensor b, device->There(ctx, ctx.input(1)));
  GYRE_ASSIGN_OR_RETURN(MatrixProduct product, make(ctx.node(), a, b));
  Tensor added;
  if (sum != nullptr) {
    GYRE_RETURN_IF_ERROR(CheckSum(product, *sum));
    GYRE_ASSIGN_OR_RETURN(added, device->There(ctx, *sum));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor result, device->MakeResult(ctx, product.gemm.dtype, product.shape));
  GemmBatch& gemm = product.gemm;
  gemm.c = result.mutable_raw_data();
  gemm.add = sum != nullptr;
  const auto start = [&gpu = device->gpu(), gemm, bytes = result.bytes(),
                      from =
                          sum == nullptr ? Address{0} : reinterpret_cast<Address>(sum->raw_data())](
                         StreamHandle stream) -> absl::Status {
    const auto to = reinterpret_cast<Address>(gemm.c);
    if (from != 0) {
      GYRE_RETURN_IF_ERROR(
          gpu.Check("cuMemcpyAsync", gpu.driver().MemcpyAsync(to, from, bytes, stream)));
    } else if (gemm.k == 0) {
      return gpu.Check("cuMemsetD8Async", gpu.driver().MemsetD8Async(to, 0, bytes, stream));
    }
    return gemm.k == 0 ? absl::OkStatus() : CublasMultiply(gpu, stream, gemm);
  };
  if (result.bytes() > 0) GYRE_RETURN_IF_ERROR(device->compute().Launch(start));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status MatMul(KernelContext& ctx) { return Multiply(ctx, &MatMulProduct, nullptr); }
absl::Status MatMulAdd(KernelContext& ctx) { return Multiply(ctx, &MatMulProduct, &ctx.input(2)); }
absl::Status BatchMatMul(KernelContext& ctx) { return Multiply(ctx, &BatchMatMulProduct, nullptr); }

}  // namespace

MaybeKernel MakeProductKernel(const Node& node) {
  const GpuOp* const op = FindGpuOp(node);
  if (op == nullptr || (op->sort != GpuSort::kProduct && op->sort != GpuSort::kBatchProduct))
    return std::nullopt;
  const DType dtype = node.signature.outputs[0].dtype;
  if (!IsCublasType(dtype))
    return NoKernel(node, absl::StrCat("cuBLAS multiplies no ", DTypeName(dtype)));
  if (!TheCublas().ok()) return NoKernel(node, TheCublas().status().message());
  if (op->sort == GpuSort::kBatchProduct) return Compute<&BatchMatMul>()(node);
  return node.signature.inputs.size() > 2 ? Compute<&MatMulAdd>()(node) : Compute<&MatMul>()(node);
}

}  // namespace gyre::cuda

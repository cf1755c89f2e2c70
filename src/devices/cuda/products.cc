#include "devices/cuda/products.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/cublas.h"
#include "devices/cuda/cuda_device.h"
#include "ops/gpu_ops.h"
#include "ops/linalg/gemm.h"

namespace gyre::cuda {
namespace {

// Of inputs 0 and 1; if `kAdds`, added to input 2.
template <typename Attrs, bool kAdds>
absl::Status Multiply(KernelContext& ctx, const Attrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  GYRE_ASSIGN_OR_RETURN(const Tensor a, device->There(ctx, ctx.input(0)));
  GYRE_ASSIGN_OR_RETURN(const Tensor b, device->There(ctx, ctx.input(1)));
  GYRE_ASSIGN_OR_RETURN(MatrixProduct product, ProductOf(attrs, a, b));
  Tensor sum;
  if (kAdds) {
    GYRE_RETURN_IF_ERROR(CheckSum(product, ctx.input(2)));
    GYRE_ASSIGN_OR_RETURN(sum, device->There(ctx, ctx.input(2)));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor result, device->MakeResult(ctx, product.gemm.dtype, product.shape));
  GemmBatch& gemm = product.gemm;
  gemm.c = result.mutable_raw_data();
  gemm.add = kAdds;
  const auto from = kAdds ? reinterpret_cast<Address>(sum.raw_data()) : Address{0};
  const auto start = [&gpu = device->gpu(), gemm, bytes = result.bytes(),
                      from](StreamHandle stream) -> absl::Status {
    const auto to = reinterpret_cast<Address>(gemm.c);
    if (kAdds) {
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

}  // namespace

MaybeKernel MakeProductKernel(const Node& node) {
  const GpuOp* const op = FindGpuOp(node);
  if (op == nullptr || (op->sort != GpuSort::kProduct && op->sort != GpuSort::kBatchProduct))
    return std::nullopt;
  const DType dtype = node.signature.outputs[0].dtype;
  if (!IsCublasType(dtype))
    return NoKernel(node, absl::StrCat("cuBLAS multiplies no ", DTypeName(dtype)));
  if (!TheCublas().ok()) return NoKernel(node, TheCublas().status().message());
  if (op->sort == GpuSort::kBatchProduct)
    return Compute<&Multiply<BatchMatMulAttrs, false>>()(node);
  return node.signature.inputs.size() > 2 ? Compute<&Multiply<MatMulAttrs, true>>()(node)
                                          : Compute<&Multiply<MatMulAttrs, false>>()(node);
}

}  // namespace gyre::cuda

#include "devices/cuda/softmax.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/code.h"
#include "devices/cuda/cuda_device.h"
#include "ops/gpu_ops.h"
#include "ops/gpu_tables.h"
#include "ops/registry.h"

namespace gyre::cuda {
namespace {

struct SoftmaxKernel {
  std::shared_ptr<Code> code;
  Kernel host;
};

absl::Status Run(KernelContext& ctx, const void* attrs) {
  const auto& self = *static_cast<const SoftmaxKernel*>(attrs);
  // Scalars are, and are an error.
  if (AreAllOnHost(ctx)) return RunOnHost(ctx, self.host);
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  GYRE_ASSIGN_OR_RETURN(const Tensor logits, device->There(ctx, ctx.input(0)));
  GYRE_ASSIGN_OR_RETURN(Tensor result, device->MakeResult(ctx, logits.dtype(), logits.shape()));
  if (result.num_elements() > 0) {
    GpuRows table;
    GYRE_ASSIGN_OR_RETURN(table.input, AddressOf(logits));
    table.output = reinterpret_cast<uint64_t>(result.raw_data());
    table.size = static_cast<uint64_t>(logits.dim(logits.rank() - 1));
    table.rows = static_cast<uint64_t>(logits.num_elements()) / table.size;
    const auto threads = static_cast<unsigned>(
        std::bit_ceil(std::clamp<uint64_t>(table.size, 32, GpuRows::kThreads)));
    const Grid grid = {
        .blocks = static_cast<unsigned>(std::min<uint64_t>(table.rows, uint64_t{1} << 16)),
        .threads = threads,
        .shared = threads * static_cast<unsigned>(sizeof(double))};
    GYRE_RETURN_IF_ERROR(Code::Launch(device->compute(), self.code, grid, table));
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace

MaybeKernel MakeSoftmaxKernel(const Node& node) {
  const GpuOp* const op = FindGpuOp(node);
  if (op == nullptr || op->sort != GpuSort::kSoftmax) return std::nullopt;
  absl::StatusOr<Kernel> host = Ops().MakeKernel(node);
  if (!host.ok()) return host.status();
  auto code = LibraryCode(
      absl::StrCat("gyre_", node.op_name, "_", DTypeName(node.signature.inputs[0].dtype)));
  if (!code.ok()) return NoKernel(node, code.status().message());
  auto self = std::make_shared<SoftmaxKernel>(SoftmaxKernel{*std::move(code), *std::move(host)});
  return Kernel{.run = &Run, .attrs = std::move(self)};
}

}  // namespace gyre::cuda

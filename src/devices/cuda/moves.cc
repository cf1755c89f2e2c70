#include "devices/cuda/moves.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/code.h"
#include "devices/cuda/cuda_device.h"
#include "ops/device_memory.h"
#include "ops/gpu_ops.h"
#include "ops/gpu_tables.h"
#include "ops/registry.h"

namespace gyre::cuda {
namespace {

struct MoveKernel {
  const GpuOp* op = nullptr;
  Kernel host;
};

bool IsOnHost(const GpuOp& op, int input, int num_inputs) {
  return op.reads_all ||
         absl::c_any_of(op.on_host, [&](int i) { return (i < 0 ? i + num_inputs : i) == input; });
}

// Runs the CPU's kernel on these inputs, with results in the memory of `allocator`; null: the
// host's.
absl::StatusOr<std::vector<Tensor>> RunWith(const KernelContext& ctx, const Kernel& kernel,
                                            std::vector<Tensor> inputs, Allocator* allocator) {
  RunEnv env = ctx.env();
  env.allocator = allocator;
  std::vector<Tensor> outputs(static_cast<size_t>(ctx.num_outputs()));
  KernelContext inner(ctx.node(), env, ctx.tag(), absl::MakeSpan(inputs), absl::MakeSpan(outputs));
  GYRE_RETURN_IF_ERROR(kernel.run(inner, kernel.attrs.get()));
  return outputs;
}

// Whether of one element a scalar may become, which is the host's.
bool MayBecomeScalar(const KernelContext& ctx, const GpuOp& op) {
  if (op.grows || op.results_on_host || ctx.input(0).num_elements() != 1) return false;
  return !op.is_shaped || ctx.input(1).num_elements() == 0;
}

absl::Status Run(KernelContext& ctx, const void* attrs) {
  const auto& self = *static_cast<const MoveKernel*>(attrs);
  const GpuOp& op = *self.op;
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  std::vector<Tensor> inputs;
  bool on_host = true;  // what is moved
  const bool fetches = MayBecomeScalar(ctx, op);
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const bool is_read = fetches || IsOnHost(op, i, ctx.num_inputs());
    GYRE_ASSIGN_OR_RETURN(Tensor input, is_read ? InputOnHost(ctx, i) : ctx.input(i));
    on_host &= is_read || input.device() == nullptr;
    inputs.push_back(std::move(input));
  }
  const DType dtype = ctx.num_outputs() > 0 ? ctx.output_dtype(0) : DType::kInvalid;
  const bool is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
  if (op.results_on_host || (on_host && (!op.grows || is_integer))) {
    GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                          RunWith(ctx, self.host, std::move(inputs), nullptr));
    for (int i = 0; i < ctx.num_outputs(); ++i)
      ctx.set_output(i, std::move(made[static_cast<size_t>(i)]));
    return absl::OkStatus();
  }
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    Tensor& input = inputs[static_cast<size_t>(i)];
    if (IsOnHost(op, i, ctx.num_inputs()) || input.is_inline()) continue;
    GYRE_ASSIGN_OR_RETURN(input, device->There(ctx, input));
  }
  GYRE_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                        RunWith(ctx, self.host, std::move(inputs), &device->kernel_allocator()));
  for (int i = 0; i < ctx.num_outputs(); ++i)
    ctx.set_output(i, std::move(made[static_cast<size_t>(i)]));
  return absl::OkStatus();
}

uint64_t AddressAt(const Tensor& value, int64_t offset) {
  return reinterpret_cast<uint64_t>(value.raw_data()) +
         static_cast<uint64_t>(offset) * DTypeSize(value.dtype());
}

// See DeviceMemory.
absl::Status Copy(const KernelContext& ctx, const Tensor& src, int64_t src_offset, Tensor& dst,
                  int64_t dst_offset, const StridedAxes& axes) {
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  const size_t bytes = DTypeSize(src.dtype());
  if (dst.device() == nullptr) {
    // A scalar, which is the host's.
    return device->Fetch(
        ctx, reinterpret_cast<const void*>(AddressAt(src, src_offset)),
        static_cast<char*>(dst.mutable_raw_data()) + static_cast<size_t>(dst_offset) * bytes,
        bytes);
  }
  Tensor from = src;
  if (src.is_inline()) {
    Tensor vector = *Tensor::Make(src.dtype(), Shape::Vector(1));
    std::memcpy(vector.mutable_raw_data(), src.raw_data(), bytes);
    from = std::move(vector);
  }
  GYRE_ASSIGN_OR_RETURN(from, device->There(ctx, from));
  if (axes.size() > GpuMove::kMostDims)
    return absl::UnimplementedError("moves along so many dimensions are not made on GPUs");
  GpuMove table;
  table.input = AddressAt(from, src_offset);
  table.output = AddressAt(dst, dst_offset);
  table.rank = axes.size();
  table.n = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    const StridedAxis& axis = axes[axes.size() - 1 - d];
    table.sizes[d] = static_cast<uint64_t>(axis.size);
    table.from[d] = axis.src;
    table.to[d] = axis.dst;
    table.n *= static_cast<uint64_t>(axis.size);
  }
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<Code> code,
                        LibraryCode(absl::StrCat("gyre_move_", bytes)));
  constexpr unsigned kThreads = 256;
  constexpr uint64_t kMostBlocks = 4096;  // each thread moves more than one element then
  const Grid grid = {
      .blocks = static_cast<unsigned>(std::min(kMostBlocks, (table.n + kThreads - 1) / kThreads)),
      .threads = kThreads};
  return Code::Launch(device->compute(), code, grid, table);
}

absl::Status Clear(const KernelContext& ctx, Tensor& to) {
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  if (to.bytes() == 0) return absl::OkStatus();
  const auto start = [&gpu = device->gpu(), at = reinterpret_cast<Address>(to.raw_data()),
                      bytes = to.bytes()](StreamHandle stream) {
    return gpu.Check("cuMemsetD8Async", gpu.driver().MemsetD8Async(at, 0, bytes, stream));
  };
  return device->compute().Launch(start);
}

}  // namespace

MaybeKernel MakeMoveKernel(const Node& node) {
  const GpuOp* const op = FindGpuOp(node);
  if (op == nullptr || op->sort != GpuSort::kMove) return std::nullopt;
  for (const auto* slots : {&node.signature.inputs, &node.signature.outputs}) {
    for (const NodeSignature::Slot& slot : *slots) {
      if (slot.is_ref || !IsTrivial(slot.dtype))
        return NoKernel(node, absl::StrCat("their memory holds no ", DTypeName(slot.dtype)));
    }
  }
  absl::StatusOr<Kernel> host = Ops().MakeKernel(node);
  if (!host.ok()) return host.status();
  if (host->run == nullptr) return NoKernel(node, "it waits for something");
  if (const auto code = LibraryCode("gyre_move_4"); !code.ok())
    return NoKernel(node, code.status().message());
  auto self = std::make_shared<MoveKernel>(MoveKernel{op, *std::move(host)});
  return Kernel{.run = &Run, .attrs = std::move(self)};
}

void UseCudaMemory() { UseDeviceMemory({.copy = &Copy, .clear = &Clear}); }

}  // namespace gyre::cuda

#include "devices/cuda/reductions.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/code.h"
#include "devices/cuda/cuda_device.h"
#include "ops/gpu_ops.h"
#include "ops/gpu_tables.h"
#include "ops/reduction/reduce.h"
#include "ops/registry.h"

namespace gyre::cuda {
namespace {

// Fewer elements are a thread's work.
constexpr int64_t kLeastOfBlock = 64;
// As many blocks or threads keep a GPU busy. Results are made in parts where there are fewer, but
// not of fewer elements than these.
constexpr int64_t kBusyBlocks = 1024, kBusyThreads = int64_t{1} << 16;
constexpr int64_t kLeastPartOfBlock = 4096, kLeastPartOfThread = 32;
constexpr unsigned kThreadsTogether = 128;  // of blocks whose threads have nothing in common

// What one node's kernel works with.
struct ReductionKernel {
  bool keep_dims = false;
  std::string name;  // of its kernels, but for how they work
  size_t acc_bytes = 0;
  Kernel host;
};

// Bytes of what parts of a result make: see compiled/gpu/reduce.h.
size_t AccBytes(const GpuOp& op, DType dtype) {
  if (dtype == DType::kHalf || dtype == DType::kBfloat16) return sizeof(float);
  return op.widens && !IsFloating(dtype) ? sizeof(uint64_t) : DTypeSize(dtype);
}

// Of the plan's runs the innermost is kept apart.
absl::Status SetRuns(const ReductionPlan::Runs& runs, int64_t inner, GpuRun* to, uint64_t& n) {
  if (runs.size() + 1 > GpuReduction::kMostRuns)
    return absl::UnimplementedError("reductions of so many dimensions are not computed on GPUs");
  n = 0;
  if (inner > 1) to[n++] = {static_cast<uint64_t>(inner), 1};
  for (const ReductionPlan::Run& run : runs)
    to[n++] = {static_cast<uint64_t>(run.size), static_cast<uint64_t>(run.stride)};
  return absl::OkStatus();
}

// Threads that combine n elements of each block's: a power of two.
unsigned ThreadsFor(uint64_t n) {
  return std::clamp<unsigned>(
      static_cast<unsigned>(std::bit_ceil(std::min<uint64_t>(n, 1024) / 2 + 1)), 32,
      GpuReduction::kThreads);
}

unsigned BlocksFor(uint64_t n) {
  return static_cast<unsigned>(std::clamp<uint64_t>(n, 1, uint64_t{1} << 16));
}

absl::Status Launch(CudaDevice& device, const std::string& name, Grid grid,
                    const GpuReduction& table) {
  GYRE_ASSIGN_OR_RETURN(const std::shared_ptr<Code> code, LibraryCode(name));
  return Code::Launch(device.compute(), code, grid, table);
}

absl::Status Reduce(const KernelContext& ctx, CudaDevice& device, const ReductionKernel& self,
                    const Tensor& input, const ReducedDims& reduced, uint64_t output,
                    int64_t outputs) {
  const ReductionPlan plan(input.shape(), reduced);
  const int64_t count = input.num_elements() == 0 ? 0 : plan.count();
  GpuReduction table;
  GYRE_ASSIGN_OR_RETURN(table.input, AddressOf(input));
  table.output = output;
  table.outputs = static_cast<uint64_t>(outputs);
  table.count = static_cast<uint64_t>(count);
  GYRE_RETURN_IF_ERROR(
      SetRuns(plan.kept, plan.inner_reduced ? 1 : plan.inner, table.kept, table.num_kept));
  GYRE_RETURN_IF_ERROR(
      SetRuns(plan.reduced, plan.inner_reduced ? plan.inner : 1, table.reduced, table.num_reduced));
  const bool by_blocks = plan.inner_reduced && count >= kLeastOfBlock;
  const int64_t parts = by_blocks ? std::min(kBusyBlocks / outputs, count / kLeastPartOfBlock)
                                  : std::min(kBusyThreads / outputs, count / kLeastPartOfThread);
  table.parts = static_cast<uint64_t>(std::max<int64_t>(parts, 1));
  Tensor made;  // given back at once: what uses it is in the stream by then
  if (table.parts > 1) {
    const int64_t bytes = outputs * parts * static_cast<int64_t>(self.acc_bytes);
    GYRE_ASSIGN_OR_RETURN(made, device.MakeResult(ctx, DType::kUint8, Shape::Vector(bytes)));
    table.parts_at = reinterpret_cast<uint64_t>(made.raw_data());
  }
  const uint64_t units = table.outputs * table.parts;
  if (by_blocks) {
    const unsigned threads = ThreadsFor(table.count / table.parts);
    GYRE_RETURN_IF_ERROR(Launch(device, absl::StrCat(self.name, "_blocks"),
                                {.blocks = BlocksFor(units),
                                 .threads = threads,
                                 .shared = threads * static_cast<unsigned>(self.acc_bytes)},
                                table));
  } else {
    GYRE_RETURN_IF_ERROR(
        Launch(device, absl::StrCat(self.name, "_threads"),
               {.blocks = BlocksFor((units + kThreadsTogether - 1) / kThreadsTogether),
                .threads = kThreadsTogether},
               table));
  }
  if (table.parts == 1) return absl::OkStatus();
  const unsigned threads = ThreadsFor(table.parts);
  return Launch(device, absl::StrCat(self.name, "_parts"),
                {.blocks = BlocksFor(table.outputs),
                 .threads = threads,
                 .shared = threads * static_cast<unsigned>(self.acc_bytes)},
                table);
}

absl::Status Run(KernelContext& ctx, const void* attrs) {
  const auto& self = *static_cast<const ReductionKernel*>(attrs);
  if (AreAllOnHost(ctx)) return RunOnHost(ctx, self.host);
  GYRE_ASSIGN_OR_RETURN(CudaDevice* const device, CudaDevice::Of(ctx));
  GYRE_ASSIGN_OR_RETURN(const Tensor axes, InputOnHost(ctx, 1));
  GYRE_ASSIGN_OR_RETURN(const Tensor input, device->There(ctx, ctx.input(0)));
  GYRE_ASSIGN_OR_RETURN(const ReducedDims reduced, ReducedDimsOf(axes, input.rank()));
  const Shape shape = ReducedShape(input.shape(), reduced, self.keep_dims);
  const bool is_scalar = shape.IsScalar();
  if (!is_scalar && ReducesNothing(input.shape(), reduced)) {
    ctx.set_output(0, input.Reshaped(shape));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(
      Tensor result, device->MakeResult(ctx, input.dtype(), is_scalar ? Shape::Vector(1) : shape));
  if (result.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(Reduce(ctx, *device, self, input, reduced,
                                reinterpret_cast<uint64_t>(result.raw_data()),
                                result.num_elements()));
  }
  if (is_scalar) {
    GYRE_ASSIGN_OR_RETURN(Tensor scalar, Tensor::Make(result.dtype(), Shape()));
    GYRE_RETURN_IF_ERROR(
        device->Fetch(ctx, result.raw_data(), scalar.mutable_raw_data(), scalar.bytes()));
    result = std::move(scalar);
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace

MaybeKernel MakeReductionKernel(const Node& node) {
  const GpuOp* const op = FindGpuOp(node);
  if (op == nullptr || op->sort != GpuSort::kReduction) return std::nullopt;
  const DType dtype = node.signature.inputs[0].dtype;
  absl::StatusOr<Kernel> host = Ops().MakeKernel(node);
  if (!host.ok()) return host.status();
  auto self = std::make_shared<ReductionKernel>();
  self->keep_dims = NodeAttr<bool>(node, "keep_dims");
  self->name = absl::StrCat("gyre_", node.op_name, "_", DTypeName(dtype));
  self->acc_bytes = AccBytes(*op, dtype);
  self->host = *std::move(host);
  const auto code = LibraryCode(absl::StrCat(self->name, "_threads"));
  if (!code.ok())
    return NoKernel(node, absl::StrCat("of ", DTypeName(dtype), ": ", code.status().message()));
  return Kernel{.run = &Run, .attrs = std::move(self)};
}

}  // namespace gyre::cuda

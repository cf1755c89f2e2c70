// CudaDevice: a GPU as a Device, for its kernels.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "devices/cuda/memory.h"
#include "devices/cuda/stream.h"
#include "devices/device_type.h"
#include "ops/kernel.h"

namespace gyre::cuda {

class CudaDevice final : public Device {
 public:
  CudaDevice(Gpu& gpu, const DeviceOptions& options);
  absl::Status Open() { return allocator_.Open(); }

  // The one that runs this kernel. Requirement: a kernel of CUDA devices alone asks; INTERNAL
  // otherwise.
  static absl::StatusOr<CudaDevice*> Of(const KernelContext& ctx);

  // Short vectors of integers, as dimensions and axes are.
  bool TakesFromHost(const Tensor& value) const override;
  Allocator& allocator() override { return allocator_; }
  Allocator& kernel_allocator() override { return allocator_.for_compute(); }
  Allocator& host_allocator() override;
  MemoryStats memory() const override { return allocator_.stats(); }
  Copier& copier() override { return copier_; }
  Stream& stream(StreamUse use) override { return streams_[static_cast<int>(use)]; }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<CudaStream>(gpu_); }

  // For kernels, which are put into compute(): what they read and write must be memory that is
  // complete before, or is made by what is in there. They keep nothing until they are done.
  Gpu& gpu() { return gpu_; }
  CudaStream& compute() { return streams_[static_cast<int>(StreamUse::kCompute)]; }
  // A tensor that kernels are about to write, charged to the run's budget. (Where nothing else runs
  // them, as in a test, the environment may have another allocator of the device's.)
  absl::StatusOr<Tensor> MakeResult(const KernelContext& ctx, DType dtype, const Shape& shape) {
    return Tensor::Make(dtype, shape,
                        {.allocator = &kernel_allocator(), .budget = ctx.env().budget});
  }
  // `value`, where kernels can use it: itself, or a copy of what is the host's. No scalar.
  absl::StatusOr<Tensor> There(const KernelContext& ctx, const Tensor& value);
  // Copies `bytes` from the device to the host once what is in compute() by now is done, for which
  // this thread waits, or until the run is cancelled.
  absl::Status Fetch(const KernelContext& ctx, const void* from, void* to, size_t bytes);

 private:
  Gpu& gpu_;
  CudaAllocator allocator_;
  CudaCopier copier_;
  CudaStream streams_[3];  // by StreamUse
};

}  // namespace gyre::cuda

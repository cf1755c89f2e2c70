// What the CPU's kernels do to elements that are in a discrete device's memory, where they do
// nothing but move them: the layer of devices, above this one, does it. So kernels that come down
// to CopyStrided and AllocateZeros are such a device's, too.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "gyre/core/tensor.h"
#include "ops/array/layout.h"
#include "ops/kernel.h"

namespace gyre {

struct DeviceMemory {
  // As CopyStrided, where `dst` or `src`, or both, are in the memory of the device that runs the
  // kernel. No axis is empty, and there is one at least.
  absl::Status (*copy)(const KernelContext& ctx, const Tensor& src, int64_t src_offset, Tensor& dst,
                       int64_t dst_offset, const StridedAxes& axes) = nullptr;
  // Sets all bytes of `to`, which is there, to 0.
  absl::Status (*clear)(const KernelContext& ctx, Tensor& to) = nullptr;
};

// The process's, from then on. Before any kernel runs on such a device.
void UseDeviceMemory(const DeviceMemory& memory);
const DeviceMemory& TheDeviceMemory();

}  // namespace gyre

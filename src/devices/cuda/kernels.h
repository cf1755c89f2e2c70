// The kernels of CUDA devices.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre::cuda {

// As DeviceType::kernel. Thread-safe.
absl::StatusOr<Kernel> MakeKernel(const Node& node);

// That there is no kernel of the node, and why.
absl::Status NoKernel(const Node& node, absl::string_view why);

// The kernel's inputs are the host's, and so are its results: what the CPU's kernel makes of them.
absl::Status RunOnHost(KernelContext& ctx, const Kernel& host);
bool AreAllOnHost(const KernelContext& ctx);

// Input `i` on the host, where it is, or once it has come there: this thread waits for it.
absl::StatusOr<Tensor> InputOnHost(const KernelContext& ctx, int i);

// The address of a tensor's elements on the device; INTERNAL if they are the host's.
absl::StatusOr<uint64_t> AddressOf(const Tensor& value);

// One sort of kernels: nothing if the node's op has none of them, else its kernel, or
// UNIMPLEMENTED, saying why there is none.
using MaybeKernel = std::optional<absl::StatusOr<Kernel>>;

}  // namespace gyre::cuda

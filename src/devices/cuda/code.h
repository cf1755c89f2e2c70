// Code: a kernel, as PTX, and on the GPUs that have run it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/cuda/gpu.h"
#include "devices/cuda/stream.h"
#include "ops/scalar_code.h"

namespace gyre::cuda {

// The code generator, which a layer above this one has: each gives a module as PTX; UNIMPLEMENTED,
// saying why, where there is no such kernel.
struct PtxMaker {
  // With one kernel, gyre_elementwise, that takes an ElementwiseTable (ops/elementwise_table.h):
  // around this function of one element. Bytes are those of elements.
  absl::StatusOr<std::string> (*of_code)(const ScalarCode& code,
                                         absl::Span<const size_t> input_bytes,
                                         size_t output_bytes) = nullptr;
  // The same for a function that is written for GPUs (compiled/gpu/functions.h), by its name.
  absl::StatusOr<std::string> (*of_function)(const std::string& function,
                                             absl::Span<const size_t> input_bytes,
                                             size_t output_bytes) = nullptr;
  // With a kernel that is written for GPUs (compiled/gpu), by its name.
  absl::StatusOr<std::string> (*kernel)(const std::string& name) = nullptr;
};

// The process's, from then on. Before any is asked for.
void UsePtxMaker(const PtxMaker& maker);
const PtxMaker& ThePtxMaker();

// Whether the driver runs kernels: that of tests may not.
bool RunsKernels();

// How many threads run a kernel.
struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;  // of a block
  unsigned shared = 0;   // bytes that these share
};

class Code;
// A kernel that is written for GPUs, by its name: the same one each time. UNIMPLEMENTED, saying
// why, without it. Thread-safe.
absl::StatusOr<std::shared_ptr<Code>> LibraryCode(const std::string& name);

// Thread-safe. What it has loaded on a GPU stays there.
class Code {
 public:
  // `function` is one of the module whose text `ptx` is.
  Code(std::string ptx, std::string function)
      : ptx_(std::move(ptx)), function_(std::move(function)) {}

  // Puts the kernel, which takes one structure, into the stream.
  template <typename Parameter>
  static absl::Status Launch(CudaStream& stream, const std::shared_ptr<Code>& code, Grid grid,
                             const Parameter& parameter) {
    return stream.Launch([&gpu = stream.gpu(), code, grid, parameter](StreamHandle handle) {
      return code->LaunchOn(gpu, handle, grid, &parameter);
    });
  }

 private:
  // Requirement of both: `gpu` is current.
  absl::Status LaunchOn(const Gpu& gpu, StreamHandle stream, Grid grid, const void* parameter);
  absl::StatusOr<FunctionHandle> On(const Gpu& gpu);

  const std::string ptx_, function_;
  std::mutex mutex_;                                             // of who loads it
  std::array<std::atomic<FunctionHandle>, kMostGpus> loaded_{};  // by the GPU's number
};

}  // namespace gyre::cuda

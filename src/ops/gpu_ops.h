// Which ops GPUs have kernels of, beside elementwise ones, and what these are told of an op: the
// layer of devices has the kernels (src/devices/cuda).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

enum class GpuSort : uint8_t {
  kProduct,       // of two matrices; of three inputs, the last one is added to it
  kBatchProduct,  // of two batches of them
  kReduction,     // of input 0, along the axes that are input 1
  kSoftmax,       // of rows
  kMove,          // the CPU's kernel, whose elements are where they are (ops/device_memory.h)
};

struct GpuOp {
  absl::string_view op;
  GpuSort sort = GpuSort::kMove;
  // Of kReduction: integers are combined as ones of 64 bits.
  bool widens = false;
  // Of kMove: inputs that the kernel reads; negative: counted from behind the last.
  std::vector<int> on_host = {};
  bool reads_all = false;  // all inputs are such ones
  // It reads no elements but those of inputs on the host, and makes what others read there.
  bool results_on_host = false;
  bool grows = false;  // of what is small it may make what is large
  // Of one element a scalar comes only where input 1 is empty.
  bool is_shaped = false;
};

// Null: none that is there, but that of an elementwise op.
const GpuOp* FindGpuOp(const Node& node);

}  // namespace gyre

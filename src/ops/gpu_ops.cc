#include "ops/gpu_ops.h"

#include "absl/algorithm/container.h"

namespace gyre {

const GpuOp* FindGpuOp(const Node& node) {
  using enum GpuSort;
  static const auto* const ops = new std::vector<GpuOp>{
      {.op = "MatMul", .sort = kProduct},
      {.op = "_MatMulAdd", .sort = kProduct},
      {.op = "BatchMatMul", .sort = kBatchProduct},
      {.op = "BatchMatMulV2", .sort = kBatchProduct},
      {.op = "Sum", .sort = kReduction, .widens = true},
      {.op = "Mean", .sort = kReduction, .widens = true},
      {.op = "Prod", .sort = kReduction, .widens = true},
      {.op = "Max", .sort = kReduction},
      {.op = "Min", .sort = kReduction},
      {.op = "All", .sort = kReduction},
      {.op = "Any", .sort = kReduction},
      {.op = "Softmax", .sort = kSoftmax},
      {.op = "LogSoftmax", .sort = kSoftmax},
      {.op = "BroadcastTo", .on_host = {1}, .grows = true},
      {.op = "Concat", .on_host = {0}},
      {.op = "ConcatV2", .on_host = {-1}},
      {.op = "ExpandDims", .on_host = {1}},
      {.op = "Fill", .on_host = {0}, .grows = true},
      {.op = "Pack"},
      {.op = "Pad", .on_host = {1}, .grows = true},
      {.op = "PadV2", .on_host = {1}, .grows = true},
      {.op = "Reshape", .on_host = {1}, .is_shaped = true},
      {.op = "ReverseV2", .on_host = {1}},
      {.op = "Roll", .on_host = {1, 2}},
      {.op = "Slice", .on_host = {1, 2}},
      {.op = "Split", .on_host = {0}},
      {.op = "SplitV", .on_host = {1, 2}},
      {.op = "Squeeze"},
      {.op = "StridedSlice", .on_host = {1, 2, 3}},
      {.op = "StridedSliceGrad", .on_host = {0, 1, 2, 3}, .grows = true},
      {.op = "Tile", .on_host = {1}, .grows = true},
      {.op = "Transpose", .on_host = {1}},
      {.op = "Unpack"},
      {.op = "Rank", .results_on_host = true},
      {.op = "Shape", .results_on_host = true},
      {.op = "ShapeN", .results_on_host = true},
      {.op = "Size", .results_on_host = true},
      {.op = "BroadcastGradientArgs", .on_host = {0, 1}, .results_on_host = true},
      {.op = "ConcatOffset", .reads_all = true, .results_on_host = true},
      {.op = "InvertPermutation", .on_host = {0}, .results_on_host = true},
      {.op = "Range", .on_host = {0, 1, 2}, .results_on_host = true},
  };
  const auto it = absl::c_find_if(*ops, [&](const GpuOp& op) { return op.op == node.op_name; });
  return it == ops->end() ? nullptr : &*it;
}

}  // namespace gyre

#include "ops/list/row_part.h"

#include <utility>

#include "absl/strings/string_view.h"

namespace gyre {
namespace {

// x[i], and no other slice.
bool PicksOne(const Node& node) {
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"})
    if (node.attrs.GetOr<int64_t>(mask, 0) != 0) return false;
  return node.attrs.GetOr<int64_t>("shrink_axis_mask", 0) == 1;
}

bool Widens(const Node& node) {
  return node.signature.inputs[0].dtype == DType::kInt32 &&
         node.signature.outputs[0].dtype == DType::kInt64;
}

constexpr std::pair<absl::string_view, RowPart> kParts[] = {
    {"TensorListFromTensor", RowPart::kRows},
    {"TensorListReserve", RowPart::kReserve},
    {"EmptyTensorList", RowPart::kEmpty},
    {"TensorListGetItem", RowPart::kGet},
    {"TensorListSetItem", RowPart::kSet},
    {"TensorListPushBack", RowPart::kPush},
    {"TensorListStack", RowPart::kStack},
    {"Shape", RowPart::kShape},
    {"StridedSlice", RowPart::kPick},
    {"Less", RowPart::kLess},
    {"LogicalAnd", RowPart::kAnd},
    {"Maximum", RowPart::kMaximum},
    {"Cast", RowPart::kWiden}};

}  // namespace

RowPart RowPartOf(const Node& node) {
  if (node.op == nullptr) return RowPart::kOther;
  for (const auto& [name, part] : kParts) {
    if (node.op_name != name) continue;
    if (part == RowPart::kPick && !PicksOne(node)) return RowPart::kOther;
    if (part == RowPart::kWiden && !Widens(node)) return RowPart::kOther;
    // Says how many there have to be.
    if (part == RowPart::kStack && node.attrs.GetOr<int64_t>("num_elements", -1) >= 0)
      return RowPart::kOther;
    return part;
  }
  return RowPart::kOther;
}

}  // namespace gyre

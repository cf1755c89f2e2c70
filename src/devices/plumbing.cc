#include "devices/plumbing.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Moves values and looks at none but scalars, which are the host's.
bool IsPlumbing(const Node& node) {
  switch (node.kind()) {
    case OpKind::kLoopCond:
    case OpKind::kControlTrigger:
    case OpKind::kPlaceholder:
    case OpKind::kTransfer:
      return true;
    default:
      return node.kind() == OpKind::kNoOp || (node.op != nullptr && node.op->traits.forwards);
  }
}

absl::Status CheckTypes(const Node& node, absl::string_view type) {
  for (const auto* slots : {&node.signature.inputs, &node.signature.outputs}) {
    for (const NodeSignature::Slot& slot : *slots) {
      if (!slot.is_ref && IsTrivial(slot.dtype)) continue;
      return absl::UnimplementedError(absl::StrCat(
          "there is no kernel for ", node.op_name, " of ", slot.is_ref ? "a reference to " : "",
          DTypeName(slot.dtype), " on ", type, " devices, whose memory holds plain numbers alone"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kernel> MakePlumbingKernel(const Node& node, absl::string_view type) {
  if (!IsPlumbing(node)) {
    return absl::UnimplementedError(
        absl::StrCat("there is no kernel for ", node.op_name, " on ", type, " devices"));
  }
  GYRE_RETURN_IF_ERROR(CheckTypes(node, type));
  return Ops().MakeKernel(node);
}

}  // namespace gyre

// DeviceIndex: which of several devices this runs on.
#include <algorithm>

#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct DeviceIndexAttrs {
  int32_t index;
  explicit DeviceIndexAttrs(const Node& node) {
    const auto& names = NodeAttr<std::vector<std::string>>(node, "device_names");
    index = static_cast<int32_t>(std::find(names.begin(), names.end(), "CPU") - names.begin());
  }
};

absl::Status DeviceIndex(KernelContext& ctx, const DeviceIndexAttrs& attrs) {
  ctx.set_output(0, Tensor::Scalar<int32_t>(attrs.index));
  return absl::OkStatus();
}

}  // namespace

void RegisterDeviceIndex(OpRegistry& ops) {
  ops.Add({.schema = "DeviceIndex() -> index: int32 {device_names: list(string)}",
           .doc = "Position of this device's type in device_names; their number when it is not "
                  "among them.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its value is an integer"),
           .kernel = Compute<DeviceIndex>()});
}

}  // namespace gyre

#include "place/kernels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre::place {

MissingKernels::MissingKernels(const Function& function, absl::Span<const DeviceName> devices)
    : function_(function) {
  for (const DeviceName& device : devices) {
    const DeviceType* const type = FindDeviceType(device.type.value_or(""));
    int place = -1;
    if (type != nullptr && type->kernel != nullptr) {
      const auto it = std::find(types_.begin(), types_.end(), type);
      place = static_cast<int>(it - types_.begin());
      if (it == types_.end()) types_.push_back(type);
    }
    type_of_device_.push_back(place);
  }
  by_group_.assign(types_.size(), std::vector<Missing>(function.nodes.size()));
}

void MissingKernels::Add(NodeId node, NodeId group) {
  for (size_t t = 0; t < types_.size(); ++t) {
    Missing& missing = by_group_[t][group];
    if (missing.node >= 0) continue;
    missing.why = types_[t]->kernel(function_.node(node)).status();
    if (!missing.why.ok()) missing.node = node;
  }
}

const MissingKernels::Missing* MissingKernels::Find(NodeId group, int device) const {
  const int type = type_of_device_[device];
  if (type < 0 || by_group_[type][group].node < 0) return nullptr;
  return &by_group_[type][group];
}

std::string MissingKernels::Why(NodeId group, int device, NodeId node) const {
  const Missing* const missing = Find(group, device);
  if (missing == nullptr) return "";
  const std::string why(missing->why.message());
  if (missing->node == node) return why;
  return absl::StrCat("for node ", function_.node(missing->node).name,
                      ", which must stand with it, ", why);
}

}  // namespace gyre::place

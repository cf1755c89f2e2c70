// Which devices have kernels for what stands together.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "devices/device_name.h"
#include "devices/device_type.h"
#include "lower/lower.h"

namespace gyre::place {

// What of a type's kernels some groups of nodes lack. A value type; not thread-safe.
class MissingKernels {
 public:
  // Devices of types that this process does not know are taken to have all kernels.
  MissingKernels(const Function& function, absl::Span<const DeviceName> devices);

  // Notes what `node` needs, which stands in group `group`.
  void Add(NodeId node, NodeId group);
  // Whether `device` has a kernel for all of the group.
  bool CanRun(NodeId group, int device) const { return Find(group, device) == nullptr; }
  // Why it has not, for `node`, which is of the group: "there is no kernel for …". Empty: it has.
  std::string Why(NodeId group, int device, NodeId node) const;

 private:
  struct Missing {
    NodeId node = -1;  // the first of the group that there is no kernel for; -1: none
    absl::Status why;
  };
  const Missing* Find(NodeId group, int device) const;

  const Function& function_;
  std::vector<const DeviceType*> types_;        // that have not all kernels
  std::vector<int> type_of_device_;             // among those; -1: it has all
  std::vector<std::vector<Missing>> by_group_;  // by type and group
};

}  // namespace gyre::place

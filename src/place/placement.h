// Placement: on which device each node of a lowered function runs.
//
// What the program asks for holds (Node::device, in full or in part, also in bodies), for all nodes
// that stand together (place/groups.h); of a variable, a stack or an array, what its maker asks
// for, rather than its users. What asks for nothing: plumbing (Switch, Merge, …), constants,
// conditions of loops and what is saved for gradients follow their data, all else goes to the first
// device. Always, a device must have kernels for
// all of a group (DeviceType::kernel).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/index.h"
#include "devices/device_name.h"
#include "ir/frames.h"
#include "lower/lower.h"

namespace gyre::place {

// Among the devices that a program is placed on.
using DeviceIndex = Index<struct DeviceIndexTag, int32_t>;
inline constexpr DeviceIndex kNoDevice{-1};

struct PlaceOptions {
  // A request that no device meets, or none with the kernels, is dropped, rather than an error.
  bool soft = false;
  // For tests: not 0: groups go to devices drawn from this seed, whatever the program asks for.
  uint64_t spread_seed = 0;
  // What state asks for whose handle asks for nothing: see HomesOfState. Needed where devices do
  // not share what the session finds by name.
  std::map<std::string, std::string> homes;
};

struct Placement {
  // By node. kNoDevice: it is not needed, or stands on each device that uses it.
  std::vector<DeviceIndex> device;
  std::vector<std::string> why;  // by node, for people: "asks for /device:CPU:1"
};

// `devices`: full names, at least one. INVALID_ARGUMENT, naming the nodes, for requests that no
// device meets, that contradict each other within a group, or that are no names, and those without
// a kernel there.
absl::StatusOr<Placement> Place(const Lowered& lowered, const FrameTable& frames,
                                const std::vector<bool>& needed,
                                absl::Span<const DeviceName> devices, const PlaceOptions& options);

}  // namespace gyre::place

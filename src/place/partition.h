// Partition: a lowered function cut into one function per device.
//
// An edge between devices becomes a _Send and a _Recv that meet in the run's rendezvous, under a
// key that holds edge, frame and iteration; one pair per value and receiving device. Deadness
// travels along. A control edge sends an empty value.
//
//   device 0                          device 1
//   %v = …                            %v/recv/1 = _Recv(^%pivot)
//   _Send(%v)                         … = op(%v/recv/1)
//
// A frame runs on every device that has a node in it. Where there are several, each has a control
// loop, which makes the iterations follow each other as the predicate says: its own, or the one
// that the device that computes it sends. It also tells the receives within the frame when to wait
// for the next value.
//
//   pivot = Merge(Enter(true), next)
//   go    = LoopCond(_Recv(^pivot))        the predicate of the device that computes it
//   next  = NextIteration(Switch(pivot, go):1)
//
// What a loop does not change is sent once per frame: each device has an Enter of its own, of an
// empty value where nothing uses it but only waits for it. What is for a branch alone is sent in
// its turn, by way of an Identity that waits for the branch: if it is not taken, no value crosses.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "devices/device_name.h"
#include "ir/frames.h"
#include "lower/lower.h"
#include "place/placement.h"

namespace gyre::place {

struct Part {
  DeviceIndex device{0};
  Lowered lowered;
  // Which of the whole's feeds and fetches those of `lowered.signature` are.
  std::vector<int> feeds;
  std::vector<int> fetches;
};

// A value that travels: each counts once per receiving device.
struct Copy {
  // "node:slot"; "^node" for a control edge, "^node:slot" for one that waits for a value.
  std::string edge;
  DeviceIndex from{0};
  DeviceIndex to{0};
  int frame = 0;  // it is made in each of its iterations
};

struct Partition {
  std::vector<Part> parts;  // of devices that have something to do
  std::vector<Copy> copies;
};

// `frames`, `needed` and `placement` are of `lowered`, which the parts share the origins and scopes
// of. INTERNAL for a placement that tells apart what must stand together (place/groups.h).
absl::StatusOr<Partition> Cut(const OpLookup& ops, const Lowered& lowered, const FrameTable& frames,
                              const std::vector<bool>& needed, const Placement& placement,
                              absl::Span<const DeviceName> devices);

}  // namespace gyre::place

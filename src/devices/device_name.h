// DeviceName: which device, in full or in part.
//
//   /job:worker/replica:0/task:1/device:CPU:0     a device
//   /job:ps   /device:GPU:*   /cpu:1   CPU:1      any device that has these parts
//
// A value type.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"

namespace gyre {

struct GYRE_INTERNAL_EXPORT DeviceName {
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // in capitals: CPU, GPU
  std::optional<int> id;

  // INVALID_ARGUMENT for what is no name of the forms above. "" is any device.
  static absl::StatusOr<DeviceName> Parse(absl::string_view text);
  // A device of this process.
  static DeviceName Local(absl::string_view type, int id);

  // Whether all parts are there.
  bool IsFull() const { return job && replica && task && type && id; }
  // Whether `device` has all the parts that this name has.
  bool Matches(const DeviceName& device) const;
  // The parts of both. INVALID_ARGUMENT, naming both, where they differ.
  absl::StatusOr<DeviceName> Intersect(const DeviceName& other) const;
  std::string ToString() const;

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace gyre

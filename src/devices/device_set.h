// The devices of one process, as options name them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "devices/device_name.h"

namespace gyre {

// "cpu:4": /job:localhost/replica:0/task:0/device:CPU:0 to CPU:3. INVALID_ARGUMENT for other types,
// and for numbers that are not 1 to 1024.
absl::StatusOr<std::vector<DeviceName>> ParseDeviceSet(absl::string_view text);

}  // namespace gyre

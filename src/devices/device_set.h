// The devices of one process, as options name them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "devices/device_name.h"

namespace gyre {

// "cpu:4": /job:localhost/replica:0/task:0/device:CPU:0 to CPU:3; "cpu:2,null:1": these and
// NULL:0, in this order. INVALID_ARGUMENT, saying what there is, for types that there are not, for
// numbers that are not 1 to what this machine has of a type, for a type that is named twice, and
// where no device's memory is the host's: programs begin and end there. FAILED_PRECONDITION, with
// why, for types of which this machine has none.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::vector<DeviceName>> ParseDeviceSet(absl::string_view text);

}  // namespace gyre

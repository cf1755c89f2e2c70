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

// The device that a program asks for by `text`, in full or in part. INVALID_ARGUMENT for what is no
// name of one, and for a short one (/foo:0) of a type that neither this process nor anybody knows:
// one of another machine is written /device:FOO:0.
GYRE_INTERNAL_EXPORT absl::StatusOr<DeviceName> ParseAskedDevice(absl::string_view text);

}  // namespace gyre

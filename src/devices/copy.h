// Values from device to device.
#pragma once

#include "absl/status/statusor.h"
#include "devices/device.h"

namespace gyre {

// Whether `value` must be copied to be used on `to`; null: by the host. Devices that share the
// host's memory share values, and values without bytes in a device's memory (scalars, empty
// tensors, what is dead) are everywhere.
bool NeedsCopy(const Tensor& value, Device* to);

// A value that is on its way.
struct TensorCopy {
  Tensor value;   // its elements are there once `done` has happened, with OK
  EventPtr done;  // not null
};

// Begins to copy `value`, which is complete or will be by what is in its device's compute stream,
// to the memory of `to`; null: to the host's. Copies keep both memories alive until they are
// done. RESOURCE_EXHAUSTED if there is no room; INTERNAL for a value that is not plain bytes.
// Thread-safe.
absl::StatusOr<TensorCopy> CopyTensor(const Tensor& value, Device* to, MemoryBudget* budget);

}  // namespace gyre

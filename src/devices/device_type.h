// Types of devices, and this process's devices.
//
// A folder of src/devices is a type: src/devices/null/ defines `DeviceType NullDeviceType()`, and
// the build finds it (cmake/targets.cmake, gyre_device_types). README.md says how to add one.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "devices/device.h"
#include "devices/device_name.h"
#include "ops/kernel.h"

namespace gyre {

struct DeviceOptions {
  int64_t memory_limit = std::numeric_limits<int64_t>::max();  // bytes that are given out at once
};

struct DeviceType {
  std::string name;  // in capitals: "CPU"
  std::string doc;   // what it is, for people: a sentence without its end
  // Its devices' memory is one that the host cannot read and write: see devices/device.h.
  bool is_discrete = false;
  // How many this machine has, for `cpu:N`; 0: none, as where a driver is missing.
  std::function<int()> count;
  // Why there are none, where there are none: for people. May be null.
  std::function<std::string()> why_none;
  // Device number `id` of count(). Errors are the machine's.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(int id, const DeviceOptions&)> make;
  // The kernel of a node there. UNIMPLEMENTED, saying why, where there is none: such nodes are not
  // placed there. Null: the kernels of the op's registration.
  KernelFactory kernel;
};

// In order of name.
std::vector<const DeviceType*> DeviceTypes();
// Null when there is none of this name, in capitals.
const DeviceType* FindDeviceType(absl::string_view name);
// A type that comes later, from a plug-in or a test. ALREADY_EXISTS for a name that is taken.
absl::Status AddDeviceType(DeviceType type);

// The device of this process that has `name`'s type and number: made when it is first asked for,
// lives for ever. INVALID_ARGUMENT, naming the types that there are, where there is no such type;
// otherwise the errors of DeviceType::make.
absl::StatusOr<Device*> LocalDevice(const DeviceName& name);

}  // namespace gyre

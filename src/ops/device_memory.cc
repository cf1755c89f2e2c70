#include "ops/device_memory.h"

namespace gyre {
namespace {

DeviceMemory the_memory;

}  // namespace

void UseDeviceMemory(const DeviceMemory& memory) { the_memory = memory; }
const DeviceMemory& TheDeviceMemory() { return the_memory; }

}  // namespace gyre

// CPU: parts of the host, each with its own count of memory and its own queues on the process's
// threads.
#include "devices/counting_allocator.h"
#include "devices/device_type.h"
#include "devices/host_stream_device.h"

namespace gyre {
namespace {

constexpr int kMost = 1024;

class CpuAllocator final : public CountingAllocator {
 public:
  using CountingAllocator::CountingAllocator;

 private:
  void* AllocateBlock(size_t bytes) override { return HostAllocator().Allocate(bytes); }
  void DeallocateBlock(void* block, size_t bytes) override {
    HostAllocator().Deallocate(block, bytes);
  }
};

class CpuCopier final : public Copier {
 public:
  EventPtr ToDevice(Stream& stream, const void* host, void* device, size_t bytes) override {
    return Within(stream, host, device, bytes);
  }
  EventPtr ToHost(Stream& stream, const void* device, void* host, size_t bytes) override {
    return Within(stream, device, host, bytes);
  }
  EventPtr Within(Stream& stream, const void* from, void* to, size_t bytes) override {
    return CopyOnHost(stream, from, to, bytes);
  }
};

using CpuDevice = HostStreamDevice<CpuAllocator, CpuCopier, false>;

}  // namespace

DeviceType CpuDeviceType() {
  return {
      .name = "CPU",
      .doc = "a part of this machine's processors and memory",
      .count = [] { return kMost; },
      .make = [](int id, const DeviceOptions& options) -> absl::StatusOr<std::unique_ptr<Device>> {
        return std::make_unique<CpuDevice>("CPU", id, options);
      }};
}

}  // namespace gyre

// NULL: a discrete device that computes nothing: the template for others, and the one that tests
// have on every machine.
//
// Values go in, move through conditionals and loops, and come out. Its memory is some of the
// host's, under addresses that are none: whoever reads a value there without the Copier crashes at
// once, in every build, as with a device whose memory the host really cannot see.
#include "devices/counting_allocator.h"
#include "devices/device_type.h"
#include "devices/host_stream_device.h"
#include "devices/plumbing.h"

namespace gyre {
namespace {

constexpr int kMost = 1024;

// Set in no address that a process has: those of x86-64 repeat bit 47 (or 56) above it, and those
// of AArch64 with this bit are the kernel's.
constexpr uintptr_t kMark = uintptr_t{1} << 55;

void* DeviceAddress(void* host) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(host) | kMark);
}
void* HostAddress(const void* device) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(device) & ~kMark);
}

class NullAllocator final : public CountingAllocator {
 public:
  using CountingAllocator::CountingAllocator;

 private:
  void* AllocateBlock(size_t bytes) override {
    void* const block = HostAllocator().Allocate(bytes);
    return block == nullptr ? nullptr : DeviceAddress(block);
  }
  void DeallocateBlock(void* block, size_t bytes) override {
    HostAllocator().Deallocate(HostAddress(block), bytes);
  }
};

// Where another device would enqueue a transfer, this one has a thread of the host do it.
class NullCopier final : public Copier {
 public:
  EventPtr ToDevice(Stream& stream, const void* host, void* device, size_t bytes) override {
    return CopyOnHost(stream, host, HostAddress(device), bytes);
  }
  EventPtr ToHost(Stream& stream, const void* device, void* host, size_t bytes) override {
    return CopyOnHost(stream, HostAddress(device), host, bytes);
  }
  EventPtr Within(Stream& stream, const void* from, void* to, size_t bytes) override {
    return CopyOnHost(stream, HostAddress(from), HostAddress(to), bytes);
  }
};

using NullDevice = HostStreamDevice<NullAllocator, NullCopier, true>;

}  // namespace

DeviceType NullDeviceType() {
  return {
      .name = "NULL",
      .doc = "a device with a memory of its own that computes nothing, for tests",
      .is_discrete = true,
      .count = [] { return kMost; },
      .make = [](int id, const DeviceOptions& options) -> absl::StatusOr<std::unique_ptr<Device>> {
        return std::make_unique<NullDevice>("NULL", id, options);
      },
      .kernel = [](const Node& node) { return MakePlumbingKernel(node, "NULL"); }};
}

}  // namespace gyre

// HostStreamDevice: a device whose streams run on the host's threads, made of an allocator that
// counts, A, and a copier, C. Discrete: the host cannot read its memory.
#pragma once

#include <memory>
#include <string>

#include "devices/device.h"
#include "devices/host_stream.h"

namespace gyre {

template <typename A, typename C, bool kIsDiscrete>
class HostStreamDevice final : public Device {
 public:
  HostStreamDevice(std::string type, int id, const DeviceOptions& options)
      : Device(std::move(type), id),
        allocator_(name(), options.memory_limit, kIsDiscrete ? this : nullptr) {}

  Allocator& allocator() override { return allocator_; }
  MemoryStats memory() const override { return allocator_.stats(); }
  Copier& copier() override { return copier_; }
  Stream& stream(StreamUse use) override { return streams_[static_cast<int>(use)]; }
  std::unique_ptr<Stream> MakeStream() override { return std::make_unique<HostStream>(); }

 private:
  A allocator_;
  C copier_;
  HostStream streams_[3];  // by StreamUse
};

}  // namespace gyre

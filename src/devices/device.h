// Device: memory, and queues of work on it.
//
//   Device      where nodes run: an allocator, streams, a copier
//   Stream      work that is done in order, beside the host and beside other streams
//   Event       a moment in a stream: when all that was put into it before is done
//   Copier      bytes from memory to memory
//
// A device is *discrete* if the host's code cannot read and write its memory: then values reach and
// leave it by its Copier alone (devices/copy.h). All others share the host's memory, and values.
//
// Scalars of plain bytes are in no device's memory: they are part of the Tensor
// (gyre/core/tensor.h), as arguments are part of a call. So predicates and counters are the host's,
// wherever they are made.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Thread-safe. Happens once, and always: work that fails has a status, and work that a device gives
// up has one, too.
class Event {
 public:
  using Callback = std::function<void(const absl::Status&)>;

  virtual ~Event() = default;
  virtual bool HasHappened() const = 0;
  // Blocks until it has happened and the callbacks that it had by then are done. OK, or how that
  // work failed whose event it is.
  virtual absl::Status Wait() = 0;
  // Calls `callback` once it has happened, at once if it has, with what Wait returns: in the order
  // of the calls, on any thread, and without a lock held. A callback must not block, and must not
  // destroy the event's stream or device.
  virtual void Then(Callback callback) = 0;
};

using EventPtr = std::shared_ptr<Event>;

// Thread-safe: what one thread puts in stays in its order.
class Stream {
 public:
  // Waits for all that was put in.
  virtual ~Stream() = default;
  // Happens, with OK, once all that is in the stream by now is done or has failed.
  virtual EventPtr Record() = 0;
  // What is put in from now on begins once `event`, of whichever stream or device, has happened. It
  // begins even if that failed: who needs what was made asks the event.
  virtual void WaitFor(EventPtr event) = 0;
};

// Copies bytes in the order of a stream, which must be one of the copier's device. Both memories
// must stay until the event; no bytes at all are fine, wherever. Thread-safe.
class Copier {
 public:
  virtual ~Copier() = default;
  virtual EventPtr ToDevice(Stream& stream, const void* host, void* device, size_t bytes) = 0;
  virtual EventPtr ToHost(Stream& stream, const void* device, void* host, size_t bytes) = 0;
  // Within this device, or from another of its type to this one.
  virtual EventPtr Within(Stream& stream, const void* from, void* to, size_t bytes) = 0;
};

// What a device's allocator has given out.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes = 0;
  int64_t num_allocations = 0;  // so far
  int64_t limit = std::numeric_limits<int64_t>::max();
};

// Streams that every device has. Work in different ones overlaps.
enum class StreamUse : uint8_t { kCompute, kToDevice, kToHost };

// Thread-safe. Its allocator, streams and copier live as long as it does; its tensors, and the
// streams that MakeStream made, must be gone before.
class Device {
 public:
  Device(std::string type, int id) : type_(std::move(type)), id_(id) {}
  // Waits for all work.
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& type() const { return type_; }  // "CPU"
  int id() const { return id_; }                     // among those of its type in this process
  std::string name() const { return absl::StrCat(type_, ":", id_); }

  virtual Allocator& allocator() = 0;
  // For what kernels make: memory that the compute stream alone uses until it is given back.
  virtual Allocator& kernel_allocator() { return allocator(); }
  // Of the host's memory, what the copier copies from and to best: values that come back from the
  // device lie there. It may outlive the device.
  virtual Allocator& host_allocator() { return HostAllocator(); }
  virtual MemoryStats memory() const = 0;
  bool is_discrete() { return allocator().device() != nullptr; }
  // Whether this value, which the host has, stays there on a discrete device: its kernels look at
  // such values on the host (dimensions, axes), and copy them where they need them themselves.
  virtual bool TakesFromHost(const Tensor&) const { return false; }

  virtual Copier& copier() = 0;
  virtual Stream& stream(StreamUse use) = 0;
  virtual std::unique_ptr<Stream> MakeStream() = 0;

 private:
  const std::string type_;
  const int id_;
};

}  // namespace gyre

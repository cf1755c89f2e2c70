#include "devices/copy.h"

#include <cstring>
#include <utility>

#include "base/status.h"
#include "devices/host_stream.h"

namespace gyre {
namespace {

// Null: the host's memory.
Device* MemoryOf(Device* device) {
  return device != nullptr && device->is_discrete() ? device : nullptr;
}

Allocator* HostAllocatorFor(const Tensor& value) {
  return value.device() != nullptr ? &value.device()->host_allocator() : nullptr;
}

EventPtr FromHost(const Tensor& from, Device& to, Tensor& made) {
  return to.copier().ToDevice(to.stream(StreamUse::kToDevice), from.raw_data(),
                              made.mutable_raw_data(), made.bytes());
}

// Puts a copy into a stream of `device`, behind what makes `from`, the value to be copied.
template <typename Copy>
EventPtr AfterItsWork(const Tensor& from, Device& device, StreamUse use, const Copy& copy) {
  Stream& stream = device.stream(use);
  stream.WaitFor(from.device()->stream(StreamUse::kCompute).Record());
  return copy(stream);
}

EventPtr ToHost(const Tensor& from, Tensor& made) {
  Device& device = *from.device();
  return AfterItsWork(from, device, StreamUse::kToHost, [&](Stream& stream) {
    return device.copier().ToHost(stream, from.raw_data(), made.mutable_raw_data(), made.bytes());
  });
}

EventPtr Within(const Tensor& from, Device& to, Tensor& made) {
  return AfterItsWork(from, to, StreamUse::kToDevice, [&](Stream& stream) {
    return to.copier().Within(stream, from.raw_data(), made.mutable_raw_data(), made.bytes());
  });
}

// Between devices that know nothing of each other.
absl::StatusOr<EventPtr> ThroughHost(const Tensor& from, Device& to, Tensor& made,
                                     MemoryBudget* budget) {
  GYRE_ASSIGN_OR_RETURN(Tensor between,
                        Tensor::Make(from.dtype(), from.shape(),
                                     {.allocator = HostAllocatorFor(from), .budget = budget}));
  const EventPtr arrived = ToHost(from, between);
  auto done = std::make_shared<HostEvent>();
  // Who waits for `done` finds nothing held any more: what it needs until then, CopyTensor keeps.
  arrived->Then([between, made, &to, done](const absl::Status& status) mutable {
    const EventPtr there = status.ok() ? FromHost(between, to, made) : HappenedEvent(status);
    made = Tensor();
    there->Then([between = std::move(between), done](const absl::Status& last) mutable {
      between = Tensor();
      done->Happen(last);
    });
  });
  return done;
}

absl::StatusOr<EventPtr> Start(const Tensor& from, Device* to, Tensor& made, MemoryBudget* budget) {
  if (from.device() == nullptr) {
    if (to != nullptr) return FromHost(from, *to, made);
    std::memcpy(made.mutable_raw_data(), from.raw_data(), made.bytes());
    return HappenedEvent();
  }
  if (to == nullptr) return ToHost(from, made);
  if (to->type() == from.device()->type()) return Within(from, *to, made);
  return ThroughHost(from, *to, made, budget);
}

}  // namespace

bool NeedsCopy(const Tensor& value, Device* to) {
  if (!value.has_value() || value.is_inline() || value.device() == MemoryOf(to)) return false;
  return value.bytes() > 0;
}

absl::StatusOr<TensorCopy> CopyTensor(const Tensor& value, Device* to, MemoryBudget* budget) {
  if (!value.has_value() || !IsTrivial(value.dtype()))
    return BugError(
        absl::StrCat("a value of type ", DTypeName(value.dtype()), " was to be copied"));
  TensorCopy copy;
  GYRE_ASSIGN_OR_RETURN(
      copy.value,
      Tensor::Make(value.dtype(), value.shape(),
                   {.allocator = to == nullptr ? HostAllocatorFor(value) : &to->allocator(),
                    .budget = budget}));
  // A scalar that is in somebody else's buffer becomes part of the tensor.
  Device* const memory = copy.value.is_inline() ? nullptr : MemoryOf(to);
  if (copy.value.is_inline() && value.device() != nullptr)
    return BugError("a scalar is in a device's memory");
  GYRE_ASSIGN_OR_RETURN(copy.done, Start(value, memory, copy.value, budget));
  copy.done->Then([value, made = copy.value](const absl::Status&) {});
  return copy;
}

}  // namespace gyre

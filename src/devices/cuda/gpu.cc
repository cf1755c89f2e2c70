#include "devices/cuda/gpu.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/cuda/pinned_memory.h"
#include "devices/cuda/watcher.h"

namespace gyre::cuda {
namespace {

// Of the process that opened GPUs, this one is a child.
std::atomic<bool> is_forked{false};

void NoteForks() {
  static const bool noted = pthread_atfork(nullptr, nullptr, [] {
                              is_forked.store(true, std::memory_order_relaxed);
                            }) == 0;
  (void)noted;
}

}  // namespace

int Gpu::Count() {
  static const int count = [] {
    const absl::StatusOr<const Driver*>& driver = TheDriver();
    int there = 0;
    if (!driver.ok() || (*driver)->DeviceGetCount(&there) != Result::kSuccess) return 0;
    return std::min(there, kMostGpus);
  }();
  return count;
}

std::string Gpu::WhyNone() {
  const absl::StatusOr<const Driver*>& driver = TheDriver();
  return driver.ok() ? "the NVIDIA driver shows this process no GPU"
                     : std::string(driver.status().message());
}

absl::StatusOr<Gpu*> Gpu::Open(int number) {
  static auto* const mutex = new std::mutex;
  static auto* const open = new std::map<int, std::unique_ptr<Gpu>>;  // guarded by *mutex
  const std::lock_guard lock(*mutex);
  std::unique_ptr<Gpu>& gpu = (*open)[number];
  if (gpu == nullptr) {
    GYRE_ASSIGN_OR_RETURN(gpu, Make(number));
  }
  return gpu.get();
}

absl::StatusOr<std::unique_ptr<Gpu>> Gpu::Make(int number) {
  GYRE_RETURN_IF_ERROR(TheDriver().status());
  const Driver& driver = **TheDriver();
  const std::string name = absl::StrCat("CUDA:", number);
  const auto check = [&](const char* call, Result result) {
    return DriverStatus(driver, name, call, result);
  };
  NoteForks();
  DeviceId device = 0;
  GYRE_RETURN_IF_ERROR(check("cuDeviceGet", driver.DeviceGet(&device, number)));
  int has_pools = 0;
  GYRE_RETURN_IF_ERROR(check("cuDeviceGetAttribute",
                             driver.DeviceGetAttribute(&has_pools, kMemoryPoolsSupported, device)));
  if (has_pools == 0) {
    return absl::UnimplementedError(
        absl::StrCat(name, " has no memory pools (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)"));
  }
  Context context = nullptr;
  GYRE_RETURN_IF_ERROR(
      check("cuDevicePrimaryCtxRetain", driver.DevicePrimaryCtxRetain(&context, device)));
  try {
    return std::unique_ptr<Gpu>(new Gpu(driver, number, device, context));
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError(absl::StrCat("the machine has no thread left for ", name));
  }
}

Gpu::Gpu(const Driver& driver, int number, DeviceId device, Context context)
    : driver_(driver),
      number_(number),
      name_(absl::StrCat("CUDA:", number)),
      device_(device),
      context_(context),
      pinned_(std::make_unique<PinnedMemory>(*this)),
      watcher_(std::make_unique<Watcher>(*this)) {}

Gpu::Current::Current(const Gpu& gpu) : gpu_(gpu) {
  if (is_forked.load(std::memory_order_relaxed)) {
    status_ = absl::FailedPreconditionError(
        absl::StrCat(gpu.name_,
                     " is of no use in a child of fork(): start processes that use it "
                     "by other means, or fork before it is first used"));
    return;
  }
  status_ = gpu.Check("cuCtxPushCurrent", gpu.driver_.CtxPushCurrent(gpu.context_));
}

Gpu::Current::~Current() {
  Context popped = nullptr;
  if (status_.ok()) gpu_.driver_.CtxPopCurrent(&popped);
}

absl::StatusOr<EventHandle> Gpu::TakeEvent() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      const EventHandle event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  EventHandle event = nullptr;
  GYRE_RETURN_IF_ERROR(Check("cuEventCreate", driver_.EventCreate(&event, kEventDisableTiming)));
  return event;
}

void Gpu::GiveBack(EventHandle event) {
  const std::lock_guard lock(mutex_);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {  // then it is one less
  }
}

void Gpu::AccessPool(PoolHandle pool, int owner) const {
  DeviceId peer = 0;
  int can = 0;
  if (owner == number_ || driver_.DeviceGet(&peer, owner) != Result::kSuccess ||
      driver_.DeviceCanAccessPeer(&can, device_, peer) != Result::kSuccess || can == 0)
    return;
  const Access access = {.location = {.id = device_}};
  driver_.MemPoolSetAccess(pool, &access, 1);  // it is as fast as it can be without
}

}  // namespace gyre::cuda

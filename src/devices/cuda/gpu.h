// Gpu: one GPU as this process has it open: its context, events to be used again, and the thread
// that sees its work come to an end.
//
// It is the primary context, which other libraries of the process share. It is kept open for ever:
// making it takes some hundred milliseconds, and pinned memory goes with it. A child of fork()
// cannot use it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "devices/cuda/driver.h"

namespace gyre::cuda {

class PinnedMemory;
class Watcher;

// Of one process. Machines have sixteen at most.
inline constexpr int kMostGpus = 64;

// Thread-safe.
class Gpu {
 public:
  // How many this process may use; 0 without a driver.
  static int Count();
  // Why there are none.
  static std::string WhyNone();
  // Number `number` of Count(). Errors are the machine's.
  static absl::StatusOr<Gpu*> Open(int number);

  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }  // "CUDA:0"
  int number() const { return number_; }
  PinnedMemory& pinned() { return *pinned_; }
  Watcher& watcher() { return *watcher_; }

  // How `call` has ended: see DriverStatus.
  absl::Status Check(absl::string_view call, Result result) const {
    if (result == Result::kSuccess) [[likely]]
      return absl::OkStatus();
    return DriverStatus(driver_, name_, call, result);
  }

  // While it lives, the driver's calls on this thread are for this GPU. What the thread had before
  // is its own again afterwards.
  class Current {
   public:
    explicit Current(const Gpu& gpu);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

    // FAILED_PRECONDITION in a child of fork().
    const absl::Status& status() const { return status_; }

   private:
    const Gpu& gpu_;
    absl::Status status_;
  };

  // An event that is nobody else's, to be given back. Requirement: this GPU is current.
  absl::StatusOr<EventHandle> TakeEvent();
  void GiveBack(EventHandle event);

  // Lets this GPU's copies reach memory of `pool`, which is one of another GPU, where the machine
  // can; where it cannot, the driver copies through the host.
  void AccessPool(PoolHandle pool, int owner) const;

 private:
  Gpu(const Driver& driver, int number, DeviceId device, Context context);
  static absl::StatusOr<std::unique_ptr<Gpu>> Make(int number);

  const Driver& driver_;
  const int number_;
  const std::string name_;
  const DeviceId device_;
  const Context context_;
  std::mutex mutex_;
  std::vector<EventHandle> events_;  // guarded by mutex_
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace gyre::cuda

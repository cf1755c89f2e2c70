#include "exec/dataflow/devices.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "base/attention.h"
#include "base/env.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "devices/device_type.h"
#include "exec/dataflow/device_values.h"
#include "exec/dataflow/plan.h"
#include "exec/dataflow/runs.h"
#include "place/cut_program.h"

namespace gyre::dataflow {
namespace {

// What one device runs.
struct DevicePart {
  std::string name;  // of the device
  Device* device = nullptr;
  std::vector<int> feeds, fetches;  // which of the executable's
  std::unique_ptr<const RunsOfPlan> runs;
};

// Tells the run's observer on which device a node fired, and tells threads of devices apart. What
// the observer sees, it can read: if need be, a copy, which the thread that fired waits for.
class DeviceObserver final : public RunObserver {
 public:
  DeviceObserver(RunObserver& whole, const DevicePart& part, int first_thread, const RunEnv& env)
      : whole_(whole), part_(part), first_thread_(first_thread), env_(env) {}

  absl::Status OnFired(const Firing& firing) override {
    Firing here = firing;
    here.thread += first_thread_;
    here.device = part_.name;
    if (!part_.device->is_discrete()) return whole_.OnFired(here);
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                          CopyAll(firing.outputs, nullptr, *env_.cancellation, env_.budget));
    here.outputs = outputs;
    return whole_.OnFired(here);
  }
  void OnJoined(int thread, int64_t asked_nanos, int64_t joined_nanos) override {
    whole_.OnJoined(thread + first_thread_, asked_nanos, joined_nanos);
  }

 private:
  RunObserver& whole_;
  const DevicePart& part_;
  const int first_thread_;
  const RunEnv& env_;
};

// The outcome of a run's parts. Thread-safe.
class Outcome {
 public:
  explicit Outcome(size_t num_parts) : left_(num_parts) {}

  // A part has ended. What fails first is why the others are cancelled.
  void Note(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    if (!status.ok() && (status_.ok() || absl::IsCancelled(status_))) status_ = status;
    if (--left_ == 0) all_.notify_all();
  }
  absl::Status Wait() {
    std::unique_lock lock(mutex_);
    Attention::Wait(lock, all_, [this] { return left_ == 0; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  size_t left_;          // guarded by mutex_
  absl::Status status_;  // guarded by mutex_
};

class DeviceExecutable final : public Executable {
 public:
  DeviceExecutable(std::vector<DevicePart> parts, size_t num_fetches, int threads)
      : parts_(std::move(parts)), num_fetches_(num_fetches), threads_(threads) {
    for (const DevicePart& part : parts_) copies_ |= part.device->is_discrete();
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> feeds, RunEnv& env,
                                          const RunHooks& hooks) const override {
    std::vector<Tensor> results(num_fetches_);
    Outcome outcome(parts_.size());
    const auto end = [&](const absl::Status& status) {
      if (!status.ok()) env.cancellation->Cancel(status);  // for parts that wait for this one
      outcome.Note(status);
    };
    const auto run = [&](size_t p) {
      end(CatchOutOfMemory(kThisRun,
                           [&] { return RunPart(p, feeds, env, hooks, absl::MakeSpan(results)); }));
    };
    // A part may have to wait for any other: each has a thread at once, however many there are.
    for (size_t p = 1; p < parts_.size(); ++p) {
      try {
        ThreadPool::Shared().Submit([&run, p] { run(p); }, std::numeric_limits<int>::max());
      } catch (const std::bad_alloc&) {
        end(OutOfMemoryError(kThisRun));
      }
    }
    run(0);
    GYRE_RETURN_IF_ERROR(outcome.Wait());
    return results;
  }

 private:
  absl::Status RunPart(size_t p, absl::Span<const Tensor> feeds, const RunEnv& env,
                       const RunHooks& hooks, absl::Span<Tensor> results) const {
    const DevicePart& part = parts_[p];
    std::vector<Tensor> fed;
    for (const int feed : part.feeds) fed.push_back(feeds[feed]);
    RunEnv own = env;
    own.allocator = &part.device->kernel_allocator();
    RunHooks own_hooks = hooks;
    std::optional<DeviceObserver> observer;
    if (hooks.observer != nullptr) {
      observer.emplace(*hooks.observer, part, static_cast<int>(p) * threads_, env);
      own_hooks.observer = &*observer;
    }
    absl::StatusOr<std::vector<Tensor>> got =
        copies_ ? RunWithCopies(part, fed, own, own_hooks) : part.runs->Run(fed, own, own_hooks);
    if (!got.ok()) return got.status();
    for (size_t i = 0; i < part.fetches.size(); ++i)
      results[part.fetches[i]] = (*std::move(got))[i];
    return absl::OkStatus();
  }

  // Where some values are in memory that others cannot read.
  static absl::StatusOr<std::vector<Tensor>> RunWithCopies(const DevicePart& part,
                                                           absl::Span<const Tensor> feeds,
                                                           RunEnv& env, const RunHooks& hooks) {
    CopyingRendezvous rendezvous(*env.rendezvous, *part.device, *env.cancellation, env.budget);
    env.rendezvous = &rendezvous;
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> fed,
                          CopyAll(feeds, part.device, *env.cancellation, env.budget));
    GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> got, part.runs->Run(fed, env, hooks));
    return CopyAll(got, nullptr, *env.cancellation, env.budget);
  }

  const std::vector<DevicePart> parts_;
  bool copies_ = false;  // some part's device is discrete
  const size_t num_fetches_;
  const int threads_;  // of each part
};

// What other devices' parts do is there within this time, if it is there soon. On a machine with
// fewer cores than parts, looking out for it would keep it from coming.
int64_t SpinNanos(size_t num_parts) {
  constexpr int64_t kSpinNanos = 50'000;
  return num_parts <= static_cast<size_t>(NumProcessors()) ? kSpinNanos : 0;
}

// The numbers below `n` that some part lists, in order; these lists then hold places in that order.
std::vector<int> Renumber(int n, absl::Span<place::Part* const> parts,
                          std::vector<int> place::Part::* list) {
  std::vector<int> place_of(n, -1), listed;
  for (place::Part* part : parts) {
    for (const int number : part->*list) place_of[number] = 0;
  }
  for (int number = 0; number < n; ++number) {
    if (place_of[number] < 0) continue;
    place_of[number] = static_cast<int>(listed.size());
    listed.push_back(number);
  }
  for (place::Part* part : parts) {
    for (int& number : part->*list) number = place_of[number];
  }
  return listed;
}

}  // namespace

absl::StatusOr<PartsHere> CompileParts(std::shared_ptr<const Program> program,
                                       const RunSignature& signature, const EngineOptions& options,
                                       const std::vector<bool>& here) {
  GYRE_ASSIGN_OR_RETURN(place::CutProgram cut,
                        place::Cut(*program, signature, options.devices, options.place));
  std::vector<place::Part*> local;
  for (place::Part& part : cut.partition.parts) {
    if (here[part.device.value()]) local.push_back(&part);
  }
  PartsHere result;
  result.num_parts = static_cast<int>(cut.partition.parts.size());
  if (local.empty()) return result;
  RunSettings settings;
  settings.parallel = options.parallel;
  settings.parallel.threads =
      std::max<int>(1, options.parallel.threads / static_cast<int>(local.size()));
  settings.testing = options.testing;
  settings.pool = &ThreadPool::Shared();
  settings.spin_nanos = SpinNanos(local.size());
  result.feeds = Renumber(static_cast<int>(signature.feeds.size()), local, &place::Part::feeds);
  result.fetches =
      Renumber(static_cast<int>(signature.fetches.size()), local, &place::Part::fetches);
  std::vector<DevicePart> parts;
  for (place::Part* part : local) {
    const DeviceName& name = options.devices[part->device.value()];
    GYRE_ASSIGN_OR_RETURN(Device* const device, LocalDevice(name));
    GYRE_ASSIGN_OR_RETURN(auto plan, Plan::MakePart(program, std::move(part->lowered),
                                                    FindDeviceType(device->type())->kernel));
    result.is_plain = result.num_parts == 1 && !device->is_discrete();
    RunSettings own = settings;
    // Its kernels put work into one stream: threads would take turns, at the cost of handing it on.
    if (device->is_discrete()) own.parallel.threads = 1;
    parts.push_back({name.ToString(), device, std::move(part->feeds), std::move(part->fetches),
                     std::make_unique<RunsOfPlan>(std::move(plan), own)});
  }
  result.executable = std::make_unique<DeviceExecutable>(std::move(parts), result.fetches.size(),
                                                         settings.parallel.threads);
  return result;
}

}  // namespace gyre::dataflow

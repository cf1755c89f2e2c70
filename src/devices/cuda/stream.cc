#include "devices/cuda/stream.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "base/thread_pool.h"

namespace gyre::cuda {

// What has not gone to the driver yet. While there is any, it is one thread's or one event's to go
// on with it; nobody holds a lock then.
struct CudaStream::State : std::enable_shared_from_this<CudaStream::State> {
  // Work, a launch (which has no event), or an event to wait for.
  struct Item {
    Work work;
    std::shared_ptr<CudaEvent> done;
    EventPtr wait;
    bool is_launch = false;
  };

  explicit State(Gpu& g) : gpu(g), line(g.watcher().MakeLine()) {
    const Gpu::Current current(gpu);
    made = current.status();
    if (made.ok())
      made = gpu.Check("cuStreamCreate", gpu.driver().StreamCreate(&handle, kStreamNonBlocking));
  }

  void Put(Item item) {
    {
      const std::lock_guard lock(mutex);
      // (A launch that has to wait has been counted.)
      if (item.work.start != nullptr && !item.is_launch)
        launches.fetch_add(1, std::memory_order_relaxed);
      items.push_back(std::move(item));
      if (std::exchange(is_taken, true)) return;
    }
    GoOn(false);
  }

  bool IsIdle() {
    const std::lock_guard lock(mutex);
    return !is_taken && Watcher::IsEmpty(*line) && finished->load() == launches.load();
  }

  // May it block: this is a thread for that.
  void GoOn(bool may_block) {
    for (;;) {
      Item item;
      {
        const std::lock_guard lock(mutex);
        if (items.empty()) {
          is_taken = false;
          idle.notify_all();
          return;
        }
        if (items.front().work.blocks && !may_block && GoOnInPool()) return;
        item = std::move(items.front());
        items.pop_front();
      }
      if (item.is_launch) {
        StartLaunch(item);
      } else if (item.wait == nullptr) {
        Start(item);
      } else if (!Order(*item.wait)) {
        item.wait->Then([self = shared_from_this()](const absl::Status&) { self->GoOn(false); });
        return;
      }
    }
  }

  // A task of its own, however many tasks there are; false if there is no memory for one.
  bool GoOnInPool() {
    try {
      ThreadPool::Shared().Submit([self = shared_from_this()] { self->GoOn(true); },
                                  std::numeric_limits<int>::max());
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // Lets the GPU wait for `event`, where it can. False: the host has to.
  bool Order(const Event& event) {
    if (event.HasHappened()) return true;
    const auto* const recorded = dynamic_cast<const CudaEvent*>(&event);
    if (recorded == nullptr || recorded->handle() == nullptr || !made.ok()) return false;
    const Gpu::Current current(gpu);
    return current.status().ok() &&
           gpu.driver().StreamWaitEvent(handle, recorded->handle(), 0) == Result::kSuccess;
  }

  std::optional<absl::Status> LaunchNow(absl::FunctionRef<absl::Status(StreamHandle)> start) {
    const std::lock_guard lock(mutex);
    launches.fetch_add(1, std::memory_order_relaxed);
    if (is_taken) return std::nullopt;
    return Launch(start);
  }

  // By who has taken the stream, or holds the lock while nobody has.
  absl::Status Launch(absl::FunctionRef<absl::Status(StreamHandle)> start) {
    ++started;
    GYRE_RETURN_IF_ERROR(made);
    const Gpu::Current current(gpu);
    GYRE_RETURN_IF_ERROR(current.status());
    return start(handle);
  }

  void StartLaunch(Item& item) {
    CudaEvent none(gpu);
    const absl::Status status = CatchOutOfMemory("work on a GPU", [&] {
      return Launch([&](StreamHandle stream) { return item.work.start(stream, none); });
    });
    if (made.ok()) made = status;  // nobody else could tell
    item.work.start = nullptr;
  }

  void Start(Item& item) {
    const absl::Status status = CatchOutOfMemory(
        "work on a GPU", [&]() -> absl::Status { return Submit(item.work, *item.done); });
    item.work.start = nullptr;  // and what it held
    if (status.ok()) {
      gpu.watcher().Watch(line, std::move(item.done));
    } else {
      item.done->Happen(status);
    }
  }

  absl::Status Submit(const Work& work, CudaEvent& done) {
    if (work.start != nullptr) ++started;
    GYRE_RETURN_IF_ERROR(made);
    const Gpu::Current current(gpu);
    GYRE_RETURN_IF_ERROR(current.status());
    GYRE_ASSIGN_OR_RETURN(const EventHandle event, gpu.TakeEvent());
    absl::Status status;
    if (work.start != nullptr) status = work.start(handle, done);
    if (status.ok()) {
      status = gpu.Check("cuEventRecord", gpu.driver().EventRecord(event, handle));
      if (status.ok()) {
        done.Recorded(event);
        if (started != finished->load(std::memory_order_relaxed)) done.Counts(finished, started);
        return status;
      }
      // Nobody would see the end of it, and its memory must be kept until then.
      gpu.driver().StreamSynchronize(handle);
    }
    gpu.GiveBack(event);
    return status;
  }

  Gpu& gpu;
  StreamHandle handle = nullptr;
  const std::shared_ptr<Watcher::Line> line;
  std::atomic<uint64_t> launches{0};
  const std::shared_ptr<std::atomic<uint64_t>> finished =
      std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<bool> looks{false};  // an event of Look is under way
  absl::Status made;               // whether anything can be put in; see Launch
  uint64_t started = 0;            // launches that have gone to the driver; see Launch
  std::mutex mutex;                // guards what follows
  std::condition_variable idle;
  std::deque<Item> items;
  bool is_taken = false;
};

CudaStream::CudaStream(Gpu& gpu) : state_(std::make_shared<State>(gpu)) {}

CudaStream::~CudaStream() {
  Record();  // of launches that have no event
  {
    std::unique_lock lock(state_->mutex);
    state_->idle.wait(lock, [this] { return !state_->is_taken; });
  }
  state_->gpu.watcher().WaitUntilEmpty(*state_->line);
  if (state_->handle == nullptr) return;
  const Gpu::Current current(state_->gpu);
  state_->gpu.driver().StreamDestroy(state_->handle);
}

Gpu& CudaStream::gpu() const { return state_->gpu; }

EventPtr CudaStream::Put(Work work) {
  auto done = std::make_shared<CudaEvent>(state_->gpu);
  state_->Put({.work = std::move(work), .done = done});
  return done;
}

std::optional<absl::Status> CudaStream::LaunchNow(
    absl::FunctionRef<absl::Status(StreamHandle)> start) {
  return state_->LaunchNow(start);
}

void CudaStream::LaunchLater(std::function<absl::Status(StreamHandle, CudaEvent&)> start) {
  state_->Put({.work = {.start = std::move(start)}, .is_launch = true});
}

uint64_t CudaStream::launches() const { return state_->launches.load(std::memory_order_relaxed); }
uint64_t CudaStream::finished() const { return state_->finished->load(std::memory_order_acquire); }

void CudaStream::Look() {
  if (finished() == launches() || state_->looks.exchange(true)) return;
  Put({})->Then([state = state_](const absl::Status&) { state->looks = false; });
}

void CudaStream::Synchronize() {
  uint64_t started = 0;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->is_taken || !state_->made.ok()) return;
    started = state_->started;
  }
  const Gpu::Current current(state_->gpu);
  if (current.status().ok() &&
      state_->gpu.driver().StreamSynchronize(state_->handle) == Result::kSuccess)
    NoteFinished(*state_->finished, started);
}

EventPtr CudaStream::Record() { return state_->IsIdle() ? HappenedEvent() : Put({}); }

void CudaStream::WaitFor(EventPtr event) {
  if (!event->HasHappened()) state_->Put({{}, nullptr, std::move(event)});
}

}  // namespace gyre::cuda

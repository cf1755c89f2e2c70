#include "exec/dataflow/device_values.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/env.h"
#include "base/status.h"
#include "devices/copy.h"

namespace gyre::dataflow {
namespace {

// How a copy has ended, with where it was on its way; null: the host's memory.
absl::Status Ended(const absl::Status& status, const Device* from, const Device* to) {
  const auto name = [](const Device* device) { return device ? device->name() : "the host"; };
  return status.ok() ? status
                     : Annotate(status, absl::StrCat("copy from ", name(from), " to ", name(to)));
}

// Whether a value must be copied before nodes on `to` get it; null: the host.
bool MustGo(const Tensor& value, Device* to) {
  return NeedsCopy(value, to) &&
         (to == nullptr || value.device() != nullptr || !to->TakesFromHost(value));
}

}  // namespace

// The receives whose values are being copied. Each is called back once, by the copy or by the
// cancellation, whoever is first.
class CopyingRendezvous::Underway {
 public:
  // A copy has begun.
  void Begin(const TensorCopy& copy, const Device* from, const Device* to, RecvCallback done,
             const std::shared_ptr<Underway>& self) {
    int64_t number = -1;
    absl::Status why;
    {
      const std::lock_guard lock(mutex_);
      why = cancelled_;
      if (why.ok()) receives_.emplace(number = next_++, std::move(done));
    }
    if (!why.ok()) return done(why);
    copy.done->Then([self, number, from, to, value = copy.value](const absl::Status& s) mutable {
      if (s.ok()) return self->End(number, Item{std::move(value), false});
      self->End(number, Ended(s, from, to));
    });
  }

  void Cancel(const absl::Status& why) {
    std::map<int64_t, RecvCallback> receives;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = why;
      receives.swap(receives_);
    }
    for (const auto& [number, done] : receives) done(why);
  }

 private:
  void End(int64_t number, absl::StatusOr<Item> item) {
    RecvCallback done;
    {
      const std::lock_guard lock(mutex_);
      const auto it = receives_.find(number);
      if (it == receives_.end()) return;
      done = std::move(it->second);
      receives_.erase(it);
    }
    done(std::move(item));
  }

  std::mutex mutex_;  // guards what follows
  absl::Status cancelled_;
  int64_t next_ = 0;
  std::map<int64_t, RecvCallback> receives_;
};

CopyingRendezvous::CopyingRendezvous(Rendezvous& inner, Device& here, Cancellation& cancellation,
                                     MemoryBudget* budget)
    : inner_(inner),
      here_(here),
      cancellation_(cancellation),
      budget_(budget),
      underway_(std::make_shared<Underway>()) {
  callback_ = cancellation_.AddCallback(
      [underway = underway_, run = &cancellation] { underway->Cancel(run->status()); });
}

CopyingRendezvous::~CopyingRendezvous() { cancellation_.RemoveCallback(callback_); }

void CopyingRendezvous::RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) {
  inner_.RecvAsync(edge, tag, [this, done = std::move(done)](absl::StatusOr<Item> item) {
    if (!item.ok() || item->is_dead || !MustGo(item->value, &here_)) return done(std::move(item));
    const absl::StatusOr<TensorCopy> copy = CopyTensor(item->value, &here_, budget_);
    if (!copy.ok()) return done(copy.status());
    underway_->Begin(*copy, item->value.device(), &here_, done, underway_);
  });
}

namespace {

// What one thread waits for. Thread-safe.
class Arrivals {
 public:
  void Expect() {
    const std::lock_guard lock(mutex_);
    ++left_;
  }
  void Arrive(const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    --left_;
    if (status_.ok()) status_ = status;
    changed_.notify_all();
  }
  void Cancel() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  absl::Status Wait(Cancellation& cancellation) {
    std::unique_lock lock(mutex_);
    while (left_ > 0) {
      lock.unlock();
      if (absl::Status status = cancellation.Poll(); !status.ok()) return status;
      lock.lock();
      const bool has_deadline = cancellation.deadline_nanos() != Cancellation::kNoDeadline;
      const auto is_over = [&] { return left_ == 0 || cancellation.IsCancelled(); };
      if (has_deadline) {
        const int64_t nanos = cancellation.deadline_nanos() - cancellation.clock().NowNanos();
        changed_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(nanos, 0)), is_over);
      } else {
        changed_.wait(lock, is_over);
      }
    }
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t left_ = 0;      // guarded by mutex_
  absl::Status status_;  // guarded by mutex_
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> CopyAll(absl::Span<const Tensor> values, Device* to,
                                            Cancellation& cancellation, MemoryBudget* budget) {
  std::vector<Tensor> copied(values.begin(), values.end());
  std::shared_ptr<Arrivals> arrivals;
  for (Tensor& value : copied) {
    if (!MustGo(value, to)) continue;
    GYRE_ASSIGN_OR_RETURN(TensorCopy copy, CopyTensor(value, to, budget));
    if (arrivals == nullptr) arrivals = std::make_shared<Arrivals>();
    arrivals->Expect();
    copy.done->Then([arrivals, from = value.device(), to](const absl::Status& status) {
      arrivals->Arrive(Ended(status, from, to));
    });
    value = std::move(copy.value);
  }
  if (arrivals == nullptr) return copied;
  const int64_t callback = cancellation.AddCallback([arrivals] { arrivals->Cancel(); });
  const absl::Status status = arrivals->Wait(cancellation);
  cancellation.RemoveCallback(callback);
  GYRE_RETURN_IF_ERROR(status);
  return copied;
}

}  // namespace gyre::dataflow

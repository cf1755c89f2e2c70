#include "ops/rendezvous.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gyre {

std::string RendezvousKey(absl::string_view send_device, uint64_t incarnation,
                          absl::string_view recv_device, absl::string_view edge, uint64_t frame,
                          int64_t iteration) {
  return absl::StrCat(send_device, ";", absl::Hex(incarnation, absl::kZeroPad16), ";", recv_device,
                      ";", edge, ";", frame, ":", iteration);
}

LocalRendezvous::~LocalRendezvous() {
  if (budget_) budget_->Release(charged_);
}

int64_t LocalRendezvous::ItemBytes(absl::string_view key) {
  constexpr int64_t kTwoDeques = 2 * 600;
  return kTwoDeques + static_cast<int64_t>(sizeof(Queue) + sizeof(Item) + key.size());
}

absl::Status LocalRendezvous::Send(absl::string_view key, Item item) {
  RecvCallback waiter;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    Queue& queue = queues_[std::string(key)];
    if (queue.waiters.empty()) {
      const int64_t bytes = ItemBytes(key);
      if (budget_ && !budget_->Charge(bytes)) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the run's memory budget of ", budget_->limit(),
                         " bytes is used up by tensors that were sent and not received"));
      }
      charged_ += bytes;
      queue.items.push_back(std::move(item));
      return absl::OkStatus();
    }
    waiter = std::move(queue.waiters.front());
    queue.waiters.pop_front();
    if (queue.waiters.empty()) queues_.erase(std::string(key));
  }
  waiter(std::move(item));
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(absl::string_view key, RecvCallback done) {
  absl::StatusOr<Item> item;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) {
      item = status_;
    } else {
      Queue& queue = queues_[std::string(key)];
      if (queue.items.empty()) {
        queue.waiters.push_back(std::move(done));
        return;
      }
      item = std::move(queue.items.front());
      queue.items.pop_front();
      charged_ -= ItemBytes(key);
      if (budget_) budget_->Release(ItemBytes(key));
      if (queue.items.empty()) queues_.erase(std::string(key));
    }
  }
  done(std::move(item));
}

void LocalRendezvous::Abort(const absl::Status& why) {
  std::vector<RecvCallback> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    for (auto& [key, queue] : queues_) {
      for (RecvCallback& waiter : queue.waiters) waiters.push_back(std::move(waiter));
    }
    queues_.clear();
  }
  for (RecvCallback& waiter : waiters) waiter(why);
}

}  // namespace gyre

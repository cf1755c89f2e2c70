#include "ops/rendezvous.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

// FNV-1a, with a finish that spreads what the last bytes say over all bits.
uint64_t Hash(absl::string_view bytes, uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 31)) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

}  // namespace

TransferEdge::TransferEdge(std::string name, std::string from, std::string to, uint64_t of_sender)
    : tensor_name(std::move(name)),
      send_device(std::move(from)),
      recv_device(std::move(to)),
      incarnation(of_sender),
      id(Hash(recv_device, Hash(send_device, Hash(tensor_name, 0xcbf29ce484222325 ^ of_sender)))) {}

LocalRendezvous::~LocalRendezvous() {
  if (budget_) budget_->Release(charged_);
}

LocalRendezvous::Slot LocalRendezvous::TakeFirst(Slots::iterator it) {
  Slot first = std::move(it->second);
  if (first.more.empty()) {
    slots_.erase(it);
  } else {
    Slot next = std::move(first.more.front());
    first.more.erase(first.more.begin());
    next.more = std::move(first.more);
    it->second = std::move(next);
  }
  return first;
}

void LocalRendezvous::Append(const TransferKey& key, Slot slot) {
  const auto [it, is_first] = slots_.try_emplace(key);
  if (is_first) {
    it->second = std::move(slot);
  } else {
    it->second.more.push_back(std::move(slot));
  }
}

absl::Status LocalRendezvous::Send(const TransferKey& key, Item item) {
  RecvCallback waiter;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    const auto it = slots_.find(key);
    if (it == slots_.end() || it->second.waiter == nullptr) {
      if (budget_ && !budget_->Charge(kItemBytes)) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the run's memory budget of ", budget_->limit(),
                         " bytes is used up by tensors that were sent and not received"));
      }
      charged_ += kItemBytes;
      Append(key, {std::move(item), nullptr, {}});
      return absl::OkStatus();
    }
    waiter = TakeFirst(it).waiter;
  }
  waiter(std::move(item));
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(const TransferKey& key, RecvCallback done) {
  absl::StatusOr<Item> item;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) {
      item = status_;
    } else {
      const auto it = slots_.find(key);
      if (it == slots_.end() || it->second.waiter != nullptr) {
        Append(key, {{}, std::move(done), {}});
        return;
      }
      item = TakeFirst(it).item;
      charged_ -= kItemBytes;
      if (budget_) budget_->Release(kItemBytes);
    }
  }
  done(std::move(item));
}

void LocalRendezvous::Abort(const absl::Status& why) {
  Slots slots;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    slots.swap(slots_);
  }
  // In the order of their keys, so that the same abort has the same effects.
  std::vector<std::pair<TransferKey, Slot*>> waiting;
  for (auto& [key, slot] : slots) {
    if (slot.waiter != nullptr) waiting.emplace_back(key, &slot);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, slot] : waiting) {
    slot->waiter(why);
    for (const Slot& next : slot->more) next.waiter(why);
  }
}

}  // namespace gyre

#include "ops/rendezvous.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"

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

// ---- TransferTable

namespace {

constexpr size_t kMostSpare = 1024;

}  // namespace

// Needs no memory: what has been taken from a waiter's slot would be lost.
TransferTable::Slot TransferTable::TakeFirst(Slots::iterator it) {
  Slot first = std::move(it->second);
  if (first.more.empty()) {
    Slots::node_type node = slots_.extract(it);
    if (spare_.size() < spare_.capacity()) spare_.push_back(std::move(node));
  } else {
    Slot next = std::move(first.more.front());
    first.more.erase(first.more.begin());
    next.more = std::move(first.more);
    it->second = std::move(next);
  }
  return first;
}

void TransferTable::Append(const TransferKey& key, Slot slot) {
  if (const auto it = slots_.find(key); it != slots_.end()) {
    it->second.more.push_back(std::move(slot));
  } else if (spare_.empty()) {
    if (slots_.size() >= spare_.capacity() && spare_.capacity() < kMostSpare)
      spare_.reserve(std::max<size_t>(4, 2 * spare_.capacity()));
    slots_.emplace(key, std::move(slot));
  } else {
    Slots::node_type node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = key;
    node.mapped() = std::move(slot);
    slots_.insert(std::move(node));
  }
}

TransferTable::RecvCallback TransferTable::TakeWaiter(const TransferKey& key) {
  const auto it = slots_.find(key);
  if (it == slots_.end() || it->second.waiter == nullptr) return nullptr;
  return TakeFirst(it).waiter;
}

bool TransferTable::TakeItem(const TransferKey& key, Item* item, bool (*may_take)(const Item&)) {
  const auto it = slots_.find(key);
  if (it == slots_.end() || it->second.waiter != nullptr) return false;
  if (may_take != nullptr && !may_take(it->second.item)) return false;
  *item = TakeFirst(it).item;
  return true;
}

// Who waits must be told, also where there is no memory to hand them out: then they are told so
// here.
std::vector<TransferTable::RecvCallback> TransferTable::Clear() {
  std::vector<RecvCallback> waiters;
  try {
    std::vector<std::pair<TransferKey, Slot*>> waiting;
    size_t n = 0;
    for (auto& [key, slot] : slots_) {
      if (slot.waiter == nullptr) continue;
      waiting.emplace_back(key, &slot);
      n += 1 + slot.more.size();
    }
    std::sort(waiting.begin(), waiting.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    waiters.reserve(n);
    for (const auto& [key, slot] : waiting) {
      waiters.push_back(std::move(slot->waiter));
      for (Slot& next : slot->more) waiters.push_back(std::move(next.waiter));
    }
  } catch (const std::bad_alloc&) {
    const absl::Status why = OutOfMemoryError("this run");
    for (auto& [key, slot] : slots_) {
      if (slot.waiter == nullptr) continue;
      slot.waiter(why);
      for (Slot& next : slot.more) next.waiter(why);
    }
  }
  slots_.clear();
  return waiters;
}

// ---- LocalRendezvous

LocalRendezvous::~LocalRendezvous() {
  if (budget_) budget_->Release(charged_);
}

// An item has been received. Requirement: mutex_ is held.
void LocalRendezvous::Release() {
  charged_ -= kItemBytes;
  if (budget_) budget_->Release(kItemBytes);
}

absl::Status LocalRendezvous::Send(const TransferEdge& edge, Tag tag, Item item) {
  const TransferKey key = {edge.id, tag};
  RecvCallback waiter;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return status_;
    waiter = table_.TakeWaiter(key);
    if (waiter == nullptr) {
      if (budget_ && !budget_->Charge(kItemBytes)) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the run's memory budget of ", budget_->limit(),
                         " bytes is used up by tensors that were sent and not received"));
      }
      charged_ += kItemBytes;
      table_.AddItem(key, std::move(item));  // may throw: what is charged goes with the rendezvous
      return absl::OkStatus();
    }
  }
  waiter(std::move(item));
  return absl::OkStatus();
}

void LocalRendezvous::RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) {
  const TransferKey key = {edge.id, tag};
  absl::StatusOr<Item> item = Item();
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) {
      item = status_;
    } else if (table_.TakeItem(key, &*item)) {
      Release();
    } else {
      return table_.AddWaiter(key, std::move(done));
    }
  }
  done(std::move(item));
}

bool LocalRendezvous::TryRecv(const TransferEdge& edge, Tag tag, Item* item) {
  const std::lock_guard lock(mutex_);
  if (!table_.TakeItem({edge.id, tag}, item)) return false;
  Release();
  return true;
}

void LocalRendezvous::Abort(const absl::Status& why) {
  std::vector<RecvCallback> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    status_ = why;
    waiters = table_.Clear();
  }
  for (const RecvCallback& waiter : waiters) waiter(why);
}

}  // namespace gyre

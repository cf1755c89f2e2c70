// Rendezvous: where a Send meets its Recv.
//
// A key is one edge in one iteration of one frame. Each key is a FIFO of (tensor, dead?) items; an
// item is consumed once. Abort delivers its status to every waiter and to every later call.
// Implementations are thread-safe; callbacks run on the thread that completes them, without a lock
// held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Which dynamic instance of a node runs: a frame (a hash that every engine and device computes
// alike) and an iteration.
struct Tag {
  uint64_t frame = 0;
  int64_t iteration = 0;
};

// An edge between two devices, as the _Send and the _Recv at its ends name it.
struct TransferEdge {
  TransferEdge(std::string tensor_name, std::string send_device, std::string recv_device,
               uint64_t incarnation);

  std::string tensor_name;
  std::string send_device;
  std::string recv_device;
  uint64_t incarnation;  // of the sending device
  uint64_t id;           // a hash of all that, the same in every process
};

struct TransferKey {
  uint64_t edge = 0;  // TransferEdge::id
  Tag tag;

  friend bool operator==(const TransferKey& a, const TransferKey& b) {
    return a.edge == b.edge && a.tag.frame == b.tag.frame && a.tag.iteration == b.tag.iteration;
  }
  friend bool operator<(const TransferKey& a, const TransferKey& b) {
    return std::tie(a.edge, a.tag.frame, a.tag.iteration) <
           std::tie(b.edge, b.tag.frame, b.tag.iteration);
  }
};

// Moves what arrives from other processes into a rendezvous. It has no thread of its own: who waits
// for something to arrive calls it. Thread-safe.
class GYRE_EXPORT Outbox {
 public:
  virtual ~Outbox() = default;
  // Moves what has arrived, and what waited to be sent. Never sleeps.
  virtual void Poll() = 0;
  // Moves what waited to be sent. What Send has been given may wait for it, for Poll, or for Wait:
  // who sends calls one of them before it does anything that takes long.
  virtual void Flush() = 0;
  // For how long to poll before sleeping.
  virtual int64_t spin_nanos() const = 0;
  // How often Wake was called.
  virtual uint64_t wakes() const = 0;
  // Sleeps until something may have arrived, until wakes() is no longer `seen`, or for `nanos`.
  virtual void Wait(uint64_t seen, int64_t nanos) = 0;
  // Ends all Waits.
  virtual void Wake() = 0;
};

class GYRE_EXPORT Rendezvous {
 public:
  struct Item {
    Tensor value;  // no value when dead
    bool is_dead = false;
  };
  using RecvCallback = std::function<void(absl::StatusOr<Item>)>;

  virtual ~Rendezvous() = default;
  virtual absl::Status Send(const TransferEdge& edge, Tag tag, Item item) = 0;
  virtual void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) = 0;
  // Takes an item that is here. False: RecvAsync waits for it, or says why it never comes.
  virtual bool TryRecv(const TransferEdge& /*edge*/, Tag /*tag*/, Item* /*item*/) { return false; }
  // `why` must not be OK; the first abort wins.
  virtual void Abort(const absl::Status& why) = 0;
  // Null: what arrives does so by itself, on other threads.
  virtual Outbox* outbox() { return nullptr; }
};

// Items that nobody has received yet, and receivers whose item has not come: by key, oldest first.
// Not thread-safe.
class GYRE_EXPORT TransferTable {
 public:
  using Item = Rendezvous::Item;
  using RecvCallback = Rendezvous::RecvCallback;

  // Null: nobody waits for this key.
  RecvCallback TakeWaiter(const TransferKey& key);
  // False: there is none, or the oldest is one that `may_take` does not want.
  bool TakeItem(const TransferKey& key, Item* item, bool (*may_take)(const Item&) = nullptr);
  // Requirement: nobody waits for this key, or no item of it is here.
  void AddItem(const TransferKey& key, Item item) { Append(key, {std::move(item), nullptr, {}}); }
  void AddWaiter(const TransferKey& key, RecvCallback done) {
    Append(key, {{}, std::move(done), {}});
  }
  // Drops the items, and gives who waits: in the order of their keys, so that the same abort has
  // the same effects.
  std::vector<RecvCallback> Clear();

 private:
  // One item or waiter is the rule; the others of the same key wait behind it.
  struct Slot {
    Item item;
    RecvCallback waiter;  // null: it is an item
    std::vector<Slot> more;
  };
  struct KeyHash {
    size_t operator()(const TransferKey& key) const {
      return (key.edge ^ key.tag.frame) +
             static_cast<uint64_t>(key.tag.iteration) * 0x9e3779b97f4a7c15;
    }
  };
  // Keys come and go, and hardly one comes again: a table that marks what was removed would be
  // cleared up again and again.
  using Slots = std::unordered_map<TransferKey, Slot, KeyHash>;

  // The oldest of a key's, which is removed.
  Slot TakeFirst(Slots::iterator it);
  void Append(const TransferKey& key, Slot slot);

  Slots slots_;
  std::vector<Slots::node_type> spare_;  // memory of some that went, for those that come
};

// Within one process.
class GYRE_EXPORT LocalRendezvous final : public Rendezvous {
 public:
  // What is sent and not yet received is charged to `budget`, if there is one: Send is
  // RESOURCE_EXHAUSTED when it is used up.
  explicit LocalRendezvous(RefPtr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}
  ~LocalRendezvous() override;

  absl::Status Send(const TransferEdge& edge, Tag tag, Item item) override;
  void RecvAsync(const TransferEdge& edge, Tag tag, RecvCallback done) override;
  bool TryRecv(const TransferEdge& edge, Tag tag, Item* item) override;
  void Abort(const absl::Status& why) override;

 private:
  // About what an item takes beside its buffer.
  static constexpr int64_t kItemBytes = 256;

  void Release();

  const RefPtr<MemoryBudget> budget_;
  std::mutex mutex_;  // guards what follows
  int64_t charged_ = 0;
  absl::Status status_;
  TransferTable table_;
};

}  // namespace gyre

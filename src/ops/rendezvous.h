// Rendezvous: where a Send meets its Recv.
//
// A key names one edge in one iteration of one frame. Each key is a FIFO of (tensor, dead?) items;
// an item is consumed once. Abort delivers its status to every waiter and to every later call.
// Implementations are thread-safe; callbacks run on the thread that completes them, without a lock
// held.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/tensor.h"

namespace gyre {

class Rendezvous {
 public:
  struct Item {
    Tensor value;  // no value when dead
    bool is_dead = false;
  };
  using RecvCallback = std::function<void(absl::StatusOr<Item>)>;

  virtual ~Rendezvous() = default;
  virtual absl::Status Send(absl::string_view key, Item item) = 0;
  virtual void RecvAsync(absl::string_view key, RecvCallback done) = 0;
  // `why` must not be OK; the first abort wins.
  virtual void Abort(const absl::Status& why) = 0;
};

// "send_device;incarnation(16 hex digits);recv_device;edge;frame:iteration"
std::string RendezvousKey(absl::string_view send_device, uint64_t incarnation,
                          absl::string_view recv_device, absl::string_view edge, uint64_t frame,
                          int64_t iteration);

// Within one process.
class LocalRendezvous final : public Rendezvous {
 public:
  // What is sent and not yet received is charged to `budget`, if there is one: Send is
  // RESOURCE_EXHAUSTED when it is used up.
  explicit LocalRendezvous(RefPtr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}
  ~LocalRendezvous() override;

  absl::Status Send(absl::string_view key, Item item) override;
  void RecvAsync(absl::string_view key, RecvCallback done) override;
  void Abort(const absl::Status& why) override;

 private:
  struct Queue {
    std::deque<Item> items;
    std::deque<RecvCallback> waiters;  // at most one of the two is non-empty
  };
  // About what an item takes beside its buffer: it, its key, and what holds the two.
  static int64_t ItemBytes(absl::string_view key);

  const RefPtr<MemoryBudget> budget_;
  std::mutex mutex_;  // guards what follows
  int64_t charged_ = 0;
  absl::Status status_;
  std::map<std::string, Queue, std::less<>> queues_;
};

}  // namespace gyre

#include "support/cluster/memory_link.h"

#include <condition_variable>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre::test {

// One direction of a link.
class MemoryLinks::Way {
 public:
  explicit Way(Tap tap) : tap_(std::move(tap)) {}

  void Send(std::string message) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  // What was sent before is delivered still.
  void Close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  void Freeze() {
    const std::lock_guard lock(mutex_);
    is_frozen_ = true;
  }
  // The link's owner goes: ends Deliver, frozen or not.
  void Thaw() {
    const std::lock_guard lock(mutex_);
    is_frozen_ = false;
    changed_.notify_all();
  }
  // Hands everything to `handler`, until the way is closed.
  void Deliver(std::shared_ptr<cluster::LinkHandler> handler) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !is_frozen_ && (is_closed_ || !messages_.empty()); });
      if (messages_.empty()) break;
      std::string message = std::move(messages_.front());
      messages_.pop_front();
      lock.unlock();
      if (tap_) tap_(message);
      handler->OnMessage(message);
      lock.lock();
    }
    lock.unlock();
    handler->OnClosed(absl::UnavailableError("its link was closed"));
  }

 private:
  const Tap tap_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::string> messages_;
  bool is_closed_ = false, is_frozen_ = false;
};

class MemoryLinks::End final : public cluster::ControlLink {
 public:
  End(std::shared_ptr<Way> out, std::shared_ptr<Way> in)
      : out_(std::move(out)), in_(std::move(in)) {}
  void Send(std::string message) override { out_->Send(std::move(message)); }
  void Close() override {
    out_->Close();
    in_->Close();
  }

 private:
  const std::shared_ptr<Way> out_, in_;
};

MemoryLinks::~MemoryLinks() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    for (const Link& link : links_) {
      for (const auto& way : link.ways) {
        way->Close();
        way->Thaw();
      }
    }
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void MemoryLinks::Serve(const std::string& address, cluster::LinkAcceptor acceptor) {
  const std::lock_guard lock(mutex_);
  acceptors_[address] = std::move(acceptor);
}

void MemoryLinks::set_taps(Tap to_worker, Tap to_client) {
  const std::lock_guard lock(mutex_);
  to_worker_ = std::move(to_worker);
  to_client_ = std::move(to_client);
}

cluster::LinkDialer MemoryLinks::dialer() {
  return [this](const std::string& address, std::shared_ptr<cluster::LinkHandler> client)
             -> absl::StatusOr<std::shared_ptr<cluster::ControlLink>> {
    const std::lock_guard lock(mutex_);
    const auto acceptor = acceptors_.find(address);
    if (acceptor == acceptors_.end())
      return absl::UnavailableError(absl::StrCat("nobody is at ", address));
    const auto to_worker = std::make_shared<Way>(to_worker_);
    const auto to_client = std::make_shared<Way>(to_client_);
    auto worker = acceptor->second(std::make_shared<End>(to_client, to_worker));
    links_.push_back({address, {to_worker, to_client}});
    threads_.emplace_back(&Way::Deliver, to_worker, std::move(worker));
    threads_.emplace_back(&Way::Deliver, to_client, std::move(client));
    return std::shared_ptr<cluster::ControlLink>(std::make_shared<End>(to_worker, to_client));
  };
}

void MemoryLinks::Freeze(const std::string& address) {
  const std::lock_guard lock(mutex_);
  for (const Link& link : links_) {
    if (link.address != address) continue;
    for (const auto& way : link.ways) way->Freeze();
  }
}

void MemoryLinks::Cut(const std::string& address) {
  const std::lock_guard lock(mutex_);
  for (const Link& link : links_) {
    if (link.address != address) continue;
    // The way to the client first: what is cut carries no last words.
    for (const int way : {1, 0}) link.ways[way]->Close();
  }
}

}  // namespace gyre::test

// Workers in one process, and clients of theirs: their links and channels are memory, everything
// else is what processes have. Thread-safe, but for Destroy.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/worker.h"
#include "gyre/core/session.h"
#include "support/cluster/memory_link.h"
#include "support/cluster/test_host.h"

namespace gyre::test {

class Workers {
 public:
  static constexpr char kToken[] = "the workers' token";
  static constexpr uint64_t kFirstIncarnation = 100;
  // So long that nobody is given up because the machine is slow.
  static constexpr int64_t kFailureNanos = 60'000'000'000;
  // `tap`: see TestNetwork. `most_payload_bytes`: see WorkerOptions.
  explicit Workers(int n, TestNetwork::Tap tap = nullptr,
                   int64_t most_payload_bytes = cluster::kMostPayloadBytes);
  ~Workers();

  // A new client of all workers.
  cluster::ClusterSettings Settings();
  absl::StatusOr<std::shared_ptr<const Engine>> Connect(const cluster::ClusterSettings& settings);
  absl::StatusOr<std::shared_ptr<const Engine>> Connect() { return Connect(Settings()); }
  // A session of a new client; a failed test and null where there is none.
  std::unique_ptr<Session> SessionFor(const std::string& text, SessionOptions options = {});

  MemoryLinks& links() { return links_; }
  // The clients' clocks.
  void PutClientsForward(int64_t nanos);
  cluster::Worker& worker(int i) { return *members_[i]->worker; }
  static std::string Address(int i);
  // The worker ends, in the middle of whatever it does.
  void Destroy(int i);
  // Calls of clients that run, on all workers.
  int num_busy() const;
  // Until `is_so`, or for long enough to be sure that it will never be; whether it is.
  template <typename F>
  static bool Eventually(F is_so, int64_t patience_nanos = 20'000'000'000);

 private:
  struct Member {
    std::unique_ptr<TestHost> host;
    std::unique_ptr<cluster::Worker> worker;
    std::shared_ptr<void> ticks;
  };

  TestNetwork network_;  // of the channels
  std::mutex mutex_;
  std::vector<std::unique_ptr<TestHost>> client_hosts_;  // guarded by mutex_
  std::vector<std::unique_ptr<Member>> members_;
  MemoryLinks links_;  // whose threads call the workers
  std::atomic<uint64_t> clients_{0};
};

template <typename F>
bool Workers::Eventually(F is_so, int64_t patience_nanos) {
  const int64_t begin = SystemClock().NowNanos();
  while (!is_so()) {
    if (SystemClock().NowNanos() - begin > patience_nanos) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace gyre::test

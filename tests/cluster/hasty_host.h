// A host on which everything happens at once: tasks run where they are spawned, and time flies. It
// reaches nobody. A test may hold tasks back. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cluster/host.h"

namespace gyre::test {

class HastyHost final : public cluster::Host {
 public:
  // From now on tasks wait for RunTasks.
  void HoldTasks() { holds_ = true; }
  void RunTasks() {
    for (const auto& task : std::exchange(held_, {})) task();
  }

  const Clock& clock() const override { return clock_; }
  void Spawn(std::function<void()> task) override {
    if (!holds_) return task();
    held_.push_back(std::move(task));
  }
  std::shared_ptr<void> Every(int64_t, std::function<void()>) override { return nullptr; }
  cluster::ChannelAddress channel_address() const override { return {"here", "", ""}; }
  absl::StatusOr<std::unique_ptr<cluster::ByteStream>> Dial(const cluster::ChannelAddress&,
                                                            Transport) override {
    return absl::UnavailableError("nobody is there");
  }
  std::unique_ptr<cluster::ByteStream> Accept() override { return nullptr; }
  void Sleep(absl::Span<cluster::ByteStream* const>, const std::vector<bool>&, int64_t) override {}
  void WakeSleeper() override {}
  void Wait(std::unique_lock<std::mutex>&, std::condition_variable&, int64_t) override {}

 private:
  struct FlyingClock final : Clock {
    int64_t NowNanos() const override { return now += 600'000'000'000; }
    mutable std::atomic<int64_t> now{0};
  };
  FlyingClock clock_;
  bool holds_ = false;
  std::vector<std::function<void()>> held_;
};

}  // namespace gyre::test

// Hosts that share one process: a mesh or a worker on each sees the others as other processes.
// Streams are shared memory, which a test may change on the way; the clock is the machine's, which
// a test may put forward.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/host.h"

namespace gyre::test {

class TestHost;

// Thread-safe.
class TestNetwork {
 public:
  // Every stream that is dialled passes through here, first the dialled end, then the other.
  using Tap =
      std::function<std::unique_ptr<cluster::ByteStream>(std::unique_ptr<cluster::ByteStream>)>;
  explicit TestNetwork(Tap tap = nullptr) : tap_(std::move(tap)) {}

 private:
  friend class TestHost;
  const Tap tap_;
  std::mutex mutex_;
  std::map<std::string, TestHost*> hosts_;  // guarded by mutex_; by address
};

class TestHost final : public cluster::Host {
 public:
  TestHost(TestNetwork& network, std::string name);
  ~TestHost() override;

  // Somebody dials.
  void Call(std::unique_ptr<cluster::ByteStream> stream);
  void PutForward(int64_t nanos) { clock_.ahead += nanos; }

  const Clock& clock() const override { return clock_; }
  void Spawn(std::function<void()> task) override { machine_->Spawn(std::move(task)); }
  // Often enough for who puts the clock forward.
  std::shared_ptr<void> Every(int64_t nanos, std::function<void()> tick) override {
    constexpr int64_t kMostNanos = 20'000'000;
    return machine_->Every(std::min(nanos, kMostNanos), std::move(tick));
  }
  cluster::ChannelAddress channel_address() const override { return {name_, "", ""}; }
  absl::StatusOr<std::unique_ptr<cluster::ByteStream>> Dial(const cluster::ChannelAddress& address,
                                                            Transport transport) override;
  std::unique_ptr<cluster::ByteStream> Accept() override;
  void Sleep(absl::Span<cluster::ByteStream* const> streams, const std::vector<bool>& for_write,
             int64_t nanos) override {
    machine_->Sleep(streams, for_write, nanos);
  }
  void WakeSleeper() override { machine_->WakeSleeper(); }
  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            int64_t nanos) override {
    machine_->Wait(lock, changed, nanos);
  }

 private:
  struct ForwardClock final : Clock {
    int64_t NowNanos() const override { return SystemClock().NowNanos() + ahead; }
    std::atomic<int64_t> ahead{0};
  };

  TestNetwork& network_;
  const std::string name_;
  const std::unique_ptr<cluster::Host> machine_;
  ForwardClock clock_;
  std::mutex mutex_;
  std::deque<std::unique_ptr<cluster::ByteStream>> callers_;  // guarded by mutex_
};

// A stream whose other end is the test.
class ScriptedStream final : public cluster::ByteStream {
 public:
  // What both ends see. One thread.
  struct Script {
    std::string to_read;  // taken from the front
    std::string written;
    size_t most_at_once = ~size_t{0};
    bool needs_checksum = false;
    bool is_gone = false;  // the stream has been hung up, or destroyed
  };
  explicit ScriptedStream(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ~ScriptedStream() override { script_->is_gone = true; }
  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override;
  absl::StatusOr<size_t> Read(absl::Span<char> into) override;
  void LookAgain() override {}
  void HangUp() override { script_->is_gone = true; }
  bool PrepareWait(bool) override { return false; }
  void EndWait() override {}
  int fd() const override { return -1; }
  bool WaitsForOutput() const override { return false; }
  bool NeedsChecksum() const override { return script_->needs_checksum; }
  std::string name() const override { return "a script"; }

 private:
  const std::shared_ptr<Script> script_;
};

// A stream on another, which counts, keeps or holds back what is written.
class TappedStream final : public cluster::ByteStream {
 public:
  struct Counts {
    std::atomic<int64_t> written{0};
    std::mutex mutex;
    std::string bytes;            // guarded by mutex: all that was written, if it is kept
    bool keeps = false;           // set before anything is written
    bool needs_checksum = false;  // likewise
    std::atomic<size_t> most_at_once{~size_t{0}};
  };
  TappedStream(std::unique_ptr<cluster::ByteStream> stream, std::shared_ptr<Counts> counts)
      : stream_(std::move(stream)), counts_(std::move(counts)) {}
  absl::StatusOr<size_t> Write(absl::Span<const absl::string_view> pieces) override;
  absl::StatusOr<size_t> Read(absl::Span<char> into) override { return stream_->Read(into); }
  void LookAgain() override { stream_->LookAgain(); }
  void HangUp() override { stream_->HangUp(); }
  bool PrepareWait(bool for_write) override { return stream_->PrepareWait(for_write); }
  void EndWait() override { stream_->EndWait(); }
  int fd() const override { return stream_->fd(); }
  bool WaitsForOutput() const override { return stream_->WaitsForOutput(); }
  bool NeedsChecksum() const override { return counts_->needs_checksum; }
  std::string name() const override { return stream_->name(); }

 private:
  const std::unique_ptr<cluster::ByteStream> stream_;
  const std::shared_ptr<Counts> counts_;
};

}  // namespace gyre::test

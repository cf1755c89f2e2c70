#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cluster/host.h"
#include "cluster/transport/shared_memory.h"
#include "cluster/transport/socket.h"
#include "cluster/transport/tcp.h"

namespace gyre::cluster {
namespace {

// What tells machines apart, containers of one machine too: Unix names belong to a network
// namespace.
std::string MachineId() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char net[64] = {};
  const ssize_t n = readlink("/proc/self/ns/net", net, sizeof(net) - 1);
  return boot.empty() || n <= 0 ? "" : absl::StrCat(boot, " ", net);
}

class Machine final : public Host {
 public:
  // The listeners may be null: then nobody can dial.
  Machine(Fd wake, std::unique_ptr<Listener> tcp, std::unique_ptr<Listener> memory,
          ChannelAddress address)
      : wake_(std::move(wake)),
        tcp_(std::move(tcp)),
        memory_(std::move(memory)),
        address_(std::move(address)) {}

  const Clock& clock() const override { return SystemClock(); }
  void Spawn(std::function<void()> task) override {
    ThreadPool::Shared().Submit(std::move(task), std::numeric_limits<int>::max());
  }
  std::shared_ptr<void> Every(int64_t nanos, std::function<void()> tick) override {
    return std::make_shared<Ticker>(nanos, nanos, std::move(tick));
  }
  ChannelAddress channel_address() const override { return address_; }

  absl::StatusOr<std::unique_ptr<ByteStream>> Dial(const ChannelAddress& to,
                                                   Transport transport) override {
    const bool is_near = !to.memory.empty() && to.machine == address_.machine;
    if (transport == Transport::kSharedMemory && !is_near) {
      return absl::InvalidArgumentError(
          absl::StrCat(to.tcp, " is on another machine: there is no shared memory with it"));
    }
    if (is_near && transport != Transport::kTcp) {
      GYRE_ASSIGN_OR_RETURN(Fd fd, DialUnix(to.memory));
      return OfferSharedMemory(std::move(fd), to.tcp);
    }
    GYRE_ASSIGN_OR_RETURN(const HostPort where, ParseHostPort(to.tcp));
    GYRE_ASSIGN_OR_RETURN(Fd fd, DialTcp(where));
    return TcpStream(std::move(fd), to.tcp);
  }

  std::unique_ptr<ByteStream> Accept() override {
    if (tcp_ == nullptr) return nullptr;
    // In turn: many callers at one entrance do not keep those at the other out.
    for (int i = 0; i < 2; ++i) {
      takes_tcp_ = !takes_tcp_;
      Fd caller = (takes_tcp_ ? tcp_ : memory_)->Accept();
      if (!caller) continue;
      return takes_tcp_ ? TcpStream(std::move(caller), "a caller")
                        : AcceptSharedMemory(std::move(caller), "a caller");
    }
    return nullptr;
  }

  void Sleep(absl::Span<ByteStream* const> streams, const std::vector<bool>& for_write,
             int64_t nanos) override {
    fds_.clear();
    fds_.push_back({wake_.get(), POLLIN, 0});
    const int64_t now = SystemClock().NowNanos();
    constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    int64_t until = nanos < kNever - now ? now + nanos : kNever;
    for (const Listener* const listener : {tcp_.get(), memory_.get()}) {
      if (listener != nullptr) fds_.push_back({listener->PollFd(now, &until), POLLIN, 0});
    }
    for (size_t i = 0; i < streams.size(); ++i) {
      const bool output = for_write[i] && streams[i]->WaitsForOutput();
      fds_.push_back(
          {streams[i]->fd(), static_cast<int16_t>(output ? POLLIN | POLLOUT : POLLIN), 0});
    }
    constexpr int64_t kNanosPerSecond = 1'000'000'000;
    const timespec time = {(until - now) / kNanosPerSecond, (until - now) % kNanosPerSecond};
    ppoll(fds_.data(), fds_.size(), until == kNever ? nullptr : &time, nullptr);
    uint64_t wakes = 0;
    (void)!read(wake_.get(), &wakes, sizeof(wakes));
  }

  void WakeSleeper() override {
    const uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  void Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            int64_t nanos) override {
    if (nanos == std::numeric_limits<int64_t>::max()) {
      changed.wait(lock);
    } else {
      changed.wait_for(lock, std::chrono::nanoseconds(nanos));
    }
  }

 private:
  const Fd wake_;
  const std::unique_ptr<Listener> tcp_, memory_;
  const ChannelAddress address_;
  bool takes_tcp_ = false;   // of who accepts: whom it took last
  std::vector<pollfd> fds_;  // of who sleeps
};

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> MachineHost(const std::string& listen_host) {
  Fd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return SystemError("cannot make an event");
  ChannelAddress address;
  address.machine = MachineId();
  if (listen_host.empty())
    return std::make_unique<Machine>(std::move(wake), nullptr, nullptr, std::move(address));
  HostPort bound;
  GYRE_ASSIGN_OR_RETURN(auto tcp, ListenTcp({listen_host, 0}, &bound));
  std::random_device random;
  address.tcp = bound.ToString();
  address.memory = absl::StrCat("gyre-", getpid(), "-", absl::Hex(random()), absl::Hex(random()));
  GYRE_ASSIGN_OR_RETURN(auto memory, ListenUnix(address.memory));
  return std::make_unique<Machine>(std::move(wake), std::move(tcp), std::move(memory),
                                   std::move(address));
}

}  // namespace gyre::cluster

// Sockets and their addresses: what TCP and shared memory have in common. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::cluster {

// Owns a file descriptor, or none (-1).
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_ = -1;
};

// The error of the last system call that failed: UNAVAILABLE, "WHAT: Connection refused".
absl::Status SystemError(absl::string_view what);

struct HostPort {
  std::string host;
  int port = 0;
  std::string ToString() const;
};
// "127.0.0.1:4001", "[::1]:4001", "localhost:4001". INVALID_ARGUMENT for others.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view text);
// Whether all addresses that the host's name stands for are of this machine's loopback. UNAVAILABLE
// for names that stand for nothing.
absl::StatusOr<bool> IsLoopback(const std::string& host);

// A listening socket that does not block, and that no shortage ends: out of descriptors, it hangs
// up on who calls, with one that it keeps for this; out of anything else, it lets callers wait for
// a moment. One thread at a time accepts; any may ask for fd().
class Listener {
 public:
  explicit Listener(Fd socket);
  // The next caller; none: an empty Fd. `from`, if not null, becomes the host that calls, as a
  // person reads it; of IPv6, the network of 64 bits; of a Unix name, "".
  Fd Accept(std::string* from = nullptr);
  // To be polled for input at `now`, as SystemClock has it; -1, which poll skips, while callers are
  // let wait. `until` becomes the end of that, if it comes sooner. Both at once: who asked twice
  // might skip the socket for longer than that.
  int PollFd(int64_t now, int64_t* until) const;

 private:
  bool HangUpOnOne();

  const Fd socket_;
  Fd spare_;  // what a caller is accepted with that is hung up on
  std::atomic<int64_t> resumes_nanos_{0};
};

// Port 0: any; `bound` tells which.
absl::StatusOr<std::unique_ptr<Listener>> ListenTcp(const HostPort& address, HostPort* bound);
// Of Unix's abstract names, which vanish with their process.
absl::StatusOr<std::unique_ptr<Listener>> ListenUnix(const std::string& name);
// Connected, or on its way: then writing and reading give nothing until it is.
absl::StatusOr<Fd> DialTcp(const HostPort& address);
absl::StatusOr<Fd> DialUnix(const std::string& name);
// Connected: to the first of the host's addresses that answers before `deadline_nanos`, as
// SystemClock has it.
absl::StatusOr<Fd> ConnectTcp(const HostPort& address, int64_t deadline_nanos);
// Waits until poll's `events` have come (or an error, which the next call tells): false if the
// deadline came first.
bool AwaitEvents(const Fd& fd, int16_t events, int64_t deadline_nanos);

}  // namespace gyre::cluster

// Sockets and their addresses: what TCP and shared memory have in common. Any thread.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre::dist {

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

// A listening socket that does not block. Port 0: any; `bound` tells which.
absl::StatusOr<Fd> ListenTcp(const HostPort& address, HostPort* bound);
// Of Unix's abstract names, which vanish with their process.
absl::StatusOr<Fd> ListenUnix(const std::string& name);
// Connected, or on its way: then writing and reading give nothing until it is.
absl::StatusOr<Fd> DialTcp(const HostPort& address);
absl::StatusOr<Fd> DialUnix(const std::string& name);
// The next caller, without blocking; none: an empty Fd.
absl::StatusOr<Fd> Accept(const Fd& listener);

}  // namespace gyre::dist

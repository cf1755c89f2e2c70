#include "cluster/transport/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/status.h"

namespace gyre::cluster {
namespace {

constexpr int kBacklog = 1024;
// How long callers wait after one could not be accepted, nor hung up on.
constexpr int64_t kPauseNanos = 50'000'000;
// So many are hung up on in a row at most.
constexpr int kMostHungUpOn = 256;

struct AddrInfoDeleter {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using AddrInfo = std::unique_ptr<addrinfo, AddrInfoDeleter>;

absl::StatusOr<AddrInfo> Resolve(const HostPort& address, bool to_listen) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = to_listen ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("there is no host \"", address.host, "\": ", gai_strerror(error)));
  }
  return AddrInfo(found);
}

// As Listener::Accept tells it.
std::string HostOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
  }
  if (address.ss_family != AF_INET6) return "";
  in6_addr v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return inet_ntop(AF_INET, v6.s6_addr + 12, text, sizeof(text));
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return "::1";
  std::fill(v6.s6_addr + 8, v6.s6_addr + 16, uint8_t{0});
  return absl::StrCat(inet_ntop(AF_INET6, &v6, text, sizeof(text)), "/64");
}

void SendAtOnce(const Fd& socket) {
  const int yes = 1;  // of no effect on a Unix socket
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

Fd Spare() { return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

int NewSocket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

absl::StatusOr<std::pair<sockaddr_un, socklen_t>> UnixName(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The leading zero byte makes the name abstract: no file.
  if (name.empty() || name.size() + 1 > sizeof(address.sun_path))
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no name for a socket"));
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return std::pair(address,
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}
int Fd::Release() { return std::exchange(fd_, -1); }

absl::Status SystemError(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

std::string HostPort::ToString() const {
  return host.find(':') == std::string::npos ? absl::StrCat(host, ":", port)
                                             : absl::StrCat("[", host, "]:", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text) {
  constexpr int kMaxPort = 65535;
  const size_t colon = text.rfind(':');
  HostPort result;
  if (colon != absl::string_view::npos && colon > 0 &&
      absl::SimpleAtoi(text.substr(colon + 1), &result.port) && result.port >= 0 &&
      result.port <= kMaxPort) {
    absl::string_view host = text.substr(0, colon);
    const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (is_bracketed) host = host.substr(1, host.size() - 2);
    result.host = std::string(host);
    if (is_bracketed || host.find(':') == absl::string_view::npos) return result;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no address; one looks like 127.0.0.1:4001 or [::1]:4001"));
}

absl::StatusOr<bool> IsLoopback(const std::string& host) {
  GYRE_ASSIGN_OR_RETURN(const AddrInfo found, Resolve({host, 0}, false));
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    if (a->ai_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(a->ai_addr);
      if ((ntohl(v4->sin_addr.s_addr) >> 24) != 127) return false;
    } else if (a->ai_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(a->ai_addr);
      if (!IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) return false;
    } else {
      return false;
    }
  }
  return true;
}

Listener::Listener(Fd socket) : socket_(std::move(socket)), spare_(Spare()) {}

int Listener::PollFd(int64_t now, int64_t* until) const {
  const int64_t resumes = resumes_nanos_.load(std::memory_order_relaxed);
  if (now >= resumes) return socket_.get();
  *until = std::min(*until, resumes);
  return -1;
}

Fd Listener::Accept(std::string* from) {
  if (SystemClock().NowNanos() < resumes_nanos_.load(std::memory_order_relaxed)) return Fd();
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  Fd caller(accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (caller) {
    SendAtOnce(caller);
    if (from != nullptr) *from = HostOf(address);
    return caller;
  }
  switch (errno) {
    case EAGAIN:
    case EINTR:
    case ECONNABORTED:
      return Fd();
    case EMFILE:
    case ENFILE:
      for (int i = 0; i < kMostHungUpOn && HangUpOnOne(); ++i) {
      }
      break;
    default:
      break;  // of the network, or of memory: it may pass
  }
  resumes_nanos_.store(SystemClock().NowNanos() + kPauseNanos, std::memory_order_relaxed);
  return Fd();
}

// False: nobody was there, or there is no descriptor even for that.
bool Listener::HangUpOnOne() {
  const bool has_spare = static_cast<bool>(std::exchange(spare_, Fd()));
  const bool is_one =
      has_spare && Fd(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  spare_ = Spare();
  return is_one;
}

absl::StatusOr<std::unique_ptr<Listener>> ListenTcp(const HostPort& address, HostPort* bound) {
  GYRE_ASSIGN_OR_RETURN(const AddrInfo found, Resolve(address, true));
  Fd fd(NewSocket(found->ai_family));
  if (!fd) return SystemError("cannot make a socket");
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0)
    return SystemError(absl::StrCat("cannot listen on ", address.ToString()));
  sockaddr_storage name = {};
  socklen_t size = sizeof(name);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return SystemError("cannot tell which port it is");
  *bound = address;
  bound->port =
      ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&name)->sin6_port
                                       : reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
  return std::make_unique<Listener>(std::move(fd));
}

absl::StatusOr<std::unique_ptr<Listener>> ListenUnix(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const auto address, UnixName(name));
  Fd fd(NewSocket(AF_UNIX));
  if (!fd) return SystemError("cannot make a socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.first), address.second) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return SystemError(absl::StrCat("cannot listen on the name ", name));
  }
  return std::make_unique<Listener>(std::move(fd));
}

absl::StatusOr<Fd> DialTcp(const HostPort& address) {
  GYRE_ASSIGN_OR_RETURN(const AddrInfo found, Resolve(address, false));
  absl::Status status;
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    Fd fd(NewSocket(a->ai_family));
    if (!fd) return SystemError("cannot make a socket");
    SendAtOnce(fd);
    // What a signal interrupts goes on as well.
    if (connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR)
      return fd;
    status = SystemError(absl::StrCat("cannot reach ", address.ToString()));
  }
  return status;
}

absl::StatusOr<Fd> DialUnix(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const auto address, UnixName(name));
  Fd fd(NewSocket(AF_UNIX));
  if (!fd) return SystemError("cannot make a socket");
  int done = -1;
  do {
    done = connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.first), address.second);
  } while (done != 0 && errno == EINTR);
  if (done != 0) return SystemError(absl::StrCat("cannot reach the name ", name));
  return fd;
}

bool AwaitEvents(const Fd& fd, int16_t events, int64_t deadline_nanos) {
  constexpr int64_t kNanosPerMs = 1'000'000;
  pollfd waiting = {fd.get(), events, 0};
  while (true) {
    const int64_t left = deadline_nanos - SystemClock().NowNanos();
    // Rounded up: who wakes up early has nothing to do.
    const int64_t ms = left <= 0 ? 0 : std::min<int64_t>(left / kNanosPerMs + 1, 1'000'000);
    const int n = poll(&waiting, 1, static_cast<int>(ms));
    if (n > 0) return true;
    if (left <= 0) return false;
  }
}

absl::StatusOr<Fd> ConnectTcp(const HostPort& address, int64_t deadline_nanos) {
  GYRE_ASSIGN_OR_RETURN(const AddrInfo found, Resolve(address, false));
  absl::Status status;
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    Fd fd(NewSocket(a->ai_family));
    if (!fd) return SystemError("cannot make a socket");
    SendAtOnce(fd);
    int error = connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS || error == EINTR) {
      socklen_t size = sizeof(error);
      error = ETIMEDOUT;
      if (AwaitEvents(fd, POLLOUT, deadline_nanos) &&
          getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
      }
    }
    if (error == 0) return fd;
    errno = error;
    status = SystemError(absl::StrCat("cannot reach ", address.ToString()));
  }
  return status;
}

}  // namespace gyre::cluster

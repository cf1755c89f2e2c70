#include "dist/transport/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::dist {
namespace {

constexpr int kBacklog = 128;

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

absl::StatusOr<Fd> ListenTcp(const HostPort& address, HostPort* bound) {
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
  return fd;
}

absl::StatusOr<Fd> ListenUnix(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const auto address, UnixName(name));
  Fd fd(NewSocket(AF_UNIX));
  if (!fd) return SystemError("cannot make a socket");
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.first), address.second) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return SystemError(absl::StrCat("cannot listen on the name ", name));
  }
  return fd;
}

absl::StatusOr<Fd> DialTcp(const HostPort& address) {
  GYRE_ASSIGN_OR_RETURN(const AddrInfo found, Resolve(address, false));
  absl::Status status;
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    Fd fd(NewSocket(a->ai_family));
    if (!fd) return SystemError("cannot make a socket");
    const int yes = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS) return fd;
    status = SystemError(absl::StrCat("cannot reach ", address.ToString()));
  }
  return status;
}

absl::StatusOr<Fd> DialUnix(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const auto address, UnixName(name));
  Fd fd(NewSocket(AF_UNIX));
  if (!fd) return SystemError("cannot make a socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.first), address.second) != 0)
    return SystemError(absl::StrCat("cannot reach the name ", name));
  return fd;
}

absl::StatusOr<Fd> Accept(const Fd& listener) {
  Fd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    const int yes = 1;  // of no effect on a Unix socket
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    return fd;
  }
  const bool is_nobody = errno == EAGAIN || errno == EWOULDBLOCK || errno == ECONNABORTED ||
                         errno == EINTR || errno == EMFILE || errno == ENFILE;
  if (is_nobody) return Fd();
  return SystemError("cannot accept a connection");
}

}  // namespace gyre::dist

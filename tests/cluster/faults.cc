#include "cluster/faults.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace gyre::test {
namespace {

struct State {
  std::mutex mutex;
  Fault fault;                       // guarded by mutex, as is what follows
  std::map<std::string, int> calls;  // since SetFault
};

State& TheState() {
  static auto* const state = new State;
  return *state;
}

// The fault that this call is to have, with errno set, or none.
std::optional<int> Next(const char* call) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  const int count = ++state.calls[call];
  if (state.fault.call != call || state.fault.at != count) return std::nullopt;
  errno = state.fault.error;
  return state.fault.error;
}

}  // namespace

std::vector<Fault> PossibleFaults() {
  const std::map<std::string, std::vector<int>> errors = {
      {"accept4", {EINTR, ECONNABORTED, EMFILE, ENFILE, ENOMEM}},
      {"bind", {EADDRINUSE, ENOMEM}},
      {"connect", {EINTR, EAGAIN, ECONNREFUSED, ENOMEM}},
      {"eventfd", {EMFILE, ENFILE, ENOMEM}},
      {"fcntl", {ENOMEM}},
      {"fstat", {ENOMEM}},
      {"ftruncate", {EINTR, ENOMEM}},
      {"getsockname", {ENOMEM}},
      {"getsockopt", {ENOMEM}},
      {"listen", {EADDRINUSE}},
      {"memfd_create", {EMFILE, ENFILE, ENOMEM}},
      {"mmap", {ENOMEM}},
      {"open", {EINTR, EMFILE, ENOMEM}},
      {"poll", {EINTR, ENOMEM}},
      {"ppoll", {EINTR, ENOMEM}},
      {"read", {EINTR}},
      {"recv", {Fault::kShort, EINTR, ECONNRESET, ENOMEM}},
      {"recvmsg", {EINTR, ECONNRESET, ENOMEM}},
      {"send", {Fault::kShort, EINTR, ECONNRESET, EPIPE, ENOMEM}},
      {"sendmsg", {Fault::kShort, EINTR, ECONNRESET, EPIPE, ENOMEM}},
      {"setsockopt", {ENOMEM}},
      {"socket", {EMFILE, ENFILE, ENOMEM}},
      {"write", {EINTR}},
  };
  std::vector<Fault> faults;
  for (const auto& [call, of_call] : errors) {
    for (const int error : of_call) faults.push_back({call, error, 1});
  }
  return faults;
}

void SetFault(const Fault& fault) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  state.fault = fault;
  state.calls.clear();
}

int CallsOf(const std::string& call) {
  State& state = TheState();
  const std::lock_guard lock(state.mutex);
  return state.calls[call];
}

// The names are the linker's.
// NOLINTBEGIN(bugprone-reserved-identifier)

// What the linker puts in place of NAME; __real_NAME is what it was.
#define GYRE_FAULTY(result, name, parameters, arguments) \
  extern "C" result __real_##name parameters;            \
  extern "C" result __wrap_##name parameters {           \
    if (Next(#name)) return (result)(-1); /* NOLINT */   \
    return __real_##name arguments;                      \
  }

GYRE_FAULTY(int, accept4, (int fd, sockaddr* from, socklen_t* size, int flags),
            (fd, from, size, flags))
GYRE_FAULTY(int, bind, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
GYRE_FAULTY(int, connect, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
GYRE_FAULTY(int, eventfd, (unsigned count, int flags), (count, flags))
GYRE_FAULTY(int, fcntl, (int fd, int command, int64_t argument), (fd, command, argument))
GYRE_FAULTY(int, fstat, (int fd, struct stat* about), (fd, about))
GYRE_FAULTY(int, ftruncate, (int fd, off_t size), (fd, size))
GYRE_FAULTY(int, getsockname, (int fd, sockaddr* name, socklen_t* size), (fd, name, size))
GYRE_FAULTY(int, getsockopt, (int fd, int level, int name, void* value, socklen_t* size),
            (fd, level, name, value, size))
GYRE_FAULTY(int, listen, (int fd, int backlog), (fd, backlog))
GYRE_FAULTY(int, memfd_create, (const char* name, unsigned flags), (name, flags))
GYRE_FAULTY(void*, mmap, (void* at, size_t size, int access, int flags, int fd, off_t from),
            (at, size, access, flags, fd, from))
GYRE_FAULTY(int, open, (const char* path, int flags, mode_t mode), (path, flags, mode))
GYRE_FAULTY(int, poll, (pollfd * fds, nfds_t n, int ms), (fds, n, ms))
GYRE_FAULTY(int, ppoll, (pollfd * fds, nfds_t n, const timespec* time, const sigset_t* signals),
            (fds, n, time, signals))
GYRE_FAULTY(ssize_t, read, (int fd, void* into, size_t size), (fd, into, size))
GYRE_FAULTY(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
GYRE_FAULTY(int, setsockopt, (int fd, int level, int name, const void* value, socklen_t size),
            (fd, level, name, value, size))
GYRE_FAULTY(int, socket, (int family, int type, int protocol), (family, type, protocol))
GYRE_FAULTY(ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size))

extern "C" ssize_t __real_recv(int fd, void* into, size_t size, int flags);
extern "C" ssize_t __wrap_recv(int fd, void* into, size_t size, int flags) {
  const std::optional<int> fault = Next("recv");
  if (fault && *fault != Fault::kShort) return -1;
  return __real_recv(fd, into, fault ? 1 : size, flags);
}

extern "C" ssize_t __real_send(int fd, const void* from, size_t size, int flags);
extern "C" ssize_t __wrap_send(int fd, const void* from, size_t size, int flags) {
  const std::optional<int> fault = Next("send");
  if (fault && *fault != Fault::kShort) return -1;
  return __real_send(fd, from, fault ? 1 : size, flags);
}

extern "C" ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
extern "C" ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  const std::optional<int> fault = Next("sendmsg");
  if (!fault) return __real_sendmsg(fd, message, flags);
  if (*fault != Fault::kShort) return -1;
  msghdr shorter = *message;
  iovec first = message->msg_iov[0];
  first.iov_len = 1;
  shorter.msg_iov = &first;
  shorter.msg_iovlen = 1;
  return __real_sendmsg(fd, &shorter, flags);
}

// NOLINTEND(bugprone-reserved-identifier)

}  // namespace gyre::test

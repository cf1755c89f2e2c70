#include "tensor/io/file_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <memory>

namespace gyre::file_calls {
namespace {

struct CloseFolder {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
struct Free {
  void operator()(char* text) const { ::free(text); }
};

std::atomic<const FaultHook*> fault_hook{nullptr};

int FaultOf(Call call) {
  const FaultHook* hook = fault_hook.load(std::memory_order_acquire);
  return hook == nullptr ? 0 : (*hook)(call);
}

// The result of `make`, or -1 where the hook says so.
template <typename F>
auto Made(Call call, F make) -> decltype(make()) {
  for (;;) {
    decltype(make()) result = -1;
    const int fault = FaultOf(call);
    if (fault > 0) {
      errno = fault;
    } else {
      result = make();
    }
    if (result != -1 || errno != EINTR) return result;
  }
}

// The same for a call that moves `bytes` bytes, if need be fewer.
template <typename F>
ssize_t Moved(Call call, size_t bytes, F move) {
  for (;;) {
    ssize_t result = -1;
    const int fault = FaultOf(call);
    if (fault > 0) {
      errno = fault;
    } else {
      result = move(fault == kShort && bytes > 1 ? bytes / 2 : bytes);
    }
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace

void SetFaultHook(const FaultHook* hook) { fault_hook.store(hook, std::memory_order_release); }

int Open(const std::string& path, int flags, mode_t mode) {
  return Made(Call::kOpen, [&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

ssize_t ReadAt(int fd, void* to, size_t bytes, off_t offset) {
  return Moved(Call::kRead, bytes, [&](size_t n) { return ::pread(fd, to, n, offset); });
}

ssize_t Write(int fd, const void* from, size_t bytes) {
  return Moved(Call::kWrite, bytes, [&](size_t n) { return ::write(fd, from, n); });
}

int Sync(int fd) {
  return Made(Call::kSync, [&] { return ::fsync(fd); });
}

int Close(int fd) {
  const int fault = FaultOf(Call::kClose);
  // Interrupted or not, the descriptor is gone.
  const int result = ::close(fd);
  if (fault <= 0) return result == -1 && errno == EINTR ? 0 : result;
  if (fault == EINTR) return 0;
  errno = fault;
  return -1;
}

int TryLock(int fd) {
  return Made(Call::kLock, [&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
}

int Unlock(int fd) {
  return Made(Call::kLock, [&] { return ::flock(fd, LOCK_UN); });
}

int Stat(const std::string& path, struct stat* info) {
  return Made(Call::kAttributes, [&] { return ::stat(path.c_str(), info); });
}

int LinkStat(const std::string& path, struct stat* info) {
  return Made(Call::kAttributes, [&] { return ::lstat(path.c_str(), info); });
}

int DescriptorStat(int fd, struct stat* info) {
  return Made(Call::kAttributes, [&] { return ::fstat(fd, info); });
}

int SetMode(int fd, mode_t mode) {
  return Made(Call::kAttributes, [&] { return ::fchmod(fd, mode); });
}

int SetOwner(int fd, uid_t user, gid_t group) {
  return Made(Call::kAttributes, [&] { return ::fchown(fd, user, group); });
}

int ReadLink(const std::string& path, std::string* target) {
  std::string text(PATH_MAX, '\0');
  const ssize_t n =
      Made(Call::kAttributes, [&] { return ::readlink(path.c_str(), text.data(), text.size()); });
  if (n < 0) return -1;
  text.resize(static_cast<size_t>(n));
  *target = std::move(text);
  return 0;
}

int RealPath(const std::string& path, std::string* real) {
  return Made(Call::kAttributes, [&] {
    const std::unique_ptr<char, Free> found(::realpath(path.c_str(), nullptr));
    if (found == nullptr) return -1;
    *real = found.get();
    return 0;
  });
}

int List(const std::string& folder, std::vector<std::string>* names) {
  return Made(Call::kList, [&] {
    const std::unique_ptr<DIR, CloseFolder> stream(::opendir(folder.c_str()));
    if (stream == nullptr) return -1;
    names->clear();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names->push_back(name);
    }
    if (errno != 0) return -1;
    std::sort(names->begin(), names->end());
    return 0;
  });
}

int Rename(const std::string& from, const std::string& to) {
  return Made(Call::kRename, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int Exchange(const std::string& one, const std::string& other) {
  return Made(Call::kRename, [&] {
    return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  });
}

int Link(const std::string& from, const std::string& to) {
  return Made(Call::kLink, [&] { return ::link(from.c_str(), to.c_str()); });
}

int LinkByName(const std::string& target, const std::string& at) {
  return Made(Call::kLink, [&] { return ::symlink(target.c_str(), at.c_str()); });
}

int Remove(const std::string& path) {
  return Made(Call::kRemove, [&] { return ::unlink(path.c_str()); });
}

int RemoveFolder(const std::string& path) {
  return Made(Call::kRemove, [&] { return ::rmdir(path.c_str()); });
}

int MakeFolder(const std::string& path, mode_t mode) {
  return Made(Call::kMakeFolder, [&] { return ::mkdir(path.c_str(), mode); });
}

}  // namespace gyre::file_calls

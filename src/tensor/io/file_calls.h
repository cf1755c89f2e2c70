// The calls of the operating system by which Gyre touches files. All access of src/ to files goes
// through these, so that a test can let each of them fail. Each behaves as the call that its
// comment names (a result of -1 and errno), but that one that a signal interrupts is made again,
// and that no descriptor outlives exec. Stateless but for the hook; any thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace gyre::file_calls {

enum class Call {
  kOpen,
  kRead,
  kWrite,
  kSync,
  kClose,
  kLock,
  kAttributes,  // of files and folders: asked for or set
  kList,
  kRename,
  kLink,
  kRemove,
  kMakeFolder,
};

int Open(const std::string& path, int flags, mode_t mode = 0);         // open
ssize_t ReadAt(int fd, void* to, size_t bytes, off_t offset);          // pread
ssize_t Write(int fd, const void* from, size_t bytes);                 // write
int Sync(int fd);                                                      // fsync
int Close(int fd);                                                     // close
int TryLock(int fd);                                                   // flock
int Unlock(int fd);                                                    // flock
int Stat(const std::string& path, struct stat* info);                  // stat
int LinkStat(const std::string& path, struct stat* info);              // lstat
int DescriptorStat(int fd, struct stat* info);                         // fstat
int SetMode(int fd, mode_t mode);                                      // fchmod
int SetOwner(int fd, uid_t user, gid_t group);                         // fchown
int ReadLink(const std::string& path, std::string* target);            // readlink
int RealPath(const std::string& path, std::string* real);              // realpath
int List(const std::string& folder, std::vector<std::string>* names);  // readdir, sorted
int Rename(const std::string& from, const std::string& to);            // rename
int Exchange(const std::string& one, const std::string& other);        // renameat2
int Link(const std::string& from, const std::string& to);              // link
int LinkByName(const std::string& target, const std::string& at);      // symlink
int Remove(const std::string& path);                                   // unlink
int RemoveFolder(const std::string& path);                             // rmdir
int MakeFolder(const std::string& path, mode_t mode);                  // mkdir

// Asked before each call: the errno that it is to fail with, kShort, or 0 to let it be made. A call
// to close a descriptor closes it also where it is to fail.
using FaultHook = std::function<int(Call)>;
// Of a read or a write: half of the bytes, but at least one.
inline constexpr int kShort = -1;

// For tests. Null: none. Not while another thread is in a call.
void SetFaultHook(const FaultHook* hook);

}  // namespace gyre::file_calls

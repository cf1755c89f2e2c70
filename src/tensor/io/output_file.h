// OutputFile: a file that is being written, and that others see once it is whole.
//
// What is written goes to a file of another name beside it (NAME.unfinished), which is flushed to
// disk and then renamed; so whenever the process or the machine stops, the file is the old one or
// the new one. A writer holds a lock on its unfinished file (flock). That tells the one that
// somebody is writing from one that a killed writer left: the next writer of that name removes the
// latter. Two writers of one name work on two unfinished files, and the later one wins.
//
// - A symbolic link is followed: what it leads to is replaced.
// - The new file has the old one's permissions, and its owner where the system allows that. Other
//   names (hard links) of the old file keep the old content. A file that was not there gets what
//   umask says.
// - The folder must be writable, even if the old file is.
// - What is no regular file (a pipe, a device, /dev/stdout) is written to directly.
//
// One owner, one thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/io/unfinished_files.h"

namespace gyre {

// A lock on a file or a folder that is there: of one holder at a time, of any process. It ends with
// the object, or with the process.
class FileLock {
 public:
  // Nullptr when another holds it, or when nothing is at `path`, or another thing once the lock is
  // taken. Where the file system has no such locks, nobody is thought to hold one: there one writer
  // at a time may write to a name.
  static std::unique_ptr<FileLock> TryTake(const std::string& path);
  // Of a file that was just made; the descriptor is the lock's, or is closed. Nullptr when another
  // was faster, and removes the file.
  static std::unique_ptr<FileLock> OfNew(int fd, const std::string& path);
  // No lock, but the owner of a descriptor.
  static std::unique_ptr<FileLock> Unlocked(int fd);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  int fd() const { return fd_; }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  // False when another holds it.
  bool Take() const;
  const int fd_;
};

// Names that something unfinished may have beside `path`, in the order in which writers try them.
// Short enough for a file system also where `path` ends in a name as long as it allows.
std::string UnfinishedName(const std::string& path, int number);
inline constexpr int kMostWriters = 64;
// The first so many are looked at by each writer; what nobody holds there, it removes.
inline constexpr int kCleanedWriters = 4;

// Where to write for `path`: with all links followed. `direct`: it is nothing that can be replaced.
struct OutputTarget {
  std::string path;
  bool exists = false, direct = false;
};
absl::StatusOr<OutputTarget> FollowLinks(const std::string& path);

class OutputFile {
 public:
  // Of what is at `path`, or will be. NOT_FOUND: its folder is not there. INVALID_ARGUMENT: it is a
  // folder. Errors of SystemError otherwise, also from the others. `mode`: of a new one, who may
  // use it, as far as umask allows.
  static absl::StatusOr<OutputFile> Replacing(const std::string& path, mode_t mode = 0666);
  // A file that must not be there yet (ALREADY_EXISTS), and that lies under its own name from the
  // start: for data that counts once another file, replaced in one step, names it. The object
  // keeps the lock on it after Commit(): as long as somebody has that, the file is not left over.
  static absl::StatusOr<OutputFile> New(const std::string& path);

  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  // What was not committed is removed.
  ~OutputFile();

  // After an error all further calls return it.
  absl::Status Write(absl::string_view bytes);
  // The file is on disk, under its name; a New() one once its folder is flushed, too (SyncFolder).
  absl::Status Commit();

 private:
  OutputFile(std::string path, std::string target, std::string unfinished,
             std::unique_ptr<FileLock> lock);
  absl::Status Flush();
  absl::Status WriteAll(absl::string_view bytes);
  absl::Status Finish();
  absl::Status KeepAttributes();

  std::string path_;        // as messages call it
  std::string target_;      // what it leads to
  std::string unfinished_;  // what is being written; empty: nothing is to be removed
  UnfinishedFile removed_by_signals_;
  std::unique_ptr<FileLock> file_;
  std::string buffer_;
  absl::Status status_;
  bool is_direct_ = false, is_empty_ = true;
};

// Writes all of the file `from` to another.
absl::Status CopyInto(const std::string& from, OutputFile& to);

}  // namespace gyre

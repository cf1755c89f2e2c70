// Reading and writing files: the ground under the tensor formats of this folder, and the one way by
// which Gyre's files come to be (with output_file.h and output_folder.h, which it stands on).
//
// An InputFile may be read from many threads; it owns its descriptor. The functions are stateless;
// any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT InputFile {
 public:
  // NOT_FOUND when there is none; INVALID_ARGUMENT for what is no regular file (a folder, a pipe).
  static absl::StatusOr<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), size_(other.size_), fd_(std::exchange(other.fd_, -1)) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  // Bytes in the file when it was opened.
  int64_t size() const { return size_; }
  // Fills `bytes` bytes at `dest` from `offset` on. INVALID_ARGUMENT when the file ends before.
  absl::Status ReadAt(int64_t offset, void* dest, int64_t bytes) const;

 private:
  InputFile(std::string path, int64_t size, int fd)
      : path_(std::move(path)), size_(size), fd_(fd) {}

  std::string path_;
  int64_t size_;
  int fd_;
};

// The whole file. Errors as InputFile's; RESOURCE_EXHAUSTED when it does not fit in memory.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Makes or replaces the file with the pieces, one after the other, as OutputFile does: in one step,
// and on disk when this returns OK. `mode`: of a new one, who may use it, as far as umask allows.
GYRE_INTERNAL_EXPORT absl::Status WriteFile(const std::string& path,
                                            absl::Span<const absl::string_view> pieces,
                                            mode_t mode = 0666);

// Removes a file or a link; OK also when there is none.
absl::Status RemoveFile(const std::string& path);

// OK when `path`, with all links followed, lies in `folder`: a file that names others cannot make a
// reader look elsewhere. PERMISSION_DENIED otherwise; NOT_FOUND when there is nothing at `path`.
absl::Status CheckWithin(const std::string& path, const std::string& folder);

// Makes a folder, and those that it lies in, unless it is there; OK means that it is on disk.
// `mode`: who may use it, as far as umask allows. Nothing to do for an empty path, the current
// folder.
GYRE_INTERNAL_EXPORT absl::Status MakeFolder(const std::string& path, mode_t mode = 0777);

// The names in a folder but "." and "..", in ascending order.
absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path);

// The names in a folder become durable with it, not with the files.
absl::Status SyncFolder(const std::string& path);

// What is at a path, links followed. An error where that cannot be told.
enum class PathKind { kNothing, kFile, kFolder, kOther };
absl::StatusOr<PathKind> KindOf(const std::string& path);

// What lies at a path, links followed; maybe nothing. While it is held, what takes its place has
// another number, also where the first is gone and its number would be free.
class HeldPath {
 public:
  explicit HeldPath(std::string path);
  ~HeldPath();
  HeldPath(const HeldPath&) = delete;
  HeldPath& operator=(const HeldPath&) = delete;

  // False once it has been replaced as a whole, or removed.
  bool IsThereStill() const;

 private:
  const std::string path_;
  const int descriptor_;  // -1: there is nothing to hold
  const std::string identity_;
};

// The folder that a path lies in: "." for a plain name.
std::string FolderOf(const std::string& path);
// What comes behind it.
std::string NameOf(const std::string& path);

// The error of a call of the operating system on `path`: "cannot write a/b: No space left on
// device; …", with what to do about it. Of the codes: NOT_FOUND, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED (of a disk, of descriptors), INVALID_ARGUMENT (a path that can be none),
// UNAVAILABLE.
absl::Status SystemError(int error, absl::string_view what, const std::string& path);
// INVALID_ARGUMENT: `path`, where a folder is to be, is something else.
absl::Status NotAFolder(const std::string& path);
// The errno that a status of these is about, also where it was annotated; 0 for others.
GYRE_INTERNAL_EXPORT int SystemErrorOf(const absl::Status& status);

}  // namespace gyre

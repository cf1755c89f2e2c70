// Reading and writing regular files: the ground under the tensor formats of this folder.
//
// An InputFile may be read from many threads; it owns its descriptor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gyre {

class InputFile {
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

// Makes or replaces the file with the pieces, one after the other.
absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces);

// The same, but in one step: whenever the process or the machine stops, the file is the old one or
// the new one, whole. When this returns OK, the new one is on disk. What was being written when it
// failed or stopped is left beside it, as `path` + kUnfinished, until the next time.
inline constexpr absl::string_view kUnfinished = ".unfinished";
absl::Status ReplaceFile(const std::string& path, absl::Span<const absl::string_view> pieces);

// OK when `path`, with all links followed, lies in `folder`: a file that names others cannot make a
// reader look elsewhere. PERMISSION_DENIED otherwise; NOT_FOUND when there is nothing at `path`.
absl::Status CheckWithin(const std::string& path, const std::string& folder);

// Makes a folder, and those that it lies in, unless it is there; OK means that it is on disk.
absl::Status MakeFolder(const std::string& path);

}  // namespace gyre

#include "tensor/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/status.h"

namespace gyre {
namespace {

absl::Status SystemError(int error, absl::string_view what, const std::string& path) {
  const std::string message = absl::StrCat(what, " ", path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(errno, "cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

enum class Durability { kNone, kOnDisk };

absl::Status Write(const std::string& path, absl::Span<const absl::string_view> pieces,
                   Durability durability) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return SystemError(errno, "cannot write", path);
  absl::Status status;
  for (const absl::string_view piece : pieces) {
    if (status.ok()) status = WriteAll(fd, path, piece);
  }
  if (status.ok() && durability == Durability::kOnDisk && ::fsync(fd) != 0)
    status = SystemError(errno, "cannot write", path);
  // A full disk may show only now.
  if (::close(fd) != 0 && status.ok()) status = SystemError(errno, "cannot write", path);
  return status;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A file's name is part of its folder, which reaches the disk by itself.
absl::Status SyncFolder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(errno, "cannot open", path);
  absl::Status status;
  // EINVAL: file systems that need no such thing.
  if (::fsync(fd) != 0 && errno != EINVAL) status = SystemError(errno, "cannot write", path);
  ::close(fd);
  return status;
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not wait; it has no effect on files.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(errno, "cannot open", path);
  struct stat info;
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return SystemError(error, "cannot open", path);
  }
  InputFile file(path, info.st_size, fd);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(info.st_mode) ? " is a folder" : " is not a regular file"));
  }
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status InputFile::ReadAt(int64_t offset, void* dest, int64_t bytes) const {
  char* to = static_cast<char*>(dest);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_, to, static_cast<size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(errno, "cannot read", path_);
    if (n == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, " is cut short: ", bytes, " bytes are missing at its end"));
    }
    to += n;
    offset += n;
    bytes -= n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string bytes;
  try {
    bytes.resize(static_cast<size_t>(file.size()));
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " does not fit in memory: ", file.size(), " bytes"));
  }
  GYRE_RETURN_IF_ERROR(file.ReadAt(0, bytes.data(), file.size()));
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces) {
  return Write(path, pieces, Durability::kNone);
}

absl::Status ReplaceFile(const std::string& path, absl::Span<const absl::string_view> pieces) {
  const std::string unfinished = absl::StrCat(path, kUnfinished);
  GYRE_RETURN_IF_ERROR(Write(unfinished, pieces, Durability::kOnDisk));
  if (::rename(unfinished.c_str(), path.c_str()) != 0)
    return SystemError(errno, "cannot replace", path);
  return SyncFolder(FolderOf(path));
}

absl::Status CheckWithin(const std::string& path, const std::string& folder) {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(folder, error);
  if (error) return SystemError(error.value(), "cannot open", folder);
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) return SystemError(error.value(), "cannot open", path);
  const auto [end, ignored] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
  if (end == root.end()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, " leads out of the folder ", folder, ": it is not read"));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(path, error);
  if (error) return SystemError(error.value(), "cannot make the folder", path);
  if (!std::filesystem::is_directory(path, error))
    return absl::InvalidArgumentError(absl::StrCat(path, " is no folder"));
  return is_new ? SyncFolder(FolderOf(path)) : absl::OkStatus();
}

}  // namespace gyre

#include "tensor/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "base/work.h"
#include "tensor/io/file_calls.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace {

constexpr absl::string_view kErrno = "gyre.errno";

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// What the user can do; empty where the message says it already.
absl::string_view RemedyFor(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room, or write elsewhere";
    case EFBIG:
      return "; raise the limit on the size of files (ulimit -f), or write elsewhere";
    case EMFILE:
    case ENFILE:
      return "; close files, or raise the limit on open ones (ulimit -n)";
    case EACCES:
    case EPERM:
      return "; check the permissions of it and of its folder";
    case EROFS:
      return "; write elsewhere";
    case EIO:
      return "; check the disk";
    case EBUSY:
      return "; it is in use, or mounted: write elsewhere";
    default:
      return "";
  }
}

}  // namespace

absl::Status SystemError(int error, absl::string_view what, const std::string& path) {
  absl::Status status(CodeOf(error),
                      absl::StrCat(what, " ", path, ": ", std::strerror(error), RemedyFor(error)));
  status.SetPayload(kErrno, absl::Cord(absl::StrCat(error)));
  return status;
}

absl::Status NotAFolder(const std::string& path) {
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat(path, " is a file, not a folder that could be written to; write elsewhere"));
  status.SetPayload(kErrno, absl::Cord(absl::StrCat(ENOTDIR)));
  return status;
}

int SystemErrorOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrno);
  int error = 0;
  return payload && absl::SimpleAtoi(std::string(*payload), &error) ? error : 0;
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not wait; it has no effect on files.
  const int fd = file_calls::Open(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return SystemError(errno, "cannot open", path);
  InputFile file(path, 0, fd);
  struct stat info;
  if (file_calls::DescriptorStat(fd, &info) != 0) return SystemError(errno, "cannot open", path);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(info.st_mode) ? " is a folder" : " is not a regular file"));
  }
  file.size_ = info.st_size;
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0) file_calls::Close(fd_);
}

absl::Status InputFile::ReadAt(int64_t offset, void* dest, int64_t bytes) const {
  char* to = static_cast<char*>(dest);
  while (bytes > 0) {
    const ssize_t n = file_calls::ReadAt(fd_, to, static_cast<size_t>(bytes), offset);
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
  SpendWorkMemory(file.size());
  std::string bytes;
  try {
    bytes.reserve(static_cast<size_t>(file.size()));
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " does not fit in memory: ", file.size(), " bytes"));
  }
  // In pieces, for whoever has no more time, or no room for a file of this size.
  constexpr int64_t kPieceBytes = 4 << 20;
  for (int64_t offset = 0; offset < file.size();) {
    if (absl::Status status = WorkLimit::Check(); !status.ok())
      return Annotate(status, absl::StrCat("while reading ", path));
    const int64_t piece = std::min(kPieceBytes, file.size() - offset);
    bytes.resize(static_cast<size_t>(offset + piece));
    GYRE_RETURN_IF_ERROR(file.ReadAt(offset, bytes.data() + offset, piece));
    offset += piece;
  }
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::Span<const absl::string_view> pieces,
                       mode_t mode) {
  GYRE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Replacing(path, mode));
  for (const absl::string_view piece : pieces) GYRE_RETURN_IF_ERROR(file.Write(piece));
  return file.Commit();
}

absl::Status RemoveFile(const std::string& path) {
  if (file_calls::Remove(path) == 0 || errno == ENOENT) return absl::OkStatus();
  return SystemError(errno, "cannot remove", path);
}

absl::Status CheckWithin(const std::string& path, const std::string& folder) {
  std::string root, target;
  if (file_calls::RealPath(folder, &root) != 0) return SystemError(errno, "cannot open", folder);
  if (file_calls::RealPath(path, &target) != 0) return SystemError(errno, "cannot open", path);
  const std::filesystem::path outer(root), inner(target);
  const auto [end, ignored] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  if (end == outer.end()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, " leads out of the folder ", folder, ": it is not read"));
}

absl::Status MakeFolder(const std::string& path, mode_t mode) {
  if (path.empty()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(path));
  if (kind == PathKind::kFolder) return absl::OkStatus();
  if (kind != PathKind::kNothing) return NotAFolder(path);
  const std::string parent = FolderOf(path);
  GYRE_RETURN_IF_ERROR(MakeFolder(parent));
  // Another may have made it meanwhile. "a/" is made by making "a".
  if (file_calls::MakeFolder(path, mode) != 0 && errno != EEXIST)
    return SystemError(errno, "cannot make the folder", path);
  return SyncFolder(parent);
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  std::vector<std::string> names;
  if (file_calls::List(path, &names) != 0) return SystemError(errno, "cannot list", path);
  return names;
}

absl::Status SyncFolder(const std::string& path) {
  const int fd = file_calls::Open(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return SystemError(errno, "cannot open", path);
  absl::Status status;
  // EINVAL: file systems that need no such thing.
  if (file_calls::Sync(fd) != 0 && errno != EINVAL)
    status = SystemError(errno, "cannot write", path);
  file_calls::Close(fd);
  return status;
}

absl::StatusOr<PathKind> KindOf(const std::string& path) {
  struct stat info;
  if (file_calls::Stat(path, &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return PathKind::kNothing;
    return SystemError(errno, "cannot look at", path);
  }
  if (S_ISDIR(info.st_mode)) return PathKind::kFolder;
  return S_ISREG(info.st_mode) ? PathKind::kFile : PathKind::kOther;
}

namespace {
std::string NumberOf(const struct stat& info) {
  return absl::StrCat(info.st_dev, ":", info.st_ino);
}
// Empty where there is nothing.
std::string NumberAt(const std::string& path) {
  struct stat info;
  return file_calls::Stat(path, &info) == 0 ? NumberOf(info) : "";
}
std::string NumberOfOpen(int descriptor, const std::string& path) {
  struct stat info;
  return descriptor >= 0 && file_calls::DescriptorStat(descriptor, &info) == 0 ? NumberOf(info)
                                                                               : NumberAt(path);
}
}  // namespace

HeldPath::HeldPath(std::string path)
    : path_(std::move(path)),
      descriptor_(file_calls::Open(path_, O_PATH)),
      identity_(NumberOfOpen(descriptor_, path_)) {}

HeldPath::~HeldPath() {
  if (descriptor_ >= 0) file_calls::Close(descriptor_);
}

bool HeldPath::IsThereStill() const { return NumberAt(path_) == identity_; }

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace gyre

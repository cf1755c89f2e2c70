#include "tensor/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "tensor/io/file.h"
#include "tensor/io/file_calls.h"

namespace gyre {
namespace {

// Pieces of less than this are put together.
constexpr size_t kBufferBytes = 1 << 16;
// As many as Linux follows.
constexpr int kMostLinks = 40;
constexpr mode_t kPermissions = 07777;

// `target`: where links at `path` lead; empty: nowhere else.
absl::Status CannotWrite(int error, const std::string& path, const std::string& target = "") {
  struct stat info;
  const std::string folder = FolderOf(target.empty() ? path : target);
  if (error == ENOENT && file_calls::Stat(folder, &info) != 0) {
    return Annotate(SystemError(error, "there is no folder", folder),
                    absl::StrCat("cannot write ", path));
  }
  return SystemError(error, "cannot write", path);
}

// Whether the open file is still what lies at `path`; nullopt when that cannot be told.
std::optional<bool> IsAt(int fd, const std::string& path) {
  struct stat open, there;
  if (file_calls::LinkStat(path, &there) != 0)
    return errno == ENOENT ? std::optional(false) : std::nullopt;
  if (file_calls::DescriptorStat(fd, &open) != 0) return std::nullopt;
  return open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

// Removes what a killed writer left. Whoever holds the lock may: only its holder renames the file.
void RemoveAbandoned(const std::string& unfinished) {
  if (const auto lock = FileLock::TryTake(unfinished)) file_calls::Remove(unfinished);
}

}  // namespace

std::unique_ptr<FileLock> FileLock::TryTake(const std::string& path) {
  int fd = file_calls::Open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0 && (errno == EISDIR || errno == EACCES))
    fd = file_calls::Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  std::unique_ptr<FileLock> lock(new FileLock(fd));
  return lock->Take() && IsAt(fd, path).value_or(false) ? std::move(lock) : nullptr;
}

std::unique_ptr<FileLock> FileLock::OfNew(int fd, const std::string& path) {
  std::unique_ptr<FileLock> lock(new FileLock(fd));
  return lock->Take() && IsAt(fd, path).value_or(true) ? std::move(lock) : nullptr;
}

bool FileLock::Take() const { return file_calls::TryLock(fd_) == 0 || errno != EWOULDBLOCK; }

std::unique_ptr<FileLock> FileLock::Unlocked(int fd) {
  return std::unique_ptr<FileLock>(new FileLock(fd));
}

FileLock::~FileLock() {
  // A child that was forked meanwhile shares the lock, and would keep it.
  file_calls::Unlock(fd_);
  file_calls::Close(fd_);
}

std::string UnfinishedName(const std::string& path, int number) {
  constexpr size_t kRoom = 20;
  std::string name = NameOf(path);
  std::string folder = path.substr(0, path.size() - name.size());
  if (name.size() > NAME_MAX - kRoom) {
    const uint32_t crc = Crc32c(name.data(), name.size());
    name = absl::StrCat(name.substr(0, NAME_MAX - 2 * kRoom), "-", absl::Hex(crc, absl::kZeroPad8));
  }
  return absl::StrCat(folder, name, ".unfinished", number == 0 ? "" : absl::StrCat("-", number));
}

absl::StatusOr<OutputTarget> FollowLinks(const std::string& path) {
  std::string current = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::string folder;
    if (file_calls::RealPath(FolderOf(current), &folder) != 0)
      return CannotWrite(errno, path, current);
    const std::string full = absl::StrCat(folder, "/", NameOf(current));
    // Descriptors that others have open (/dev/stdout leads there).
    if (absl::StartsWith(full, "/proc/")) return OutputTarget{current, true, true};
    struct stat info;
    if (file_calls::LinkStat(current, &info) != 0) {
      if (errno == ENOENT) return OutputTarget{current, false, false};
      return CannotWrite(errno, path);
    }
    if (!S_ISLNK(info.st_mode))
      return OutputTarget{current, true, !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)};
    std::string target;
    if (file_calls::ReadLink(current, &target) != 0) return CannotWrite(errno, path);
    current = absl::StartsWith(target, "/") ? target : absl::StrCat(folder, "/", target);
  }
  return CannotWrite(ELOOP, path);
}

OutputFile::OutputFile(std::string path, std::string target, std::string unfinished,
                       std::unique_ptr<FileLock> lock)
    : path_(std::move(path)),
      target_(std::move(target)),
      unfinished_(std::move(unfinished)),
      file_(std::move(lock)) {
  if (!unfinished_.empty()) removed_by_signals_ = UnfinishedFile(unfinished_);
}

absl::StatusOr<OutputFile> OutputFile::Replacing(const std::string& path, mode_t mode) {
  GYRE_ASSIGN_OR_RETURN(const OutputTarget target, FollowLinks(path));
  if (target.direct) {
    const int fd = file_calls::Open(target.path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (fd < 0) return CannotWrite(errno, path, target.path);
    OutputFile file(path, target.path, "", FileLock::Unlocked(fd));
    file.is_direct_ = true;
    return file;
  }
  struct stat info;
  if (target.exists && file_calls::Stat(target.path, &info) == 0 && S_ISDIR(info.st_mode))
    return CannotWrite(EISDIR, path);
  // Nobody may read meanwhile what the old file kept to itself.
  if (target.exists) mode = 0600;
  for (int i = 0; i < kCleanedWriters; ++i) RemoveAbandoned(UnfinishedName(target.path, i));
  for (int i = 0; i < kMostWriters; ++i) {
    const std::string unfinished = UnfinishedName(target.path, i);
    const UnfinishedChange change;
    const int fd = file_calls::Open(unfinished, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return CannotWrite(errno, path, target.path);
    if (auto lock = FileLock::OfNew(fd, unfinished))
      return OutputFile(path, target.path, unfinished, std::move(lock));
  }
  return absl::UnavailableError(absl::StrCat(
      "cannot write ", path, ": ", kMostWriters, " unfinished files of others (",
      UnfinishedName(path, 0), ", …) are beside it; remove them if nobody is writing"));
}

absl::StatusOr<OutputFile> OutputFile::New(const std::string& path) {
  const UnfinishedChange change;
  const int fd = file_calls::Open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (fd < 0 && errno == EEXIST)
    return absl::AlreadyExistsError(absl::StrCat("there is a file ", path));
  if (fd < 0) return CannotWrite(errno, path);
  auto lock = FileLock::OfNew(fd, path);
  if (lock == nullptr) return absl::AlreadyExistsError(absl::StrCat(path, " was removed"));
  return OutputFile(path, path, path, std::move(lock));
}

OutputFile::~OutputFile() {
  if (file_ == nullptr || unfinished_.empty()) return;
  const UnfinishedChange change;
  file_calls::Remove(unfinished_);
  removed_by_signals_ = UnfinishedFile();
}

absl::Status OutputFile::WriteAll(absl::string_view bytes) {
  is_empty_ &= bytes.empty();
  while (!bytes.empty()) {
    const ssize_t n = file_calls::Write(file_->fd(), bytes.data(), bytes.size());
    if (n < 0) return CannotWrite(errno, path_);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status OutputFile::Flush() {
  const absl::Status status = WriteAll(buffer_);
  buffer_.clear();
  return status;
}

absl::Status OutputFile::Write(absl::string_view bytes) {
  if (status_.ok() && buffer_.size() + bytes.size() > kBufferBytes) status_ = Flush();
  if (!status_.ok()) return status_;
  if (bytes.size() < kBufferBytes) {
    buffer_.append(bytes.data(), bytes.size());
  } else {
    status_ = WriteAll(bytes);
  }
  return status_;
}

// Those of the old file, if there is one.
absl::Status OutputFile::KeepAttributes() {
  struct stat old, fresh;
  if (file_calls::Stat(target_, &old) != 0)
    return errno == ENOENT ? absl::OkStatus() : CannotWrite(errno, path_);
  if (file_calls::DescriptorStat(file_->fd(), &fresh) != 0) return CannotWrite(errno, path_);
  // Only root may give files away.
  if (old.st_uid != fresh.st_uid || old.st_gid != fresh.st_gid)
    static_cast<void>(file_calls::SetOwner(file_->fd(), old.st_uid, old.st_gid));
  if (file_calls::SetMode(file_->fd(), old.st_mode & kPermissions) != 0)
    return CannotWrite(errno, path_);
  return absl::OkStatus();
}

absl::Status OutputFile::Finish() {
  GYRE_RETURN_IF_ERROR(Flush());
  const bool is_replacing = unfinished_ != target_ && !is_direct_;
  if (is_replacing) GYRE_RETURN_IF_ERROR(KeepAttributes());
  // A new file without bytes is its name alone, which is its folder's. EINVAL, EROFS: what is no
  // file has nothing to flush.
  if ((is_replacing || !is_empty_) && file_calls::Sync(file_->fd()) != 0 && errno != EINVAL &&
      !(is_direct_ && errno == EROFS))
    return CannotWrite(errno, path_);
  if (!is_replacing) {
    removed_by_signals_ = UnfinishedFile();
    return absl::OkStatus();
  }
  {
    const UnfinishedChange change;
    if (file_calls::Rename(unfinished_, target_) != 0) return CannotWrite(errno, path_);
    removed_by_signals_ = UnfinishedFile();
  }
  unfinished_.clear();
  return Annotate(SyncFolder(FolderOf(target_)),
                  absl::StrCat("cannot make sure that ", path_, " outlives a loss of power"));
}

absl::Status OutputFile::Commit() {
  if (status_.ok()) status_ = Finish();
  if (!status_.ok()) return status_;
  // The lock on a new file stays until what names it is there, too.
  if (unfinished_.empty()) file_.reset();
  unfinished_.clear();
  return absl::OkStatus();
}

absl::Status CopyInto(const std::string& from, OutputFile& to) {
  constexpr int64_t kChunk = 1 << 20;
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(from));
  std::string chunk;
  for (int64_t at = 0; at < file.size(); at += kChunk) {
    chunk.resize(static_cast<size_t>(std::min(kChunk, file.size() - at)));
    GYRE_RETURN_IF_ERROR(file.ReadAt(at, chunk.data(), static_cast<int64_t>(chunk.size())));
    GYRE_RETURN_IF_ERROR(to.Write(chunk));
  }
  return absl::OkStatus();
}

}  // namespace gyre

#include "tensor/io/output_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tensor/io/file.h"
#include "tensor/io/file_calls.h"

namespace gyre {
namespace {

std::string Join(const std::string& folder, const std::string& name) {
  return absl::StrCat(folder, "/", name);
}

// Gives what is open at `fd` the permissions and, where allowed, the owner of `info`.
absl::Status SetAttributes(int fd, const struct stat& info, const std::string& path) {
  struct stat now;
  if (file_calls::DescriptorStat(fd, &now) != 0) return SystemError(errno, "cannot write", path);
  if (now.st_uid != info.st_uid || now.st_gid != info.st_gid)
    static_cast<void>(file_calls::SetOwner(fd, info.st_uid, info.st_gid));
  if (file_calls::SetMode(fd, info.st_mode & 07777) != 0)
    return SystemError(errno, "cannot write", path);
  return absl::OkStatus();
}

// Makes `to` another name of `from`: of a folder a folder of such names, where that cannot be of a
// file a copy.
absl::Status LinkTree(const std::string& from, const std::string& to) {
  struct stat info;
  if (file_calls::LinkStat(from, &info) != 0) return SystemError(errno, "cannot read", from);
  if (S_ISLNK(info.st_mode)) {
    std::string target;
    if (file_calls::ReadLink(from, &target) != 0) return SystemError(errno, "cannot read", from);
    if (file_calls::LinkByName(target, to) != 0) return SystemError(errno, "cannot write", to);
    return absl::OkStatus();
  }
  if (!S_ISDIR(info.st_mode)) {
    if (file_calls::Link(from, to) == 0) return absl::OkStatus();
    GYRE_ASSIGN_OR_RETURN(OutputFile copy, OutputFile::New(to));
    GYRE_RETURN_IF_ERROR(CopyInto(from, copy));
    return copy.Commit();
  }
  GYRE_RETURN_IF_ERROR(MakeFolder(to));
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(from));
  for (const std::string& name : names)
    GYRE_RETURN_IF_ERROR(LinkTree(Join(from, name), Join(to, name)));
  const auto opened = FileLock::TryTake(to);
  if (opened != nullptr) GYRE_RETURN_IF_ERROR(SetAttributes(opened->fd(), info, to));
  return SyncFolder(to);
}

// Exchanges what is at two paths of one folder. Where the file system cannot do that in one step,
// `spare` is a third name for an instant.
absl::Status ExchangePaths(const std::string& fresh, const std::string& old,
                           const std::string& spare) {
  if (file_calls::Exchange(fresh, old) == 0) return absl::OkStatus();
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
    return SystemError(errno, "cannot replace", old);
  RemoveTree(spare);
  if (file_calls::Rename(old, spare) != 0) return SystemError(errno, "cannot replace", old);
  if (file_calls::Rename(fresh, old) != 0) {
    const int error = errno;
    file_calls::Rename(spare, old);
    return SystemError(error, "cannot replace", old);
  }
  if (file_calls::Rename(spare, fresh) != 0) RemoveTree(spare);
  return absl::OkStatus();
}

// False: nothing is there, or somebody holds it.
bool RemoveAbandoned(const std::string& unfinished) {
  const auto lock = FileLock::TryTake(unfinished);
  if (lock != nullptr) RemoveTree(unfinished);
  return lock != nullptr;
}

// What another writer has put where it belongs, and was exchanged from there: that one may be about
// to give its lock back.
void RemoveReplaced(const std::string& unfinished) {
  struct stat info;
  for (int i = 0; i < 50 && !RemoveAbandoned(unfinished); ++i) {
    if (file_calls::LinkStat(unfinished, &info) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Whether this process is in the folder, or below: in another one, it would be in one that is gone.
bool IsCurrent(const std::string& folder) {
  std::string current;
  return file_calls::RealPath(".", &current) == 0 &&
         absl::StartsWith(absl::StrCat(current, "/"), absl::StrCat(folder, "/"));
}

// Whether a folder is on another file system than the one that it lies in.
bool IsMounted(const std::string& folder) {
  struct stat inner, outer;
  return file_calls::Stat(folder, &inner) == 0 && file_calls::Stat(FolderOf(folder), &outer) == 0 &&
         inner.st_dev != outer.st_dev;
}

}  // namespace

void RemoveTree(const std::string& path) {
  struct stat info;
  if (file_calls::LinkStat(path, &info) != 0) return;
  if (!S_ISDIR(info.st_mode)) {
    file_calls::Remove(path);
    return;
  }
  for (const std::string& name : ListFolder(path).value_or(std::vector<std::string>()))
    RemoveTree(Join(path, name));
  file_calls::RemoveFolder(path);
}

absl::StatusOr<OutputFolder> OutputFolder::Replacing(const std::string& path,
                                                     absl::Span<const absl::string_view> parts) {
  GYRE_ASSIGN_OR_RETURN(const PathKind kind, KindOf(path));
  OutputFolder folder(path, {parts.begin(), parts.end()});
  folder.exists_ = kind == PathKind::kFolder;
  if (folder.exists_) {
    if (file_calls::RealPath(path, &folder.target_) != 0)
      return SystemError(errno, "cannot write", path);
  } else if (kind == PathKind::kNothing) {
    while (folder.target_.size() > 1 && folder.target_.back() == '/') folder.target_.pop_back();
    GYRE_RETURN_IF_ERROR(MakeFolder(FolderOf(folder.target_)));
    GYRE_ASSIGN_OR_RETURN(const OutputTarget target, FollowLinks(folder.target_));
    folder.target_ = target.path;
  } else {
    return NotAFolder(path);
  }
  folder.is_inside_ = folder.exists_ && (IsMounted(folder.target_) || IsCurrent(folder.target_));
  if (!folder.is_inside_) {
    const absl::Status status = folder.MakeUnfinished(folder.target_);
    folder.is_inside_ = folder.exists_ && absl::IsPermissionDenied(status);
    if (!folder.is_inside_) GYRE_RETURN_IF_ERROR(status);
  }
  if (folder.is_inside_) {
    GYRE_RETURN_IF_ERROR(folder.MakeUnfinished(Join(folder.target_, folder.parts_.back())));
  }
  return folder;
}

absl::Status OutputFolder::MakeUnfinished(const std::string& beside) {
  for (int i = 0; i < kCleanedWriters; ++i) RemoveAbandoned(UnfinishedName(beside, i));
  for (int i = 0; i < kMostWriters; ++i) {
    const std::string name = UnfinishedName(beside, i);
    if (file_calls::MakeFolder(name, 0777) != 0) {
      if (errno == EEXIST) continue;
      return SystemError(errno, "cannot write", target_);
    }
    // Until it is locked, another writer may take the folder for abandoned, remove it, and even
    // make one of this name: then that one is its own.
    const int fd = file_calls::Open(name, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && errno == ENOENT) continue;
    if (fd < 0) {
      const int error = errno;
      file_calls::RemoveFolder(name);
      return SystemError(error, "cannot write", target_);
    }
    lock_ = FileLock::OfNew(fd, name);
    if (lock_ == nullptr) continue;
    unfinished_ = name;
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      "cannot write ", target_, ": ", kMostWriters, " unfinished folders of others (",
      UnfinishedName(beside, 0), ", …) are beside it; remove them if nobody is writing"));
}

OutputFolder::~OutputFolder() {
  if (lock_ != nullptr) RemoveTree(unfinished_);
}

absl::Status OutputFolder::KeepOthers() const {
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(target_));
  for (const std::string& name : names) {
    if (std::find(parts_.begin(), parts_.end(), name) == parts_.end())
      GYRE_RETURN_IF_ERROR(LinkTree(Join(target_, name), Join(unfinished_, name)));
  }
  struct stat info;
  if (file_calls::Stat(target_, &info) != 0) return SystemError(errno, "cannot read", target_);
  GYRE_RETURN_IF_ERROR(SetAttributes(lock_->fd(), info, target_));
  return SyncFolder(unfinished_);
}

absl::Status OutputFolder::ReplaceWhole() {
  if (exists_) {
    GYRE_RETURN_IF_ERROR(KeepOthers());
    GYRE_RETURN_IF_ERROR(ExchangePaths(unfinished_, target_, UnfinishedName(target_, 1)));
  } else if (file_calls::Rename(unfinished_, target_) != 0) {
    if (errno != EEXIST && errno != ENOTEMPTY) return SystemError(errno, "cannot write", target_);
    exists_ = true;  // another writer was faster
    return ReplaceWhole();
  }
  const absl::Status status = SyncFolder(FolderOf(target_));
  // What lies under the unfinished name now is the old folder, if there was one.
  lock_ = nullptr;
  RemoveReplaced(unfinished_);
  return status;
}

absl::Status OutputFolder::ReplaceParts() const {
  const std::string spare = Join(unfinished_, "spare");
  for (const std::string& part : parts_) {
    const std::string fresh = Join(unfinished_, part), old = Join(target_, part);
    GYRE_ASSIGN_OR_RETURN(const PathKind is_written, KindOf(fresh));
    GYRE_ASSIGN_OR_RETURN(const PathKind is_there, KindOf(old));
    if (is_written == PathKind::kNothing) {
      RemoveTree(old);
    } else if (is_there != PathKind::kNothing) {
      GYRE_RETURN_IF_ERROR(ExchangePaths(fresh, old, spare));
    } else if (file_calls::Rename(fresh, old) != 0) {
      return SystemError(errno, "cannot write", old);
    }
  }
  return SyncFolder(target_);
}

absl::Status OutputFolder::Commit() { return is_inside_ ? ReplaceParts() : ReplaceWhole(); }

}  // namespace gyre

// OutputFolder: a folder of files that belong together, replaced as a whole.
//
// It is written beside the old one (NAME.unfinished) and exchanged with it in one step
// (renameat2), so that at any time the folder is the old one or the new one. As of OutputFile, the
// writer holds a lock on what is unfinished, the next writer of the name removes what a killed one
// left, links are followed, and of two writers one wins.
//
// What is in the old folder and no part of what is written, somebody else put there: it is kept, as
// a further name of the same file where the file system can do that, and as a copy elsewhere.
//
// Where the file system cannot exchange two names, there is an instant between two renames at
// which the folder is missing; a writer that is killed in it leaves old and new as NAME.unfinished
// and NAME.unfinished-1. Where the folder itself cannot be renamed (it is mounted, or the folder it
// lies in is not writable) or should not (this process is in it), its parts are replaced one by
// one, each in one step, the last one last.
//
// One owner, one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"
#include "tensor/io/output_file.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT OutputFolder {
 public:
  // Of what is at `path`, or will be; folders that it lies in are made. `parts`: the names of files
  // and folders in it that are replaced, or removed where they are not written again; the last is
  // what readers look for first. INVALID_ARGUMENT: there is a file. Errors of SystemError
  // otherwise, also from Commit.
  static absl::StatusOr<OutputFolder> Replacing(const std::string& path,
                                                absl::Span<const absl::string_view> parts);
  OutputFolder(OutputFolder&&) noexcept = default;
  OutputFolder& operator=(OutputFolder&&) = delete;
  // What was not committed is removed.
  ~OutputFolder();

  // Where to write until Commit(); files by WriteFile, which has them on disk.
  const std::string& unfinished() const { return unfinished_; }
  // The folder is the new one.
  absl::Status Commit();

 private:
  OutputFolder(std::string target, std::vector<std::string> parts)
      : target_(std::move(target)), parts_(std::move(parts)) {}
  absl::Status MakeUnfinished(const std::string& beside);
  absl::Status KeepOthers() const;
  absl::Status ReplaceWhole();
  absl::Status ReplaceParts() const;

  std::string target_;  // with links followed
  std::vector<std::string> parts_;
  std::string unfinished_;
  std::unique_ptr<FileLock> lock_;
  bool exists_ = false;
  bool is_inside_ = false;  // of the target: it cannot be renamed
};

// Removes a file, or a folder with all that is in it. What cannot be removed is left.
void RemoveTree(const std::string& path);

}  // namespace gyre

// A folder that a test may fill and that is gone with the object. One owner; any thread may write
// files below it.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gyre::test {

class TempFolder {
 public:
  // kInMemory: on no disk where the system has such a place, for tests that write much. A flush to
  // disk takes no time there.
  enum Where { kOnDisk, kInMemory };
  explicit TempFolder(Where where = kOnDisk);
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  const std::string& path() const { return path_; }
  // A path below the folder; nothing is made.
  std::string Path(const std::string& relative) const { return path_ + "/" + relative; }
  // Writes a file, and the folders that it lies in; returns its path.
  std::string Write(const std::string& relative, absl::string_view content) const;

 private:
  std::string path_;
};

}  // namespace gyre::test

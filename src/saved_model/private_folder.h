// PrivateFolder: files that came from memory, in a folder of their own: a model's restore op and
// its assets are read by their paths. Owned by the model; removed with it. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace gyre {

class PrivateFolder {
 public:
  // Below the system's folder for temporary files, for this user alone. INVALID_ARGUMENT for a name
  // that leads out of it; otherwise errors of files.
  static absl::StatusOr<std::unique_ptr<PrivateFolder>> Of(
      const std::map<std::string, std::string>& files);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace gyre

#include "saved_model/private_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "tensor/io/file.h"
#include "tensor/io/output_folder.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

absl::Status CheckName(const std::string& name) {
  const fs::path path(name);
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  if (!name.empty() && name.find('\0') == std::string::npos && !path.is_absolute() && !climbs)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' names no file within a model's folder"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateFolder>> PrivateFolder::Of(
    const std::map<std::string, std::string>& files) {
  for (const auto& [name, bytes] : files) GYRE_RETURN_IF_ERROR(CheckName(name));
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "gyre-model-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("no folder can be made for the files of a model: ", path));
  }
  std::unique_ptr<PrivateFolder> folder(new PrivateFolder(std::move(path)));
  for (const auto& [name, bytes] : files) {
    const fs::path file = fs::path(folder->path()) / name;
    GYRE_RETURN_IF_ERROR(MakeFolder(file.parent_path().string()));
    GYRE_RETURN_IF_ERROR(WriteFile(file.string(), {bytes}));
  }
  return folder;
}

PrivateFolder::~PrivateFolder() {
  try {
    RemoveTree(path_);
  } catch (const std::bad_alloc&) {  // then it stays, for whoever cleans the folder around it
  }
}

}  // namespace gyre

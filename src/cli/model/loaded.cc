#include "cli/model/loaded.h"

#include <filesystem>
#include <utility>

#include "base/status.h"
#include "tensor/io/file.h"

namespace gyre::cli {

absl::StatusOr<Loaded> Load(const std::string& path, const SessionOptions& options,
                            const std::vector<std::string>& tags) {
  Loaded loaded;
  if (SavedModel::IsAt(path)) {
    GYRE_ASSIGN_OR_RETURN(loaded.model, SavedModel::Load(path, {.tags = tags, .session = options}));
  } else if (!tags.empty()) {
    return absl::InvalidArgumentError("--tags is for models: a folder with saved_model.pb");
  } else {
    GYRE_ASSIGN_OR_RETURN(loaded.graph, Session::Load(path, options));
  }
  return loaded;
}

absl::Status CheckIsThere(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  return InputFile::Open(path).status();
}

}  // namespace gyre::cli

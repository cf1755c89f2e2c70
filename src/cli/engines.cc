#include "cli/engines.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gyre/session.h"

namespace gyre::cli {

absl::Status CheckEngine(const std::string& name) {
  const std::vector<std::string> names = EngineNames();
  if (name.empty() || std::find(names.begin(), names.end(), name) != names.end())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no engine '", name, "'; there is ", absl::StrJoin(names, ", ")));
}

}  // namespace gyre::cli

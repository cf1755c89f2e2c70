#include "cli/engines.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/shared_options.h"
#include "gyre/session.h"

namespace gyre::cli {

absl::Status CheckEngine(const Arguments& arguments) {
  const std::string name = arguments.Get("--engine").value_or("");
  const std::vector<std::string> names = EngineNames();
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no engine '", name, "'; there is ", absl::StrJoin(names, ", ")));
  }
  return RefuseIdle(arguments, {{.is_case = name == "reference",
                                 .options = {"--threads", "--schedule-seed", "--devices"},
                                 .why = "with --engine=reference, which runs on one thread and "
                                        "knows no devices"},
                                {.is_case = arguments.Has("--cluster"),
                                 .options = {"--engine", "--devices"},
                                 .why = "with --cluster, whose workers have an engine and "
                                        "devices of their own"}});
}

}  // namespace gyre::cli

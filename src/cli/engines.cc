#include "cli/engines.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/shared_options.h"
#include "gyre/session.h"

namespace gyre::cli {
namespace {

// What no loop that runs as one node can give.
bool NeedsTokens(const Arguments& arguments) {
  const auto options = {"--window", "--schedule-seed", "--devices",   "--trace",
                        "--stats",  "--trap-nan",      "--fetch-each"};
  return std::any_of(options.begin(), options.end(),
                     [&](const char* option) { return arguments.Has(option); });
}

}  // namespace

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
                                {.is_case = name == "compiled" && NeedsTokens(arguments),
                                 .options = {"--engine"},
                                 .why = "as compiled with --window, --schedule-seed, --devices, "
                                        "--trace, --stats, --trap-nan and --fetch-each, for which "
                                        "all loops are made of tokens"},
                                {.is_case = arguments.Has("--cluster"),
                                 .options = {"--engine", "--devices"},
                                 .why = "with --cluster, whose workers have an engine and "
                                        "devices of their own"}});
}

}  // namespace gyre::cli

#include "cli/engines.h"

#include <algorithm>

#include "base/status.h"
#include "cli/shared_options.h"

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

absl::StatusOr<EngineKind> ReadEngine(const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(const EngineKind engine,
                        ParseEngineKind(arguments.Get("--engine").value_or("dataflow")));
  GYRE_RETURN_IF_ERROR(
      RefuseIdle(arguments, {{.is_case = engine == EngineKind::kReference,
                              .options = {"--threads", "--schedule-seed", "--devices", "--compile"},
                              .why = "with --engine=reference, which runs on one thread, "
                                     "interprets and knows no devices"},
                             {.is_case = engine == EngineKind::kCompiled,
                              .options = {"--compile"},
                              .why = "with --engine=compiled, which always does"},
                             {.is_case = NeedsTokens(arguments),
                              .options = {"--compile"},
                              .why = "with --window, --schedule-seed, --devices, --trace, "
                                     "--stats, --trap-nan and --fetch-each, for which all loops "
                                     "are made of tokens"},
                             {.is_case = engine == EngineKind::kCompiled && NeedsTokens(arguments),
                              .options = {"--engine"},
                              .why = "as compiled with --window, --schedule-seed, --devices, "
                                     "--trace, --stats, --trap-nan and --fetch-each, for which "
                                     "all loops are made of tokens"},
                             {.is_case = arguments.Has("--cluster"),
                              .options = {"--engine", "--compile", "--devices"},
                              .why = "with --cluster, whose workers have an engine and "
                                     "devices of their own"}}));
  return engine;
}

}  // namespace gyre::cli

// The pipeline: which passes a program goes through before it runs, and in which order.
//
//   GYRE_ASSIGN_OR_RETURN(Staged staged, Optimize(MakeStaged(program, signature)));
//
// The passes stand in one table, in pipeline.cc. Every one of them may be left out, run alone, or
// take another's place: the program means the same after each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/options.h"
#include "passes/staged.h"

namespace gyre {

struct PipelinePass {
  absl::string_view name;
  Pass run = nullptr;
  absl::string_view why;  // one line
};

// The table, in the order in which passes run.
absl::Span<const PipelinePass> PipelinePasses();

#ifdef NDEBUG
inline constexpr bool kVerifyByDefault = false;
#else
inline constexpr bool kVerifyByDefault = true;
#endif

struct PipelineOptions {
  // Which passes. (Verified or not, what a pass makes must be sound (ir/verifier.h), or it is a bug
  // of that pass.) `only` is that pass by itself here, with nothing before it.
  PassOptions choice = {.verify = kVerifyByDefault};
  // Not empty: these passes, in this order.
  std::vector<std::string> order;
  // For tests: not 0: the passes in an order drawn from this seed.
  uint64_t order_seed = 0;
  // Sees the program after each pass that changed something.
  std::function<void(absl::string_view pass, const Program& program)> dump;
  // The table, for tests of the runner; empty: PipelinePasses().
  absl::Span<const PipelinePass> passes;
};

struct PassReport {
  absl::string_view name;
  bool changed = false;
  int64_t nodes_before = 0;  // of the main graph and all functions that it uses
  int64_t nodes_after = 0;
  int64_t nanos = 0;
};
using PipelineReport = std::vector<PassReport>;  // in the order in which passes ran

// Nodes of the main graph and of every function that it calls, directly or not.
int64_t CountNodes(const Program& program);

// INVALID_ARGUMENT for the name of a pass that does not exist.
absl::Status CheckPipelineOptions(const PipelineOptions& options);

// INVALID_ARGUMENT as above; otherwise what a pass says, with its
// name in front. `report` may be null.
absl::StatusOr<Staged> Optimize(const Staged& staged, const PipelineOptions& options = {},
                                PipelineReport* report = nullptr);

}  // namespace gyre

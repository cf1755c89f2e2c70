#include "passes/pipeline.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/call_graph.h"
#include "base/env.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/verifier.h"
#include "passes/edit/staged_edit.h"
#include "passes/fold.h"
#include "passes/hoist.h"
#include "passes/inline.h"
#include "passes/pass_through.h"
#include "passes/prune.h"
#include "passes/raise/raise.h"
#include "passes/resolve.h"
#include "passes/rows.h"
#include "passes/share.h"
#include "passes/simplify.h"
#include "passes/sink.h"
#include "passes/trim.h"

namespace gyre {
namespace {

// One round, in one order: a second one leaves 0.9 % fewer nodes in the golden graphs, which is not
// worth running every pass again.
// clang-format off
constexpr PipelinePass kPasses[] = {
    {"prune",        PrunePass,       "what no run needs costs every pass after this one"},
    {"raise",        RaisePass,       "where primitives are Ifs and Whiles, passes see through them"},
    {"fold",         FoldPass,        "what constants and shapes tell need not be computed again"},
    {"simplify",     SimplifyPass,    "less work for the same bits; shows resolve its constants"},
    {"resolve",      ResolvePass,     "a decision that is known is none"},
    {"inline",       InlinePass,      "from here on passes see one body, not two and a call"},
    {"fold",         FoldPass,        "arguments that were constants are seen in the body"},
    {"simplify",     SimplifyPass,    "likewise; Identities would hide what is passed through"},
    {"share",        SharePass,       "what is computed twice is computed once"},
    {"pass-through", PassThroughPass, "who reads what a loop leaves alone need not wait for it"},
    {"trim",         TrimPass,        "what nobody needs is not carried through loops and calls"},
    {"hoist",        HoistPass,       "what every iteration computes alike is computed once"},
    {"rows",         RowsPass,        "loops that only compute elements compute those of all rows at once"},
    {"sink",         SinkPass,        "what one branch uses is not computed for the other"},
    {"prune",        PrunePass,       "what the others have left lying about"},
};
// clang-format on

absl::StatusOr<PipelinePass> FindPass(absl::Span<const PipelinePass> passes,
                                      absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const PipelinePass& pass : passes) {
    if (pass.name == name) return pass;
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.push_back(pass.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no pass '", name, "'; there is ", absl::StrJoin(names, ", ")));
}

// The passes that run, in order.
absl::StatusOr<std::vector<PipelinePass>> Select(const PipelineOptions& options) {
  const absl::Span<const PipelinePass> passes =
      options.passes.empty() ? PipelinePasses() : options.passes;
  std::vector<PipelinePass> selected;
  if (!options.choice.only.empty()) {
    GYRE_ASSIGN_OR_RETURN(const PipelinePass pass, FindPass(passes, options.choice.only));
    selected.push_back(pass);
  } else if (!options.order.empty()) {
    for (const std::string& name : options.order) {
      GYRE_ASSIGN_OR_RETURN(const PipelinePass pass, FindPass(passes, name));
      selected.push_back(pass);
    }
  } else {
    selected.assign(passes.begin(), passes.end());
  }
  for (const std::string& name : options.choice.off) {
    if (name == "all") {
      selected.clear();
      continue;
    }
    GYRE_RETURN_IF_ERROR(FindPass(passes, name).status());
    std::erase_if(selected, [&](const PipelinePass& pass) { return pass.name == name; });
  }
  if (options.order_seed != 0) {
    std::shuffle(selected.begin(), selected.end(), std::mt19937_64(options.order_seed));
  }
  return selected;
}

bool HasPrimitives(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [](const Node& node) { return IsPrimitive(node.kind()); });
}

// The functions that the main graph uses, and itself.
std::vector<const Function*> UsedFunctions(const Program& program) {
  std::vector<const Function*> used = {&program.main()};
  for (const std::string& name : CalleesFirst(program)) used.push_back(program.FindFunction(name));
  return used;
}

absl::Status VerifyAfter(const PipelinePass& pass, bool was_sound, const Program& program) {
  const std::vector<const Function*> used = UsedFunctions(program);
  const bool has_primitives = std::any_of(
      used.begin(), used.end(), [](const Function* function) { return HasPrimitives(*function); });
  const absl::Status status =
      Verify(program, has_primitives || !was_sound ? Dialect::kAny : Dialect::kStructured);
  if (status.ok()) return status;
  return BugError(absl::StrCat("after pass ", pass.name, ", ", status.message()));
}

}  // namespace

absl::Span<const PipelinePass> PipelinePasses() { return kPasses; }

absl::Status CheckPipelineOptions(const PipelineOptions& options) {
  return Select(options).status();
}

int64_t CountNodes(const Program& program) {
  int64_t count = 0;
  for (const Function* function : UsedFunctions(program))
    count += static_cast<int64_t>(function->nodes.size());
  return count;
}

absl::StatusOr<Staged> Optimize(const Staged& staged, const PipelineOptions& options,
                                PipelineReport* report) {
  return RunStage("optimising", [&]() -> absl::StatusOr<Staged> {
    GYRE_ASSIGN_OR_RETURN(const std::vector<PipelinePass> passes, Select(options));
    // A function that does not fit its callers is the user's, and an error only if it is called.
    const bool was_sound =
        options.choice.verify && Verify(*staged.program, Dialect::kStructured).ok();
    Staged result = staged;
    for (const PipelinePass& pass : passes) {
      PassReport entry{.name = pass.name};
      if (report != nullptr) entry.nodes_before = CountNodes(*result.program);
      const int64_t start = SystemClock().NowNanos();
      absl::StatusOr<Staged> made = pass.run(result);
      entry.nanos = SystemClock().NowNanos() - start;
      if (!made.ok()) return Annotate(made.status(), absl::StrCat("pass ", pass.name));
      entry.changed = made->program != result.program;
      result = *std::move(made);
      if (entry.changed && options.choice.verify)
        GYRE_RETURN_IF_ERROR(VerifyAfter(pass, was_sound, *result.program));
      if (entry.changed && options.dump) options.dump(pass.name, *result.program);
      if (report != nullptr) {
        entry.nodes_after = CountNodes(*result.program);
        report->push_back(entry);
      }
    }
    return result;
  });
}

}  // namespace gyre

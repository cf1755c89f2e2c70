#include "cli/asked.h"

#include <utility>

#include "base/status.h"
#include "cli/defaults.h"
#include "cli/model/signature.h"
#include "ir/branches.h"
#include "ir/frames.h"
#include "session/names.h"

namespace gyre::cli {
namespace {

// What nobody uses within loops and conditionals of primitives is left over, not wanted: a pivot, a
// copy of a predicate. Unless nothing else is there to fetch.
void LeaveOutInnerValues(const Function& main, RunSignature& signature) {
  const absl::StatusOr<FrameTable> frames = AnalyzeFrames(main);
  if (!frames.ok()) return;
  const BranchTable branches = AnalyzeBranches(main);
  std::vector<Endpoint> outer;
  for (const Endpoint& e : signature.fetches) {
    const bool is_inner =
        frames->output_frame_of_node[e.node] != 0 || branches.branch_of_node[e.node] != 0;
    if (!is_inner) outer.push_back(e);
  }
  if (!outer.empty()) signature.fetches = std::move(outer);
}

// Everything: values that nobody uses, and all that has effects or that nobody waits for.
void AskForAll(const Program& program, RunSignature& signature) {
  signature.fetches = LikelyFetches(program);
  signature.targets = LikelyTargets(program);
  for (const Node& node : program.main().nodes) {
    const bool has_effects = node.op != nullptr && (node.op->traits.effect == Effect::kWrite ||
                                                    node.op->traits.effect == Effect::kIo);
    if (has_effects && node.num_outputs() > 0) signature.targets.push_back(node.id);
  }
  LeaveOutInnerValues(program.main(), signature);
}

}  // namespace

absl::StatusOr<Staged> ReadAsked(std::shared_ptr<const Program> program,
                                 const Arguments& arguments) {
  GYRE_ASSIGN_OR_RETURN(
      RunSignature signature,
      MainNames(*program).FindSignature(arguments.List("--feed"), arguments.List("--fetch"),
                                        arguments.List("--target")));
  if (!arguments.Has("--fetch") && !arguments.Has("--target")) AskForAll(*program, signature);
  if (signature.feeds.empty()) {
    for (const NodeId id : Placeholders(*program)) signature.feeds.push_back({id, 0});
  }
  return MakeStaged(std::move(program), std::move(signature));
}

absl::StatusOr<Staged> AskForSignature(const MetaGraph& graph, absl::string_view name) {
  GYRE_ASSIGN_OR_RETURN(const MetaSignature* found,
                        FindNamed(graph.signatures, name, "the model has no signature"));
  std::vector<std::string> feeds, fetches;
  for (const auto& [input, tensor] : found->inputs) feeds.push_back(tensor.tensor);
  for (const auto& [output, tensor] : found->outputs) fetches.push_back(tensor.tensor);
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(*graph.program).FindSignature(feeds, fetches));
  return MakeStaged(graph.program, std::move(signature));
}

}  // namespace gyre::cli

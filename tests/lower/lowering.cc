#include "lower/lowering.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/env.h"
#include "base/memory.h"
#include "base/status.h"

namespace gyre::testing {

LoweredProgram Shuffled(const LoweredProgram& lowered, uint32_t seed) {
  Function main = lowered.program->main();
  std::vector<NodeId> old_id(main.nodes.size());
  std::iota(old_id.begin(), old_id.end(), 0);
  std::shuffle(old_id.begin(), old_id.end(), std::mt19937(seed));
  std::vector<NodeId> new_id(old_id.size());
  std::vector<Node> nodes;
  for (size_t i = 0; i < old_id.size(); ++i) {
    new_id[old_id[i]] = static_cast<NodeId>(i);
    nodes.push_back(std::move(main.nodes[old_id[i]]));
    nodes.back().id = static_cast<NodeId>(i);
  }
  for (Node& node : nodes) {
    for (Endpoint& input : node.inputs) input.node = new_id[input.node];
    for (NodeId& control : node.control_inputs) control = new_id[control];
  }
  main.nodes = std::move(nodes);
  LoweredProgram result;
  result.signature = lowered.signature;
  for (Endpoint& e : result.signature.feeds) e.node = new_id[e.node];
  for (Endpoint& e : result.signature.fetches) e.node = new_id[e.node];
  for (NodeId& target : result.signature.targets) target = new_id[target];
  ProgramBuilder builder(*lowered.program);
  builder.SetMain(std::move(main));
  result.program = builder.Build();
  return result;
}

absl::StatusOr<std::vector<Tensor>> Runner::Run(std::shared_ptr<const Program> program,
                                                const RunSignature& signature,
                                                const std::vector<Tensor>& feeds,
                                                int64_t timeout_ms) {
  GYRE_ASSIGN_OR_RETURN(
      const auto executable,
      EngineOf(EngineKind::kReference).Compile(std::move(program), signature, {}));
  const auto cancellation =
      std::make_shared<Cancellation>(SystemClock().NowNanos() + timeout_ms * 1'000'000);
  const auto budget = MakeRef<MemoryBudget>(int64_t{2} << 30);
  const auto rendezvous = std::make_shared<LocalRendezvous>(budget);
  cancellation->AddCallback(
      [rendezvous, run = cancellation.get()] { rendezvous->Abort(run->status()); });
  RunEnv env;
  env.cancellation = cancellation.get();
  env.budget = budget.get();
  env.resources = &resources_;
  env.rendezvous = rendezvous.get();
  env.run_id = runs_++;
  env.seed = 7;
  env.print = [this](absl::string_view stream, absl::string_view text) {
    printed_.push_back(absl::StrCat(stream, ": ", text));
  };
  return executable->Run(feeds, env, {});
}

}  // namespace gyre::testing

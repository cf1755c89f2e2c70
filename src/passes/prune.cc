#include "passes/prune.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "passes/edit/rewrite.h"
#include "passes/edit/staged_edit.h"
#include "passes/staged.h"

namespace gyre {
namespace {

using passes::Rewrite;

// As CallSignature, less the calls that turn out to have no effects.
RunSignature NeedsOfCall(const Function& function, const Effects& effects) {
  RunSignature signature = CallSignature(function);
  std::vector<NodeId> targets;
  for (const NodeId target : signature.targets) {
    const Node& node = function.node(target);
    if (!IsStructured(node.kind()) || !effects.Of(node).MayDrop()) targets.push_back(target);
  }
  for (const auto& [name, node] : function.control_results) targets.push_back(node);
  signature.targets = std::move(targets);
  return signature;
}

// Placeholders for the fed outputs of a node that is to go.
absl::Status AddPlaceholders(const RunSignature& signature, const std::vector<bool>& needed,
                             std::vector<bool>& keep, Rewrite& rewrite) {
  for (const Endpoint& feed : signature.feeds) {
    const Node& node = rewrite.node(feed.node);
    if (needed[feed.node]) continue;
    if (node.op == nullptr) {  // whose type nobody knows
      if (!node.inputs.empty() || !node.control_inputs.empty()) {
        Node& bare = rewrite.Edit(feed.node);
        bare.inputs.clear();
        bare.control_inputs.clear();
      }
      keep[feed.node] = true;
      continue;
    }
    if (node.kind() == OpKind::kPlaceholder && node.control_inputs.empty()) {
      keep[feed.node] = true;
      continue;
    }
    AttrMap attrs;
    attrs.Set("dtype", node.signature.outputs[feed.slot].dtype);
    if (node.kind() == OpKind::kPlaceholder) {
      if (const auto* shape = node.attrs.Get<PartialShape>("shape")) attrs.Set("shape", *shape);
    }
    const std::string name = feed.slot == 0 ? node.name : absl::StrCat(node.name, "/", feed.slot);
    GYRE_ASSIGN_OR_RETURN(const NodeId placeholder,
                          rewrite.Add("Placeholder", {}, std::move(attrs),
                                      {.name = name, .like = &node, .before = feed.node}));
    rewrite.Replace(feed, {placeholder, 0});
  }
  return absl::OkStatus();
}

absl::Status PruneFunction(RunSignature signature, Rewrite& rewrite) {
  if (!signature.feeds.empty() && IsOpaque(rewrite.function())) {
    // A value that is fed in a loop of primitives belongs to its frame: what comes before it stays.
    for (const Endpoint& feed : signature.feeds) signature.targets.push_back(feed.node);
    signature.feeds.clear();
  }
  const std::vector<bool> needed = NeededNodes(rewrite.function(), signature);
  std::vector<bool> keep = needed;
  for (const NodeId arg : rewrite.function().arg_nodes) keep[arg] = true;
  const NodeId num_nodes = static_cast<NodeId>(needed.size());
  GYRE_RETURN_IF_ERROR(AddPlaceholders(signature, needed, keep, rewrite));
  for (NodeId id = 0; id < num_nodes; ++id) {
    // Who is needed and waits for one that is not waits for a fed placeholder: for nothing.
    if (!keep[id]) rewrite.Drop(id, {});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Staged> PrunePass(const Staged& staged) {
  const Effects effects(*staged.program);
  passes::StagedEdit edit(staged);
  Rewrite main = edit.Change("");
  GYRE_RETURN_IF_ERROR(PruneFunction(staged.signature, main));
  GYRE_RETURN_IF_ERROR(edit.Take("", std::move(main)));
  for (const std::string& name : edit.CalleesFirst()) {
    Rewrite rewrite = edit.Change(name);
    GYRE_RETURN_IF_ERROR(PruneFunction(NeedsOfCall(rewrite.function(), effects), rewrite));
    GYRE_RETURN_IF_ERROR(edit.Take(name, std::move(rewrite)));
  }
  edit.EraseUnused();
  return std::move(edit).Finish();
}

}  // namespace gyre

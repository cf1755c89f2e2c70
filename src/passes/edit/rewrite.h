// Rewrite: one function under change, and how a pass changes it.
//
// A pass edits nodes in place, adds some, replaces values by others, and drops nodes. Nothing is
// renumbered before Finish, so ids and endpoints of the function stay good while the pass looks
// around. Finish makes the new function, with dense ids and unique names, and says where values
// have gone. An order that edges said is kept: who waited for a dropped node waits for what that
// one waited for. Not thread-safe; holds a copy of the nodes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre::passes {

class Rewrite {
 public:
  // `run`: what is asked of the function if it is the main graph; its nodes are not lost.
  Rewrite(const OpLookup& ops, Function function, RunSignature run = {});

  // The function as it is now: with edits, with dropped nodes, and inputs not yet replaced.
  const Function& function() const { return function_; }
  const Node& node(NodeId id) const { return function_.nodes[id]; }
  const RunSignature& run() const { return run_; }
  bool changed() const { return changed_; }
  // Nodes with smaller ids are the function's own, the others were added.
  NodeId num_old_nodes() const { return num_old_; }
  bool IsDropped(NodeId id) const { return dropped_[id]; }
  // What stands for `e` now.
  Endpoint Resolve(Endpoint e) const;

  // For changes that keep outputs as they are.
  Node& Edit(NodeId id);
  Function& EditInterface();  // arguments, results, attributes

  // What Add needs beside op, inputs and attributes.
  struct Options {
    std::string name;  // made unique at the end; empty: derived from the op
    std::vector<NodeId> control_inputs;
    const Node* like = nullptr;  // takes its device and source; need not live on
    NodeId before = -1;          // stands in front of it in the new function; -1: at the end
  };
  // INVALID_ARGUMENT or NOT_FOUND when inputs or attributes do not fit the op.
  absl::StatusOr<NodeId> Add(absl::string_view op, absl::Span<const Endpoint> inputs, AttrMap attrs,
                             Options options);
  // `node` with the inputs and everything else that it has.
  NodeId Add(Node node, NodeId before);
  Endpoint AddConstant(const Tensor& value, Options options);

  // All that reads `from` reads `to` instead: inputs, results, fetches.
  void Replace(Endpoint from, Endpoint to);
  // The node goes; who reads it must have been given something else. Who waits for it waits for
  // `waits`, or for what it waited for itself. Targets and control results become NoOps.
  void Drop(NodeId id);
  void Drop(NodeId id, std::vector<NodeId> waits);

  // What has become of the old function's nodes and outputs.
  struct Finished {
    Function function;
    RunSignature run;
    std::vector<NodeId> new_ids;  // -1: gone
  };
  absl::StatusOr<Finished> Finish() &&;

 private:
  void FindWaits();
  void ReplaceControls(std::vector<NodeId>& controls);
  void TurnIntoNoOp(NodeId id, std::vector<NodeId> waits);
  std::vector<NodeId> NewOrder() const;
  void MakeNamesUnique(const std::vector<NodeId>& order);

  const OpLookup* ops_;
  Function function_;
  RunSignature run_;
  bool changed_ = false;
  NodeId num_old_;
  std::vector<bool> dropped_;
  std::vector<NodeId> before_;  // of added nodes, by id - num_old_
  HashMap<Endpoint, Endpoint> replaced_;
  // Of dropped nodes: what to wait for instead.
  HashMap<NodeId, std::vector<NodeId>> waits_;
};

// Turns `node`, of one output, into a Const, which waits for `control_inputs`.
void MakeConstant(const OpLookup& ops, const Tensor& value, std::vector<NodeId> control_inputs,
                  Node& node);

}  // namespace gyre::passes

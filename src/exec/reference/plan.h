// What the reference engine works out once per function: kernels, frames, edges, counts.
//
// A ReferencePlan is built by one thread and immutable afterwards; runs on any number of threads
// share it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "ir/frames.h"
#include "ops/registry.h"

namespace gyre::reference {

struct FunctionPlan;

// One consumer of an output.
struct DataEdge {
  NodeId dst;
  int dst_slot;
};

struct NodePlan {
  const Node* node = nullptr;
  OpKind kind = OpKind::kPlain;
  Kernel kernel;
  absl::Status no_kernel;  // why `kernel` is missing, reported if the node ever runs
  int frame = 0;           // where it runs
  int out_frame = 0;       // where its outputs go; differs from `frame` for Enter and Exit
  int index = 0;           // among the needed nodes of that frame
  int first_input = 0;     // its inputs' offset in the iteration's array
  int num_inputs = 0;
  int pending = 0;           // inputs, data and control, that have to arrive
  int controls = 0;          // the control inputs among them
  bool is_constant = false;  // of an Enter: its value goes to every iteration
  int dead_to_die = 0;       // of a Merge: dead inputs that kill it; NextIterations don't count
  std::vector<std::vector<DataEdge>> data_out;  // per output slot
  std::vector<NodeId> control_out;
  std::vector<std::pair<int, int>> fetched;  // (output slot, position among the run's results)
  // If: then, else · Case: branches · While: cond, body · For: body · call: f
  std::vector<const FunctionPlan*> callees;
};

// How far one node of one iteration has come.
struct Counts {
  int pending = 0;    // inputs still to arrive; of a Merge: control inputs only
  int dead = 0;       // inputs that arrived dead
  bool live = false;  // of a Merge: a live input is there
  bool started = false;
};

// A value that is fed into a node, past the edge that would have brought it.
struct FedInput {
  int feed;
  NodeId node;
  int slot;
};

struct FramePlan {
  Frame frame;                  // its static description
  std::vector<NodeId> nodes;    // the needed nodes that run in it
  std::vector<Counts> initial;  // of its nodes, in the order of `nodes`
  int num_inputs = 0;           // of all its nodes together
  int num_enters = 0;
  int child_index = 0;  // among the frames of the same parent
  int num_children = 0;
  std::vector<FedInput> fed;  // filled in at the start of every iteration
  // Nodes without any input left: they run at the start of every iteration …
  std::vector<NodeId> roots;
  // … or, in a loop's body, once its LoopCond says that the iteration goes on.
  std::vector<NodeId> gated_roots;
};

struct FunctionPlan {
  const Function* function = nullptr;
  std::vector<NodePlan> nodes;  // by NodeId; those not needed have node == nullptr
  std::vector<FramePlan> frames;
  std::vector<std::pair<int, int>> fed_results;  // (feed, result): fetches of what is fed
  int num_results = 0;
  absl::Status error;  // why the function cannot run, reported if it is ever called
};

class ReferencePlan {
 public:
  static absl::StatusOr<std::unique_ptr<ReferencePlan>> Make(std::shared_ptr<const Program> program,
                                                             const RunSignature& signature);
  const FunctionPlan& main() const { return *main_; }
  const Program& program() const { return *program_; }

 private:
  ReferencePlan() = default;
  absl::Status BuildAll(const RunSignature& signature);
  absl::Status Build(const Function& function, const RunSignature& signature, FunctionPlan& plan);
  absl::Status BindCallees(NodePlan& node_plan);
  const FunctionPlan* PlanOf(const Function& function);

  std::shared_ptr<const Program> program_;
  const FunctionPlan* main_ = nullptr;
  std::deque<FunctionPlan> plans_;
  HashMap<std::string, FunctionPlan*> by_name_;
  std::deque<FunctionPlan*> to_build_;
};

}  // namespace gyre::reference

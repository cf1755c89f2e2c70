// Plan: a program made ready for the dataflow engine: flat arrays of nodes, edges and counts.
//
// Every function of the program that stays one after lowering has a FunctionPlan; the main graph
// has another. A Plan is built by one thread and immutable afterwards, save for what it learns
// about costs (relaxed atomics, of no consequence to results); runs on any number of threads share
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/hash_map.h"
#include "base/index.h"
#include "exec/fused/group.h"
#include "exec/sequential/compile_when.h"
#include "exec/sequential/loop.h"
#include "ir/frames.h"
#include "lower/lower.h"
#include "ops/kernel.h"

namespace gyre::dataflow {

struct FunctionPlan;

using NodeIndex = Index<struct NodeIndexTag>;    // in FunctionPlan::nodes
using FrameIndex = Index<struct FrameIndexTag>;  // in FunctionPlan::frames
using InputSlot = Index<struct InputSlotTag>;    // among the inputs of an iteration
using CountIndex = Index<struct CountIndexTag>;  // among the counts of an iteration
using ExitIndex = Index<struct ExitIndexTag>;    // among the Exits of a frame

// Loops and conditionals that are nodes, compiled; null: those that are not.
using KeptLoops = HashMap<const Node*, std::shared_ptr<const sequential::RegisterLoop>>;

// What firing a node means. Those above kKernel are done in place where their inputs are as usual,
// and by the op's kernel where they are not.
enum class Opcode : uint8_t {
  kIdentity,
  kConst,
  kNoOp,
  kSwitch,
  kSwitchN,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kLoopCond,
  kToBool,
  kPlainKernel,  // as kKernel: with one output, and without a tag, a reference or a life when dead
  kKernel,
  kLoop,  // as kKernel: a loop or conditional on registers, which may pause
  kAsyncKernel,
  kCall,
  kArg,
  kRetval,
  kUnavailable,  // has no kernel, or nothing can run it: an error if it fires
};

// How an arrival changes the node that it arrives at.
enum class Arrival : uint8_t {
  kOnly,          // the one thing that the node waits for: it is ready
  kOnlyExit,      // the same, at an Exit: death is only noted, in bit `exit`
  kCounted,       // one of several
  kMergeValue,    // a data input of a Merge
  kMergeControl,  // a control input of a Merge
  kThrough,       // as kOnly, kCounted or kMergeValue, where a live value may pass without a stop
};

// One consumer of an output. 16 bytes.
struct Edge {
  static constexpr InputSlot kControl{0xffffffff};
  NodeIndex node;
  InputSlot slot;  // kControl: carries no value
  union {
    CountIndex count;
    ExitIndex exit;  // of kOnlyExit
  };
  Arrival arrival;
  bool kills;  // a dead arrival kills the node (all but those at a ControlTrigger)
};

// What firing a node touches: a cache line.
struct alignas(64) PlanNode {
  Opcode opcode = Opcode::kUnavailable;
  bool runs_dead : 1 = false;      // a transfer: its kernel runs even when dead
  bool needs_tag : 1 = false;      // its kernel asks where it runs
  bool is_fetched : 1 = false;     // NodeInfo::fetched is not empty
  bool is_constant : 1 = false;    // of an Enter: its value goes to every iteration
  bool opens_gate : 1 = false;     // of a LoopCond: the one that its frame goes by
  bool carries_death : 1 = false;  // of a NextIteration: to its Merge, if the loop goes on
  bool reads_refs : 1 = false;  // an input may be a reference where a value is wanted, or reverse
  uint32_t num_inputs = 0;
  uint32_t num_outputs = 0;
  InputSlot first_input{0};
  uint32_t first_range = 0;  // FunctionPlan::edge_ranges: one per output, one for control
  uint32_t edges = 0;        // of a node with one output: where its edges begin, …
  uint32_t controls = 0;     // … where those without a value do, …
  uint32_t edges_end = 0;    // … and where they end
  union {
    FrameIndex target_frame{0};  // of an Enter: the frame that it opens
    CountIndex count;            // of a Merge
    ExitIndex exit;              // of an Exit
  };
  // Nanoseconds that one firing takes, as measured; 0: not yet. Relaxed: a hint, learnt as it runs.
  mutable std::atomic<uint32_t> cost{0};
  union {
    absl::Status (*run)(KernelContext&, const void* attrs) = nullptr;
    const Kernel* kernel;    // of a kAsyncKernel
    const Tensor* constant;  // of a Const
  };
  const void* attrs = nullptr;
  const Node* node = nullptr;  // as the program has it: what kernels and errors speak of
};
static_assert(sizeof(PlanNode) == 64);

// The rest of a node.
struct NodeInfo {
  NodeOrigin origin;
  FrameIndex frame{0};
  Kernel kernel;                             // keeps PlanNode::attrs alive
  absl::Status unavailable;                  // of kUnavailable: why
  std::vector<std::pair<int, int>> fetched;  // (output slot, position among the results)
  const FunctionPlan* callee = nullptr;      // of a call
  uint32_t first_arg = 0;                    // of a call: inputs before its arguments
  int arg_index = 0;                         // of an Arg
  bool owns_arg = false;                     // of an Arg: nobody else reads the argument
};

// A value that is fed into a node, past the edge that would have brought it.
struct FedInput {
  int feed;
  Edge edge;  // kOnly and kCounted: just fills the slot
};

struct FramePlan {
  Frame frame;  // its static description
  FrameIndex index{0};
  int child_index = 0;  // among the frames of the same parent
  int num_children = 0;
  uint32_t num_inputs = 0;
  int num_enters = 0;
  std::vector<uint64_t> initial_counts;  // see counts.h
  // Once all constant Enters have arrived, their values are there when an iteration begins: nothing
  // counts their arrival any more. Not so where a Merge waits for one (has_resident is false).
  int num_constant_enters = 0;
  bool has_resident = false;
  std::vector<uint64_t> resident_counts;
  std::vector<NodeIndex> resident_roots;  // nodes that wait for nothing else
  std::vector<FedInput> fed;              // filled in at the start of every iteration
  // Nodes without any input left: they run at the start of every iteration …
  std::vector<NodeIndex> roots;
  // … or, in a loop's body, once its LoopCond says that the iteration goes on.
  std::vector<NodeIndex> gated_roots;
  // Transfers, with their counts: other devices wait for each in every iteration, even for one that
  // nothing arrives at.
  std::vector<std::pair<NodeIndex, CountIndex>> sends;
  int pool = 0;  // which of a run's pools its iterations come from: unique in the Plan
  // Learnt: its iterations held work worth overlapping. Relaxed: a hint.
  mutable std::atomic<bool> is_heavy{false};
};

struct FunctionPlan {
  Lowered lowered;
  const Function* source = nullptr;  // what was lowered
  fused::FusedGroups groups;         // of its ops, by the node that they are
  std::vector<PlanNode> nodes;       // by NodeId of lowered.function; unneeded ones never fire
  std::vector<NodeInfo> infos;       // alongside
  std::vector<Edge> edges;
  std::vector<std::pair<uint32_t, uint32_t>> edge_ranges;
  std::deque<FramePlan> frames;                  // by FrameIndex
  std::vector<std::pair<int, int>> fed_results;  // (feed, result): fetches of what is fed
  int num_results = 0;
  int num_args = 0;
  absl::Status error;  // why the function cannot run, reported if it is ever called
};

class Plan {
 public:
  struct Options {
    // Small loops are nodes, not tokens (exec/sequential/loop.h), and so are groups of elementwise
    // ops (exec/fused/group.h).
    bool makes_nodes = true;
    CompileWhen compile;                      // these into native code
    std::vector<Endpoint> scalar_feeds = {};  // they are scalars whenever the plan is run
  };
  static absl::StatusOr<std::unique_ptr<Plan>> Make(std::shared_ptr<const Program> program,
                                                    const RunSignature& signature,
                                                    const Options& options);
  // Of the part of the program's main graph that one device runs, with that device's kernels; null:
  // those of the ops' registrations, which plumbing has everywhere.
  static absl::StatusOr<std::unique_ptr<Plan>> MakePart(std::shared_ptr<const Program> program,
                                                        Lowered part, const KernelFactory& kernels);
  const FunctionPlan& main() const { return *main_; }
  // Loops and conditionals that are nodes, and those that could not be, once for each that the
  // program has.
  int num_kept_loops() const;
  int num_other_loops() const { return static_cast<int>(loops_.size()) - num_kept_loops(); }
  // Pools of iterations that a run needs; outputs of the node that has most.
  int num_pools() const { return num_pools_; }
  uint32_t max_outputs() const { return max_outputs_; }
  // Some kernel asks where it runs.
  bool uses_tags() const { return uses_tags_; }
  // Some node has turned out to be heavy: until then nobody need look which are. Relaxed: a hint.
  bool has_heavy() const { return has_heavy_.load(std::memory_order_relaxed); }
  void NoteHeavy() const { has_heavy_.store(true, std::memory_order_relaxed); }

 private:
  explicit Plan(const Options& options) : options_(options) {}
  absl::Status BuildAll(lower::ProgramFacts& facts, Lowered main);
  // Lowers one of the program's functions.
  absl::StatusOr<Lowered> LowerFunction(lower::ProgramFacts& facts, const Function& function,
                                        const RunSignature& signature);
  absl::Status Build(const Function& source, Lowered lowered, FunctionPlan& plan);
  absl::Status BindCallee(const Node& node, NodeInfo& info);
  absl::StatusOr<const FunctionPlan*> PlanOf(const std::string& name);

  bool Keeps(lower::ProgramFacts& facts, const Function& function, const Node& node);

  const Options options_;
  absl::Status compiled_;  // the first error of compiling a loop
  KernelFactory kernels_;  // as MakePart's
  std::shared_ptr<const Program> program_;
  KeptLoops loops_;
  bool fuses_ = false;  // ops into groups
  const FunctionPlan* main_ = nullptr;
  std::deque<FunctionPlan> plans_;
  HashMap<std::string, FunctionPlan*> by_name_;
  std::deque<FunctionPlan*> to_build_;
  int num_pools_ = 0;
  uint32_t max_outputs_ = 0;
  bool uses_tags_ = false;
  mutable std::atomic<bool> has_heavy_{false};
};

}  // namespace gyre::dataflow

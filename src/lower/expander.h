// Expander: the state of one Lower, and how a body is written out node by node.
//
// A *place* is a point of the lowered function where nodes may stand: a frame, and within it
// perhaps a side of a branch, the condition or the body of a loop. A node in a place must be dead
// whenever the place is not taken. That holds by itself if one of its inputs is *gated*: dead when
// the place is. A node without such an input gets a control input from the place's *pivot*.
// Constants, and values that a loop does not change, are not gated: they are there in each
// iteration, the last included, and cost nothing to bring in.
//
// Order of effects: a body that has effects has an *entry*, a node after which all of them come. A
// node with an effect that is not after it by its inputs (*ordered*) gets a control input from it.
//
// Not thread-safe; lives as long as one Lower.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/hash_map.h"
#include "ir/calls.h"
#include "lower/emitter.h"
#include "lower/facts.h"
#include "lower/lower.h"

namespace gyre::lower {

// A frame that Lower makes; loop 0 is what is around all of them.
struct OpenedLoop {
  int parent = -1;
  std::string frame_name;
  int64_t parallel_iterations = 10;
  Where where;  // of its Enters
  std::string path;
};

struct Place {
  int loop = 0;
  NodeId pivot = -1;                 // -1: always taken
  const Place* constants = nullptr;  // where the constants of this place stand; may be itself
  bool is_gated() const { return pivot >= 0; }
};

struct Value {
  Endpoint e;            // in the lowered function
  int loop = 0;          // where it lives: the frame of the place that uses it, or one around that
  bool gated = false;    // dead whenever the place is not taken
  bool ordered = false;  // comes after the entry of the body
};

// Control inputs that a node of a body gets.
struct Controls {
  std::vector<NodeId> nodes;
  bool gated = false;
  bool ordered = false;
};

struct NodeState {
  bool ready = false;
  std::vector<Value> outputs;
  // Of a structured node: what is complete when it is; `done`, made on demand, waits for all of it.
  std::vector<Value> waits = {};
  NodeId completion = -1;  // after its effects; -1: it has none
  NodeId done = -1;
  bool done_gated = false;
  bool done_ordered = false;
  bool has_no_control = false;  // of a constant: there is nothing to wait for
};

// A function being written out.
struct ExpandedBody {
  const Function* function = nullptr;
  const FunctionFacts* facts = nullptr;  // null for the main graph
  const Place* place = nullptr;
  int scope = 0;
  int depth = 0;
  std::string prefix;          // of the names of its nodes
  NodeId entry = -1;           // -1: no effects, or nothing to come after
  bool fires_at_once = false;  // its structured nodes wait for all their inputs: see Admit
  std::vector<NodeState> states;
  std::vector<Value> args;
  std::vector<NodeId> completion;  // what must have run when the body is complete
};

// One function that a structured node calls, and what becomes of it.
struct CalleeUse {
  const Node* structured = nullptr;
  int number = 0;
  Callee callee;
  const Function* function = nullptr;  // null: there is none
  bool is_inlined = false;
  int scope = 0;  // of its nodes or, if it stays a call, of the call
  int depth = 0;
  std::string path;
};

// The results of a function, and what must have run when it is complete.
struct Expansion {
  std::vector<Value> results;
  std::vector<NodeId> completion;
};

// A structured node whose inputs are there. Stays where it is: places point into it.
struct Structured {
  Structured() = default;
  Structured(const Structured&) = delete;
  Structured& operator=(const Structured&) = delete;

  const Node* node = nullptr;
  std::string path;
  Where where;
  std::vector<Callee> callees;
  std::vector<Value> inputs;
  bool finishes = false;
  NodeId entry = -1;  // of its effects; -1: none
  Place place;        // where it stands
  Controls controls;  // of what fires it, where nothing else carries them
};

class Expander {
 public:
  Expander(ProgramFacts& facts, const LowerOptions& options);

  LoweringEmitter& emitter() { return emitter_; }
  ProgramFacts& facts() { return facts_; }
  std::vector<LoweredScope>& scopes() { return scopes_; }
  void ReserveFrameName(const std::string& name) { frame_names_.insert(name); }
  void EnterFunction(const Function& function) { stack_.insert(&function); }
  // A value that is fed: control edges must not come from the node that it replaces.
  void SetFed(Endpoint e) { fed_.insert(e); }

  // Writes one node of the body, whose producers are written.
  void ExpandNode(ExpandedBody& body, const Node& node);
  // The node after which `id` is complete; -1: it always is. Makes what it needs.
  NodeId DoneOf(ExpandedBody& body, NodeId id);
  // What became of an output of a node that is written. Of an op that is not known: the copy's.
  Value Read(const ExpandedBody& body, Endpoint e) const;
  // `value` where it is used: an Enter per loop brings it in.
  Endpoint Use(const Value& value, const Place& place);

  // Nodes whose inputs are not all written yet: (node, slot) and what it reads.
  struct OpenInput {
    NodeId node;
    int slot;
    Endpoint source;
  };
  const std::vector<OpenInput>& open_inputs() const { return open_inputs_; }

 private:
  friend class BranchLowering;
  friend class LoopLowering;

  void CopyNode(ExpandedBody& body, const Node& node);
  void HoistConstant(ExpandedBody& body, const Node& node);
  void ExpandStructured(ExpandedBody& body, const Node& node);
  void Admit(ExpandedBody& body, const Node& node, Structured& structured);
  void AdmitAtOnce(ExpandedBody& body, Structured& structured, bool ordered);
  void ExpandCall(ExpandedBody& body, Structured& structured, NodeState& state);
  void KeepCall(ExpandedBody& body, const Node& node);
  NodeId EmitCall(const Callee& callee, std::string name, const std::vector<Endpoint>& inputs,
                  const std::vector<DType>& results, std::vector<NodeId> controls,
                  NodeOrigin origin);
  void Finish(ExpandedBody& body, const Structured& structured, NodeState& state);

  Controls ControlsOf(ExpandedBody& body, const Node& node);
  // A node after which `e` is there, and which is dead when `e` is.
  NodeId Anchor(Endpoint e, Where where);
  // The value, as an output that is dead whenever the place is not taken.
  Value Gated(const Value& value, const Place& place, Where where, const std::string& name);
  Value Constant(const Tensor& value, const Place& place, Where where, const std::string& name);
  // One node that comes after all of these; -1 for none.
  NodeId Join(const std::vector<NodeId>& nodes, Where where, const std::string& name);
  // `value`, a condition of `function`'s, as a bool scalar.
  Value Condition(const Value& value, const Function* function, Endpoint source, const Place& place,
                  Where where, const std::string& name);

  // Of a node that stands as it is: a structured one does what its functions do.
  bool HasEffect(const ExpandedBody& body, const Node& node) const;
  // The name of what becomes of `node`: its own in the main graph.
  std::string NameOf(const ExpandedBody& body, const Node& node);
  bool CanInline(const Node& structured, const Callee& callee, const ExpandedBody& body);
  // Decides whether the function is expanded, and opens the scope of its nodes.
  CalleeUse Prepare(const Structured& structured, const ExpandedBody& body, int number);
  Expansion Expand(const CalleeUse& use, std::vector<Value> args, const std::vector<DType>& results,
                   const Place& place, NodeId entry);
  Expansion ExpandBody(const CalleeUse& use, std::vector<Value> args, const Place& place,
                       NodeId entry);
  Expansion CallFunction(const CalleeUse& use, const std::vector<Value>& args,
                         const std::vector<DType>& results, const Place& place, NodeId entry);
  int OpenLoop(OpenedLoop loop);

  const Program& program_;
  const LowerOptions options_;
  ProgramFacts& facts_;
  LoweringEmitter emitter_;
  std::vector<LoweredScope> scopes_;
  std::vector<OpenedLoop> loops_;
  HashMap<std::pair<Endpoint, int>, Endpoint> entered_;  // (value, loop) → its Enter
  HashMap<Endpoint, NodeId> anchors_;
  HashSet<Endpoint> fed_;
  HashSet<std::string> frame_names_;
  HashSet<const Function*> stack_;  // functions being expanded
  std::vector<OpenInput> open_inputs_;
};

// The types of the outputs of `node`.
std::vector<DType> OutputTypes(const Node& node);

// If and Case: branches.cc. While and For: loops.cc.
void LowerBranches(Expander& expander, ExpandedBody& body, Structured& structured,
                   NodeState& state);
void LowerLoop(Expander& expander, ExpandedBody& body, Structured& structured, NodeState& state);

}  // namespace gyre::lower

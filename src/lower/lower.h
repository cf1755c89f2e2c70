// Lower: from If, Case, While, For and calls to Switch, Merge, Enter, Exit and NextIteration, with
// the functions that they call expanded in place. What an engine of tokens runs.
//
// The result means what the input means (docs/semantics.md): the same values, effects in the same
// order, the same nodes in errors. Calls that may recurse stay calls, to be lowered on their own.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/run_signature.h"
#include "ir/program.h"

namespace gyre {

namespace lower {
class ProgramFacts;
}

// One expanded function: which node called it. Scope 0 is the lowered function itself.
struct LoweredScope {
  int parent = -1;                     // the scope that `structured` stands in; -1 for scope 0
  const Node* structured = nullptr;    // the If, Case, While, For or call; null for scope 0
  int callee = 0;                      // which of its functions, in the order of CalleesOf
  const Function* function = nullptr;  // whose body this is
  // Of the condition and the body of a While or For: their nodes run in a frame of their own, whose
  // iterations are the iterations.
  bool is_loop() const;
};

// Where a node of the lowered function comes from.
struct NodeOrigin {
  // The node of the program that it computes. Of plumbing (a Switch, a Merge, …): the structured
  // node that it was made for.
  const Node* node = nullptr;
  // The scope that the node stands in. Plumbing of a loop that runs within the loop's frame stands
  // in the scope of its body or condition. A constant is computed once, outside of all that is
  // expanded: 0.
  int scope = 0;
  bool is_plumbing = false;
  // Of a call that stays one: which of `node`'s functions it calls, in the order of CalleesOf.
  int callee = 0;
};

struct Lowered {
  Function function;
  // Feeds, fetches and targets as endpoints and nodes of `function`, in the order they were given.
  RunSignature signature;
  std::vector<NodeOrigin> origins;   // by NodeId of `function`
  std::vector<LoweredScope> scopes;  // [0] is `function` itself
};

struct LowerOptions {
  // Functions deeper than this stay calls.
  int max_depth = 64;
  // Bodies that are written out in place of calls come to so many nodes, or to four times those of
  // the program if that is more, in all that is lowered with the same facts; other functions stay
  // calls. So lowering a program and all its functions is linear in the program, however many ways
  // lead through it.
  int max_inlined = 50'000;
  // Which loops, conditionals and calls, of which functions, stay as they are: the engine runs them
  // by itself. None if empty.
  std::function<bool(const Function& function, const Node& node)> keeps = nullptr;
};

// Lowers what `signature` needs of `function`, one of `program`'s (its main graph or a function,
// then with CallSignature(function)). The program must outlive the result, which points into it.
// A function that cannot be expanded (it is recursive, unsound, or has primitives of its own) stays
// a call: of the wire's PartitionedCall or StatefulPartitionedCall, whose origin says which
// function of which node it is. INVALID_ARGUMENT or NOT_FOUND when what is needed does not fit
// together.
absl::StatusOr<Lowered> Lower(const Program& program, const Function& function,
                              const RunSignature& signature, const LowerOptions& options = {});

// The same for many functions of a program: what must be known of all of them is worked out once.
// `facts` (lower/facts.h) serves one signature of the main graph, which is lowered first, if at
// all: what its feeds say of shapes is then used in the functions that it calls.
absl::StatusOr<Lowered> Lower(lower::ProgramFacts& facts, const Function& function,
                              const RunSignature& signature, const LowerOptions& options = {});

}  // namespace gyre

// Structured nodes: which functions If, Case, While, For and calls run, and what goes from the node
// to them and back. What differs between their ops the ops say themselves (OpDef::structure).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ir/program.h"

namespace gyre {

struct Callee {
  absl::string_view attr;  // "then_branch", "cond", …; "f" for a call
  CalleeKind kind;
  FunctionRef function;

  bool is_condition() const { return kind == CalleeKind::kCondition; }
};

// In the order in which the op's structure names them: a loop's body comes last. Empty for nodes
// that call nothing. A node whose op is unknown but whose op_name is a function of `program` is a
// call of that function, with the node's attributes as the function's.
std::vector<Callee> CalleesOf(const Program& program, const Node& node);
// How the node runs the one with this number.
CalleeKind KindOfCallee(const Node& node, int number);

// Of a call, or a function: it stays a call.
inline constexpr absl::string_view kNoInlineAttr = "_noinline";

// The functions that a node names: in whatever attribute, or, where its op is unknown, by its op's
// name, which may be no function's. In order, some of them more than once. And those of a
// function's nodes.
std::vector<std::string> NamedFunctions(const Node& node);
std::vector<std::string> NamedFunctions(const Function& function);

// Runs one of several functions.
constexpr bool IsConditional(OpKind kind) { return kind == OpKind::kIf || kind == OpKind::kCase; }

// What the leading inputs of a structured node are, which are no arguments of its functions.
enum class Selector : uint8_t {
  kNone,
  kPredicate,  // true: the first function, false: the second
  kIndex,      // the number of a function; out of range: the last
  kBounds,     // start, limit, delta of a counter, which the body gets as its first argument
  kTarget,     // where the function runs
};
Selector SelectorOf(const Node& node);
// A loop that asks a function before each iteration whether there is one; others count.
bool HasCondition(const Node& node);
// How many leading inputs of a structured node are not arguments of its functions: the predicate
// of If, the index of Case, start, limit and delta of For, the target of RemoteCall.
int NumSelectorInputs(const Node& node);
// How many leading arguments of its functions the node makes itself: the index of For.
int NumCounterArgs(const Node& node);
// The argument of its functions that an input of the node becomes; -1: none, it selects.
int ArgOfInput(const Node& node, int input);
// And the input that is this argument, at first if the node is a loop; -1: none, it counts.
int InputOfArg(const Node& node, int arg);

// Output i is input i, whatever else the node does.
bool HandsOn(const Node& node);
// The same node, of the op that has no effects; as it is where there is no such op.
Node WithoutEffects(const OpLookup& ops, Node node);

// INVALID_ARGUMENT unless `function` takes as many arguments as `node` passes to it, of the same
// types. Types that a generic function leaves open fit all.
absl::Status CheckArguments(const Node& node, const Callee& callee, const Function& function);

// INVALID_ARGUMENT unless `function` returns what the node makes of it: the node's outputs, the
// variables of a loop, or, for a loop's condition, one value.
absl::Status CheckResults(const Node& node, const Callee& callee, const Function& function);

// The functions of `program` that may call themselves, directly or through others.
std::set<std::string> RecursiveFunctions(const Program& program);

}  // namespace gyre

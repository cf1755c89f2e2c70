#include "ir/verifier.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ir/frames.h"
#include "ir/type_attrs.h"

namespace gyre {
namespace {

using Slot = NodeSignature::Slot;

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool HasNode(const Function& function, NodeId id) {
  return id >= 0 && static_cast<size_t>(id) < function.nodes.size();
}

std::string SlotText(const Slot& slot) {
  return absl::StrCat(DTypeName(slot.dtype), slot.is_ref ? " (Ref)" : "");
}

absl::Status DenseIds(const Program&, const Function& function) {
  for (size_t i = 0; i < function.nodes.size(); ++i) {
    const Node& node = function.nodes[i];
    if (node.id != static_cast<NodeId>(i))
      return Broken("node ", node.name, " stands at ", i, ", but has id ", node.id);
  }
  return absl::OkStatus();
}

absl::Status EdgesInRange(const Program&, const Function& function, const Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Endpoint& e = node.inputs[i];
    if (!HasNode(function, e.node))
      return Broken("input ", i, " comes from node ", e.node, ", which does not exist");
    const Node& source = function.node(e.node);
    // The outputs of an op that is not known, or yet to be instantiated, are not known either.
    const bool is_typed = source.op != nullptr && !IsGeneric(source);
    if (e.slot < 0 || (is_typed && e.slot >= source.num_outputs())) {
      return Broken("input ", i, " is output ", e.slot, " of node ", source.name, ", which has ",
                    source.num_outputs(), " outputs");
    }
  }
  for (const NodeId source : node.control_inputs) {
    if (!HasNode(function, source))
      return Broken("a control input comes from node ", source, ", which does not exist");
  }
  return absl::OkStatus();
}

absl::Status UniqueNames(const Program&, const Function& function) {
  HashSet<absl::string_view> names;
  for (const Node& node : function.nodes) {
    if (node.name.empty())
      return Broken("node number ", node.id, " (", node.op_name, ") has no name");
    if (!names.insert(node.name).second) return Broken("two nodes are called ", node.name);
  }
  return absl::OkStatus();
}

absl::Status ArgumentsHaveNodes(const Program& program, const Function& function) {
  if (function.args.size() != function.arg_nodes.size()) {
    return Broken("there are ", function.args.size(), " arguments, but ", function.arg_nodes.size(),
                  " nodes for them");
  }
  for (size_t i = 0; i < function.args.size(); ++i) {
    const FunctionArg& arg = function.args[i];
    const NodeId id = function.arg_nodes[i];
    if (!HasNode(function, id) || function.node(id).kind() != OpKind::kArg) {
      return Broken("argument ", arg.name, " has no argument node");
    }
    const Node& node = function.node(id);
    if (node.attrs.GetOr<int64_t>("index", -1) != static_cast<int64_t>(i)) {
      return Broken("node ", node.name, " stands for argument ", i,
                    ", but its attribute index says otherwise");
    }
    if (node.num_outputs() == 1 && node.signature.outputs[0].dtype != arg.dtype) {
      return Broken("argument ", arg.name, " is ", DTypeName(arg.dtype), ", but its node makes ",
                    SlotText(node.signature.outputs[0]));
    }
  }
  if (&function == &program.main()) return absl::OkStatus();
  const auto is_arg = [](const Node& node) { return node.kind() == OpKind::kArg; };
  const auto num_arg_nodes = std::count_if(function.nodes.begin(), function.nodes.end(), is_arg);
  if (static_cast<size_t>(num_arg_nodes) != function.args.size()) {
    return Broken("there are ", function.args.size(), " arguments, but ", num_arg_nodes,
                  " nodes that stand for one");
  }
  return absl::OkStatus();
}

absl::Status ResultsExist(const Program&, const Function& function) {
  for (const FunctionResult& result : function.results) {
    if (!HasNode(function, result.value.node))
      return Broken("result ", result.name, " is not computed by any node");
    const Node& source = function.node(result.value.node);
    if (source.op == nullptr || IsGeneric(source)) continue;
    if (result.value.slot < 0 || result.value.slot >= source.num_outputs()) {
      return Broken("result ", result.name, " is output ", result.value.slot, " of node ",
                    source.name, ", which has ", source.num_outputs(), " outputs");
    }
    const Slot& slot = source.signature.outputs[result.value.slot];
    if (slot.dtype != result.dtype) {
      return Broken("result ", result.name, " is ", DTypeName(result.dtype), ", but node ",
                    source.name, " makes ", SlotText(slot));
    }
  }
  for (const auto& [name, id] : function.control_results) {
    if (!HasNode(function, id))
      return Broken("control result ", name, " is no node of the function");
  }
  return absl::OkStatus();
}

// The function takes a reference, which its _Arg hands on: the op's schema cannot say that.
bool IsReferenceArg(const Function& function, const Node& node) {
  const int64_t index = node.attrs.GetOr<int64_t>("index", -1);
  return index >= 0 && index < static_cast<int64_t>(function.args.size()) &&
         function.args[index].is_ref;
}

absl::Status SignatureFitsOp(const Program&, const Function& function, const Node& node) {
  if (node.op == nullptr || IsGeneric(node)) return absl::OkStatus();
  if (node.op->name != node.op_name)
    return Broken("op_name is ", node.op_name, ", but op is ", node.op->name);
  AttrMap attrs = node.attrs;
  GYRE_ASSIGN_OR_RETURN(NodeSignature signature, ResolveSignature(*node.op, attrs));
  if (node.kind() == OpKind::kArg && IsReferenceArg(function, node))
    signature.outputs[0].is_ref = true;
  if (attrs.size() != node.attrs.size())
    return Broken("attributes that have defaults are not filled in");
  if (IsStructured(node.kind())) {  // they hand on references that they are given
    for (size_t i = 0; i < signature.inputs.size() && i < node.signature.inputs.size(); ++i)
      signature.inputs[i].is_ref = node.signature.inputs[i].is_ref;
    for (size_t i = 0; i < signature.outputs.size() && i < node.signature.outputs.size(); ++i)
      signature.outputs[i].is_ref = node.signature.outputs[i].is_ref;
  }
  if (signature.inputs != node.signature.inputs || signature.outputs != node.signature.outputs) {
    return Broken("the signature is not the one that op ", node.op_name,
                  " has with these attributes");
  }
  if (node.inputs.size() != signature.inputs.size()) {
    return Broken("op ", node.op_name, " takes ", signature.inputs.size(),
                  " inputs with these attributes, but has ", node.inputs.size());
  }
  return absl::OkStatus();
}

absl::Status EdgeTypesAgree(const Program&, const Function& function, const Node& node) {
  for (size_t i = 0; i < node.inputs.size() && i < node.signature.inputs.size(); ++i) {
    const Endpoint& e = node.inputs[i];
    const std::vector<Slot>& outputs = function.node(e.node).signature.outputs;
    if (static_cast<size_t>(e.slot) >= outputs.size()) continue;
    const Slot& have = outputs[e.slot];
    const Slot& want = node.signature.inputs[i];
    if (have.dtype == DType::kInvalid) continue;  // made by an op that is not known
    if (have.dtype != want.dtype) {
      return Broken("input ", i, " must be ", SlotText(want), ", but ", function.EndpointName(e),
                    " is ", SlotText(have));
    }
    // A Ref is read where a value is wanted; a value cannot become a Ref.
    if (want.is_ref && !have.is_ref) {
      return Broken("input ", i, " must be a reference, but ", function.EndpointName(e),
                    " is a value");
    }
  }
  return absl::OkStatus();
}

// Follows edges backwards from `start`, a node that can never run, until a node comes up again.
std::string CycleText(const Function& function, const std::vector<int>& pending, NodeId start) {
  std::vector<NodeId> path;
  HashSet<NodeId> seen;
  NodeId id = start;
  while (seen.insert(id).second) {
    path.push_back(id);
    const Node& node = function.node(id);
    const auto blocks = [&](NodeId source) { return pending[source] > 0; };
    const auto data = std::find_if(node.inputs.begin(), node.inputs.end(), [&](Endpoint e) {
      return blocks(e.node) && !IsBackEdge(function.node(e.node), node);
    });
    if (data != node.inputs.end()) {
      id = data->node;
    } else {
      id = *std::find_if(node.control_inputs.begin(), node.control_inputs.end(), blocks);
    }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), id));
  constexpr size_t kMaxShown = 8;
  std::string text = function.node(id).name;
  for (size_t i = 0; i < std::min(path.size() - 1, kMaxShown); ++i) {
    absl::StrAppend(&text, " <- ", function.node(path[i + 1]).name);
  }
  return absl::StrCat(text, path.size() - 1 > kMaxShown ? " <- ... <- " : " <- ",
                      function.node(id).name);
}

absl::Status CyclesAreLoops(const Program&, const Function& function) {
  std::vector<std::vector<NodeId>> consumers(function.nodes.size());
  std::vector<int> pending(function.nodes.size(), 0);
  for (const Node& node : function.nodes) {
    for (const Endpoint& e : node.inputs) {
      if (IsBackEdge(function.node(e.node), node)) continue;
      consumers[e.node].push_back(node.id);
      ++pending[node.id];
    }
    for (const NodeId source : node.control_inputs) {
      consumers[source].push_back(node.id);
      ++pending[node.id];
    }
  }
  std::vector<NodeId> ready;
  for (const Node& node : function.nodes) {
    if (pending[node.id] == 0) ready.push_back(node.id);
  }
  size_t num_done = 0;
  for (; !ready.empty(); ++num_done) {
    const NodeId id = ready.back();
    ready.pop_back();
    for (const NodeId consumer : consumers[id]) {
      if (--pending[consumer] == 0) ready.push_back(consumer);
    }
  }
  if (num_done == function.nodes.size()) return absl::OkStatus();
  const auto stuck = std::find_if(pending.begin(), pending.end(), [](int n) { return n > 0; });
  return Broken("these nodes wait for each other: ",
                CycleText(function, pending, static_cast<NodeId>(stuck - pending.begin())));
}

// Per node: whether its outputs are there in the first iteration of a loop alone, since they are
// made, by however many steps, from what an Enter that is not constant brings.
std::vector<bool> ComeOnce(const Function& function) {
  std::vector<std::vector<NodeId>> consumers(function.nodes.size());
  std::vector<bool> once(function.nodes.size(), false);
  std::vector<NodeId> ready;
  for (const Node& node : function.nodes) {
    if (node.kind() == OpKind::kEnter && !node.attrs.GetOr<bool>("is_constant", false)) {
      once[node.id] = true;
      ready.push_back(node.id);
    }
    if (node.kind() == OpKind::kMerge || node.kind() == OpKind::kEnter ||
        node.kind() == OpKind::kExit || node.kind() == OpKind::kNextIteration) {
      continue;
    }
    for (const Endpoint& e : node.inputs) consumers[e.node].push_back(node.id);
    for (const NodeId source : node.control_inputs) consumers[source].push_back(node.id);
  }
  while (!ready.empty()) {
    const NodeId id = ready.back();
    ready.pop_back();
    for (const NodeId consumer : consumers[id]) {
      if (once[consumer]) continue;
      once[consumer] = true;
      ready.push_back(consumer);
    }
  }
  return once;
}

// A value that comes in every iteration would be there beside the one from the iteration before: by
// chance, and by how many iterations are in flight, one or the other would count. Where none comes
// in, a loop that is inside waits in the first iteration, which ends only where others may begin
// before it has.
absl::Status VariablesEnterOnce(const Program&, const Function& function) {
  std::vector<bool> once;  // worked out when first needed
  for (const Node& node : function.nodes) {
    if (node.kind() != OpKind::kMerge) continue;
    const auto is_next = [&](Endpoint e) {
      return function.node(e.node).kind() == OpKind::kNextIteration;
    };
    const auto next = std::find_if(node.inputs.begin(), node.inputs.end(), is_next);
    if (next == node.inputs.end()) continue;
    if (std::all_of(node.inputs.begin(), node.inputs.end(), is_next)) {
      return Broken(
          "node ", node.name,
          " (Merge) takes nothing but what NextIterations hand on, and waits in the first "
          "iteration for ever: let an Enter bring in what it starts with");
    }
    for (const Endpoint& e : node.inputs) {
      if (is_next(e)) continue;
      if (once.empty()) once = ComeOnce(function);
      if (once[e.node]) continue;
      const Node& source = function.node(e.node);
      const std::string change =
          source.kind() == OpKind::kEnter
              ? absl::StrCat("of loop '", source.attrs.GetOr<std::string>("frame_name", ""),
                             "': set is_constant of '", source.name, "' to false")
              : "of its loop: let an Enter that is not constant bring in what it starts with";
      return Broken("node ", node.name, " (Merge) takes '", function.EndpointName(e),
                    "', which comes in every iteration, beside what '",
                    function.node(next->node).name,
                    "' hands on from one to the next: it must be "
                    "a variable ",
                    change);
    }
  }
  return absl::OkStatus();
}

absl::Status FramesAreSound(const Program&, const Function& function) {
  return CheckFrames(function);
}

absl::Status NoPrimitives(const Program&, const Function&, const Node& node) {
  if (!IsPrimitive(node.kind())) return absl::OkStatus();
  return Broken(node.op_name, " is a primitive of the dataflow dialect");
}

absl::Status CalleesExist(const Program& program, const Function&, const Node& node) {
  for (const Callee& callee : CalleesOf(program, node)) {
    if (program.FindFunction(callee.function.name) == nullptr) {
      return absl::NotFoundError(absl::StrCat(callee.attr, " is function ", callee.function.name,
                                              ", which does not exist"));
    }
  }
  return absl::OkStatus();
}

using CalleeCheck = absl::Status (*)(const Node&, const Callee&, const Function&);

// Applies `check` to the functions that `node` calls with its inputs as arguments.
absl::Status CheckCallees(const Program& program, const Node& node, CalleeCheck check) {
  // SymbolicGradient passes the adjoints of its function's results as well.
  if (node.op == nullptr || IsGeneric(node) || node.kind() == OpKind::kSymbolicGradient)
    return absl::OkStatus();
  for (const Callee& callee : CalleesOf(program, node)) {
    const Function* function = program.FindFunction(callee.function.name);
    if (function != nullptr) GYRE_RETURN_IF_ERROR(check(node, callee, *function));
  }
  return absl::OkStatus();
}

absl::Status ArgumentsFit(const Program& program, const Function&, const Node& node) {
  return CheckCallees(program, node, &CheckArguments);
}

absl::Status ResultsFit(const Program& program, const Function&, const Node& node) {
  return CheckCallees(program, node, &CheckResults);
}

constexpr unsigned kStructured = 1u << static_cast<int>(Dialect::kStructured);
constexpr unsigned kDataflow = 1u << static_cast<int>(Dialect::kDataflow);
constexpr unsigned kAll = kStructured | kDataflow | 1u << static_cast<int>(Dialect::kAny);

constexpr VerifierRule kRules[] = {
    {.name = "dense-ids",
     .doc = "The id of a node is its place among the function's nodes.",
     .dialects = kAll,
     .check_function = DenseIds},
    {.name = "edges-in-range",
     .doc = "Every input is an output that an existing node has; every control input is an "
            "existing node.",
     .dialects = kAll,
     .check_node = EdgesInRange},
    {.name = "unique-names",
     .doc = "Every node has a name, and no two of a function share one.",
     .dialects = kAll,
     .check_function = UniqueNames},
    {.name = "arguments-have-nodes",
     .doc = "Each argument of a function has one node, of its type, that stands for it.",
     .dialects = kAll,
     .check_function = ArgumentsHaveNodes},
    {.name = "results-exist",
     .doc = "Each result of a function is a value that it computes, of the type that it states.",
     .dialects = kAll,
     .check_function = ResultsExist},
    {.name = "signature-fits-op",
     .doc = "Attributes are those that the op declares, and inputs and outputs are what they make "
            "of its schema.",
     .dialects = kAll,
     .check_node = SignatureFitsOp},
    {.name = "edge-types-agree",
     .doc = "An input has the type of the output that it comes from; only a reference can be an "
            "input that is one.",
     .dialects = kAll,
     .check_node = EdgeTypesAgree},
    {.name = "cycles-are-loops",
     .doc = "Every cycle of edges leads through an edge from a NextIteration to a Merge.",
     .dialects = kAll,
     .check_function = CyclesAreLoops},
    {.name = "variables-enter-once",
     .doc = "What a Merge takes beside a NextIteration's value comes from an Enter that is not "
            "constant, and there is such a value.",
     .dialects = kAll,
     .check_function = VariablesEnterOnce},
    {.name = "no-primitives",
     .doc = "There are no Switch, Merge, Enter, Exit, NextIteration and LoopCond.",
     .dialects = kStructured,
     .check_node = NoPrimitives},
    {.name = "frames-are-sound",
     .doc = "All inputs of a node come from one frame, and frames nest.",
     .dialects = kDataflow,
     .check_function = FramesAreSound},
    {.name = "callees-exist",
     .doc = "The functions that a node calls are functions of the program.",
     .dialects = kStructured | kDataflow,
     .check_node = CalleesExist},
    {.name = "arguments-fit",
     .doc = "A function takes as many arguments as its callers pass, of the same types.",
     .dialects = kStructured | kDataflow,
     .check_node = ArgumentsFit},
    {.name = "results-fit",
     .doc = "A branch or callee returns what its caller makes of it, a loop's body what the loop "
            "carries, and its condition one value.",
     .dialects = kStructured | kDataflow,
     .check_node = ResultsFit},
};

absl::Status CheckRule(const VerifierRule& rule, const Program& program, const Function& function) {
  const std::string where = absl::StrCat(
      "rule ", rule.name, " does not hold in ",
      &function == &program.main() ? "the main graph" : absl::StrCat("function ", function.name));
  if (rule.check_function != nullptr) {
    SpendWork(static_cast<int64_t>(function.nodes.size()));
    return Annotate(rule.check_function(program, function), where);
  }
  for (const Node& node : function.nodes) {
    SpendWork(1 + static_cast<int64_t>(node.inputs.size() + node.control_inputs.size()));
    absl::Status status = rule.check_node(program, function, node);
    if (!status.ok())
      return Annotate(status, absl::StrCat(where, " at node ", node.name, " (", node.op_name, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const VerifierRule> VerifierRules() { return kRules; }

absl::Status Verify(const Program& program, Dialect dialect) {
  return RunStage("verifying", [&]() -> absl::Status {
    std::vector<const Function*> functions = {&program.main()};
    for (const auto& [name, function] : program.functions()) functions.push_back(function.get());
    for (const VerifierRule& rule : kRules) {
      if (!rule.IsIn(dialect)) continue;
      for (const Function* function : functions)
        GYRE_RETURN_IF_ERROR(CheckRule(rule, program, *function));
    }
    return absl::OkStatus();
  });
}

}  // namespace gyre

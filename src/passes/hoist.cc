#include "passes/hoist.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/failure.h"
#include "analysis/pass_through.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ops/control/for_trip_count.h"
#include "ops/registry.h"
#include "passes/edit/body.h"
#include "passes/edit/shapes.h"
#include "passes/edit/structured_edit.h"

namespace gyre {
namespace {

using passes::BodyFacts;
using passes::NamedShapes;
using passes::Rewrite;
using passes::StagedEdit;
using passes::StructuredEdit;

// The condition or the body of one loop: which of its nodes can go.
class Invariants {
 public:
  // `args`: by argument of the function, the loop's variable that no iteration changes; -1: it
  // changes.
  Invariants(const Function& function, const Effects& effects, const std::string& shapes_of,
             const std::vector<int>& args, bool is_certain, NamedShapes& shapes)
      : function_(function),
        body_(passes::ReadBody(function, effects)),
        variable_of_(function.nodes.size(), -1) {
    for (size_t i = 0; i < args.size(); ++i) variable_of_[function.arg_nodes[i]] = args[i];
    const std::vector<bool> runs = NeededNodes(function, CallSignature(function));
    goes_.resize(function.nodes.size());
    for (const NodeId id : body_.order) {
      SpendWork();
      const Node& node = function.node(id);
      if (!runs[id] || !DependsOnInvariants(node)) continue;
      std::vector<PartialShape> inputs;
      for (const Endpoint& e : node.inputs)
        inputs.push_back(shapes.Of(shapes_of, function.node(e.node).name, e.slot));
      if (!is_certain && !CannotFail(node, inputs)) continue;
      goes_[id] = true;
      order_.push_back(id);
    }
    FindFrontier();
  }

  const std::vector<NodeId>& order() const { return order_; }  // what goes, producers first
  // Values that are computed outside and read inside.
  const std::vector<Endpoint>& frontier() const { return frontier_; }
  int VariableOf(NodeId arg) const { return variable_of_[arg]; }

 private:
  bool DependsOnInvariants(const Node& node) const {
    if (!body_.IsPure(node.id) || !IsPlain(node.kind()) || !node.control_inputs.empty() ||
        node.num_outputs() == 0) {
      return false;
    }
    bool reads_variable = false;  // what reads constants alone is for `fold`
    for (const Endpoint& e : node.inputs) {
      const bool is_variable = variable_of_[e.node] >= 0;
      const bool is_constant = ConstantValue(function_.node(e.node)) != nullptr;
      if (!is_variable && !is_constant && !goes_[e.node]) return false;
      reads_variable |= !is_constant;
    }
    return reads_variable;
  }

  void FindFrontier() {
    HashSet<Endpoint> seen;
    const auto read = [&](Endpoint e) {
      if (goes_[e.node] && seen.insert(e).second) frontier_.push_back(e);
    };
    for (const Node& node : function_.nodes) {
      if (goes_[node.id]) continue;
      for (const Endpoint& e : node.inputs) read(e);
    }
    for (const FunctionResult& result : function_.results) read(result.value);
  }

  const Function& function_;
  const BodyFacts body_;
  std::vector<int> variable_of_;  // by node: the variable that it is the argument of
  std::vector<bool> goes_;
  std::vector<NodeId> order_;
  std::vector<Endpoint> frontier_;
};

class Hoister {
 public:
  explicit Hoister(const Staged& staged)
      : effects_(*staged.program), shapes_(staged), edit_(staged), counts_(CountNames(edit_)) {}

  absl::StatusOr<Staged> Run() && {
    // What leaves an inner loop may leave the outer one.
    GYRE_RETURN_IF_ERROR(passes::RewriteCalleesFirst(
        edit_, effects_,
        [this](const std::string&, const BodyFacts& body, Rewrite& caller) -> absl::Status {
          for (const NodeId id : body.order) {
            if (IsLoop(caller.node(id).kind()) && !body.is_fixed[id])
              GYRE_RETURN_IF_ERROR(HoistOutOf(id, body, caller));
          }
          return absl::OkStatus();
        }));
    return std::move(edit_).Finish();
  }

 private:
  static bool MakesAnIteration(const Node& loop, const BodyFacts& body, const Rewrite& caller) {
    if (SelectorOf(loop) != Selector::kBounds) return false;
    std::vector<Tensor> bounds;
    for (int i = 0; i < NumSelectorInputs(loop); ++i) {
      const Tensor* const value = passes::ConstantOf(caller, body, loop.inputs[i]);
      if (value == nullptr || value->dtype() != DType::kInt32) return false;
      bounds.push_back(*value);
    }
    return CountIterations(bounds[0], bounds[1], bounds[2]).value_or(0) > 0;
  }

  absl::Status HoistOutOf(NodeId id, const BodyFacts& body, Rewrite& caller) {
    const Node loop = caller.node(id);
    if (!StructuredEdit::CanChange(edit_, effects_, counts_, loop)) return absl::OkStatus();
    const std::vector<Callee> callees = CalleesOf(edit_.program(), loop);
    const int num_counters = NumCounterArgs(loop);
    const std::vector<bool> fixed =
        InvariantVariables(*edit_.Find(callees.back().function.name), num_counters);
    std::vector<std::unique_ptr<Invariants>> found;
    bool any = false;
    for (const Callee& callee : callees) {
      std::vector<int> args(num_counters, -1);
      for (size_t i = 0; i < fixed.size(); ++i) args.push_back(fixed[i] ? static_cast<int>(i) : -1);
      found.push_back(std::make_unique<Invariants>(
          *edit_.Find(callee.function.name), effects_, callee.function.name, args,
          callee.is_condition() || MakesAnIteration(loop, body, caller), shapes_));
      any |= !found.back()->frontier().empty();
    }
    return any ? Move(loop, found, caller) : absl::OkStatus();
  }

  absl::Status Move(const Node& loop, const std::vector<std::unique_ptr<Invariants>>& found,
                    Rewrite& caller) {
    StructuredEdit structured(edit_, counts_, loop);
    passes::StructuredInterface wanted = passes::InterfaceOf(loop);
    for (size_t i = 0; i < found.size(); ++i) {
      const Function function = structured.callees()[i].function();
      const HashMap<NodeId, NodeId> copies = CopyOut(loop, function, *found[i], caller);
      for (const Endpoint& e : found[i]->frontier()) {
        const Node& node = function.node(e.node);
        const DType type = node.signature.outputs[e.slot].dtype;
        wanted.args.push_back({copies.at(e.node), e.slot});
        wanted.arg_types.push_back(type);
        wanted.output_types.push_back(type);
        wanted.outputs_from.push_back(-1);
        AddVariable(node.name, type, i, e, structured.callees());
      }
      for (const NodeId id : found[i]->order()) structured.callees()[i].Drop(id);
    }
    return std::move(structured).Finish(wanted, loop.id, caller);
  }

  // What is to go from `function`, as nodes before the loop.
  HashMap<NodeId, NodeId> CopyOut(const Node& loop, const Function& function,
                                  const Invariants& invariants, Rewrite& caller) {
    HashMap<NodeId, NodeId> copies;
    const auto copy = [&](const Node& node) {
      Node outside = node;
      outside.name = absl::StrCat(loop.name, "/", node.name);
      return outside;
    };
    for (const NodeId id : invariants.order()) {
      Node outside = copy(function.node(id));
      outside.control_inputs = loop.control_inputs;
      for (Endpoint& e : outside.inputs) {
        const Node& source = function.node(e.node);
        if (const int variable = invariants.VariableOf(e.node); variable >= 0) {
          e = loop.inputs[variable + NumSelectorInputs(loop)];
          continue;
        }
        if (!copies.contains(e.node)) copies[e.node] = caller.Add(copy(source), loop.id);
        e.node = copies[e.node];
      }
      copies[id] = caller.Add(std::move(outside), loop.id);
    }
    return copies;
  }

  // A variable that no iteration changes, in all functions of the loop; `value` of one is read from
  // it.
  void AddVariable(const std::string& name, DType type, size_t reader, Endpoint value,
                   std::vector<Rewrite>& functions) {
    for (size_t i = 0; i < functions.size(); ++i) {
      const Endpoint arg = AddArgument(name, type, edit_.ops(), functions[i]);
      if (i + 1 == functions.size()) AddResult(name, type, arg, functions[i]);
      if (i == reader) functions[i].Replace(value, arg);
    }
  }

  const Effects effects_;
  NamedShapes shapes_;
  StagedEdit edit_;
  passes::NameCounts counts_;
};

}  // namespace

absl::StatusOr<Staged> HoistPass(const Staged& staged) { return Hoister(staged).Run(); }

}  // namespace gyre

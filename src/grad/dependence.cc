#include "grad/dependence.h"

#include <algorithm>
#include <utility>

#include "analysis/call_graph.h"
#include "base/work.h"
#include "grad/structured.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "passes/edit/staged_edit.h"

namespace gyre::grad {
namespace {

// A plain op hands on what comes in, unless it says that it does not. Ops that nobody knows, or
// that refuse, count as such that do: whoever comes by them has to be told.
bool CarriesDerivative(const Node& node) {
  if (node.op == nullptr) return true;
  const Gradient& gradient = node.op->gradient;
  return gradient.rule != nullptr || gradient.not_differentiable.empty() || gradient.refuses;
}

std::vector<bool> Differentiable(const std::vector<NodeSignature::Slot>& slots) {
  std::vector<bool> which;
  for (const auto& slot : slots) which.push_back(HasDerivative(slot.dtype));
  return which;
}

bool Any(const std::vector<bool>& marks) {
  return std::find(marks.begin(), marks.end(), true) != marks.end();
}

// a |= b; whether that changed a.
bool Join(std::vector<bool>& a, const std::vector<bool>& b) {
  bool changed = false;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (b[i] && !a[i]) a[i] = changed = true;
  }
  return changed;
}

// Sums over paths of any length: row r depends on what the rows that it depends on depend on.
void Close(Dependence::Matrix& matrix) {
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i][i] = true;
  for (size_t k = 0; k < matrix.size(); ++k) {
    for (std::vector<bool>& row : matrix) {
      if (row[k]) Join(row, matrix[k]);
    }
  }
}

}  // namespace

bool HasDerivative(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kFloat:
    case DType::kDouble:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kVariant:
    case DType::kResource:
      return true;
    default:
      return false;
  }
}

Dependence::Dependence(const Program& program) : program_(program) {
  const auto& own = program.gradient_functions();
  for (const auto& [name, function] : program.functions()) {
    Matrix& matrix = of_[name];
    matrix = Matrix(function->results.size(), std::vector<bool>(function->args.size()));
    if (!own.contains(name)) continue;
    // Its gradient is what another function says, of any argument by any result.
    for (size_t r = 0; r < matrix.size(); ++r) {
      for (size_t i = 0; i < matrix[r].size(); ++i) {
        matrix[r][i] =
            HasDerivative(function->results[r].dtype) && HasDerivative(function->args[i].dtype);
      }
    }
  }
  FindOfFunctions();
}

// Callees first; after that only the callers of what has changed, which without recursion is
// nothing.
void Dependence::FindOfFunctions() {
  CallGraph(program_).UpdateUntilStable(
      [&](const std::string& name) { return Update(*program_.FindFunction(name), of_.at(name)); });
}

const Dependence::Matrix& Dependence::OfFunction(const std::string& name) const {
  static const Matrix* const nothing = new Matrix();
  const auto found = of_.find(name);
  return found == of_.end() ? *nothing : found->second;
}

Dependence::Matrix Dependence::OfStructured(const Node& node) const {
  const size_t first = NumSelectorInputs(node);
  Matrix structured(node.num_outputs(), std::vector<bool>(node.inputs.size()));
  for (const Callee& callee : CalleesOf(program_, node)) {
    if (callee.is_condition()) continue;
    // A function that the program does not have counts as an op that nobody knows.
    if (program_.FindFunction(callee.function.name) == nullptr)
      return Matrix(node.num_outputs(), std::vector<bool>(node.inputs.size(), true));
    Matrix body = OfFunction(callee.function.name);
    for (auto& row : body) row.erase(row.begin(), row.begin() + NumCounterArgs(node));
    if (IsLoop(node.kind())) Close(body);
    for (size_t o = 0; o < std::min(structured.size(), body.size()); ++o) {
      for (size_t i = 0; i < body[o].size() && first + i < structured[o].size(); ++i) {
        if (body[o][i]) structured[o][first + i] = true;
      }
    }
  }
  return structured;
}

std::vector<bool> Dependence::Outputs(const Node& node, const std::vector<bool>& inputs) const {
  std::vector<bool> outputs(node.num_outputs());
  if (!Any(inputs)) return outputs;
  const std::vector<bool> can = Differentiable(node.signature.outputs);
  if (!IsStructured(node.kind())) {
    if (!CarriesDerivative(node)) return outputs;
    const std::vector<bool> may = Differentiable(node.signature.inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] && may[i]) return can;
    }
    return outputs;
  }
  const Matrix structured = OfStructured(node);
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (size_t i = 0; i < inputs.size() && can[o]; ++i) {
      if (inputs[i] && structured[o][i]) outputs[o] = true;
    }
  }
  return outputs;
}

std::vector<bool> Dependence::Inputs(const Node& node, const std::vector<bool>& outputs) const {
  std::vector<bool> inputs(node.inputs.size());
  if (!Any(outputs)) return inputs;
  const std::vector<bool> can = Differentiable(node.signature.inputs);
  if (!IsStructured(node.kind())) return CarriesDerivative(node) ? can : inputs;
  const Matrix structured = OfStructured(node);
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o]) Join(inputs, structured[o]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = inputs[i] && can[i];
  return inputs;
}

std::vector<Dependence::ArgSet> Dependence::ArgsOfOutputs(
    const Node& node, const std::vector<const ArgSet*>& inputs) const {
  std::vector<ArgSet> outputs(node.num_outputs());
  const auto join = [](ArgSet& into, const ArgSet& from) {
    if (into.empty()) {
      into = from;
    } else if (!from.empty()) {
      Join(into, from);
    }
  };
  const std::vector<bool> can = Differentiable(node.signature.outputs);
  if (IsStructured(node.kind())) {
    const Matrix structured = OfStructured(node);
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (size_t i = 0; i < inputs.size() && can[o]; ++i) {
        if (structured[o][i]) join(outputs[o], *inputs[i]);
      }
    }
    return outputs;
  }
  if (!CarriesDerivative(node)) return outputs;
  const std::vector<bool> may = Differentiable(node.signature.inputs);
  ArgSet all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (may[i]) join(all, *inputs[i]);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    if (can[o]) outputs[o] = all;
  }
  return outputs;
}

bool Dependence::Update(const Function& function, Matrix& matrix) const {
  // By node and output: the arguments that it depends on.
  std::vector<std::vector<ArgSet>> of(function.nodes.size());
  for (const Node& node : function.nodes) of[node.id].resize(node.num_outputs());
  for (size_t i = 0; i < function.args.size(); ++i) {
    if (!HasDerivative(function.args[i].dtype)) continue;
    ArgSet& itself = of[function.arg_nodes[i]][0];
    itself.resize(function.args.size());
    itself[i] = true;
  }
  for (const NodeId id : OrderByData(function).order) {
    const Node& node = function.node(id);
    SpendWork(1 + static_cast<int64_t>(node.inputs.size() + function.args.size() / 4096));
    std::vector<const ArgSet*> inputs;
    bool depends = false;
    for (const Endpoint& e : node.inputs) {
      inputs.push_back(&of[e.node][e.slot]);
      depends |= !inputs.back()->empty();
    }
    if (depends) of[id] = ArgsOfOutputs(node, inputs);
  }
  bool changed = false;
  for (size_t r = 0; r < function.results.size(); ++r) {
    const Endpoint e = function.results[r].value;
    changed |= Join(matrix[r], of[e.node][e.slot]);
  }
  return changed;
}

Marks NoMarks(const Function& function) {
  Marks marks;
  for (const Node& node : function.nodes) marks.emplace_back(node.num_outputs());
  return marks;
}

void MarkDependents(const Function& function, const Dependence& dependence, const Marks& stops,
                    Marks& marks) {
  for (const NodeId id : OrderByData(function).order) {
    SpendWork();
    const Node& node = function.node(id);
    std::vector<bool> inputs;
    for (const Endpoint& e : node.inputs) inputs.push_back(marks[e.node][e.slot]);
    std::vector<bool> outputs = dependence.Outputs(node, inputs);
    for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = outputs[o] && !stops[id][o];
    Join(marks[id], outputs);
  }
}

void MarkSources(const Function& function, const Dependence& dependence, Marks& marks) {
  const std::vector<NodeId> order = OrderByData(function).order;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = function.node(*id);
    const std::vector<bool> inputs = dependence.Inputs(node, marks[*id]);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) marks[node.inputs[i].node][node.inputs[i].slot] = true;
    }
  }
}

}  // namespace gyre::grad

// import_graph: prune and raise what is asked for, take over its functions, then its nodes.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/order.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/import_program.h"
#include "front/op_call.h"
#include "gyre/graph.h"
#include "ir/calls.h"
#include "ir/data_order.h"
#include "ir/shape_inference.h"
#include "ops/registry.h"
#include "passes/raise/raise.h"
#include "session/literal.h"
#include "session/names.h"
#include "session/program_file.h"

namespace gyre {

using internal::GraphState;
using internal::ScopePtr;

namespace {

using Renamings = std::map<std::string, std::string>;

AttrMap WithRenamedFunctions(const AttrMap& attrs, const Renamings& names);

FunctionRef Renamed(const FunctionRef& ref, const Renamings& names) {
  const auto name = names.find(ref.name);
  FunctionRef renamed = {name == names.end() ? ref.name : name->second, nullptr};
  if (ref.attrs != nullptr)
    renamed.attrs = std::make_shared<const AttrMap>(WithRenamedFunctions(*ref.attrs, names));
  return renamed;
}

AttrMap WithRenamedFunctions(const AttrMap& attrs, const Renamings& names) {
  AttrMap renamed = attrs;
  for (const auto& [name, value] : attrs) {
    if (const auto* one = std::get_if<FunctionRef>(&value)) {
      renamed.Set(name, Renamed(*one, names));
    } else if (const auto* many = std::get_if<std::vector<FunctionRef>>(&value)) {
      std::vector<FunctionRef> refs;
      for (const FunctionRef& ref : *many) refs.push_back(Renamed(ref, names));
      renamed.Set(name, std::move(refs));
    }
  }
  return renamed;
}

Function WithRenamedFunctions(Function function, const Renamings& names) {
  for (Node& node : function.nodes) node.attrs = WithRenamedFunctions(node.attrs, names);
  return function;
}

// What a program calls and does not have itself: the graph's own, with all that they call.
void AddFunctionsOfGraph(const Program& program, const GraphState& graph, ProgramBuilder& to) {
  std::vector<std::string> pending = NamedFunctions(program.main());
  for (const auto& [name, function] : program.functions()) {
    for (std::string& named : NamedFunctions(*function)) pending.push_back(std::move(named));
  }
  std::set<std::string> seen;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (program.FindFunction(name) != nullptr || !seen.insert(name).second) continue;
    const Function* function = graph.FindFunction(name);
    if (function == nullptr) continue;
    to.SetFunction(*function);
    for (std::string& named : NamedFunctions(*function)) pending.push_back(std::move(named));
  }
}

// The program with names of functions that the graph does not have. The graph gets its functions.
std::shared_ptr<const Program> TakeFunctions(const Program& program, GraphState& graph) {
  Renamings names;
  for (const auto& [name, function] : program.functions())
    names.emplace(name, graph.UniqueFunctionName(name));
  ProgramBuilder renamed(Ops());
  AddFunctionsOfGraph(program, graph, renamed);
  renamed.SetMain(WithRenamedFunctions(program.main(), names));
  for (const auto& [name, function] : program.functions()) {
    Function taken = WithRenamedFunctions(*function, names);
    taken.name = names[name];
    renamed.SetFunction(taken);
    graph.AddFunction(std::move(taken));
  }
  for (const auto& [function, gradient] : program.gradient_functions()) {
    if (!names.contains(function) || !names.contains(gradient)) continue;
    renamed.SetGradientFunction(names[function], names[gradient]);
    graph.SetGradientFunction(names[function], names[gradient]);
  }
  return renamed.Build();
}

// A program as far as it is asked for; feeds are the inputs.
absl::StatusOr<Staged> StageAsked(std::shared_ptr<const Program> program,
                                  const std::vector<std::string>& outputs,
                                  const std::vector<std::string>& targets,
                                  const ImportInputs& inputs) {
  std::vector<std::string> feeds;
  for (const auto& [name, operand] : inputs) feeds.push_back(name);
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(*program).FindSignature(feeds, outputs, targets));
  return MakeStaged(std::move(program), std::move(signature));
}

// With If and While in place of primitives.
absl::StatusOr<Staged> StageRaised(std::shared_ptr<const Program> program,
                                   const std::vector<std::string>& outputs,
                                   const ImportInputs& inputs) {
  absl::StatusOr<Staged> staged = StageAsked(std::move(program), outputs, {}, inputs);
  if (staged.ok()) staged = Raise(*std::move(staged));
  return staged;
}

// Which names nodes get: those that session rules give, or their own as far as those are free.
enum class Naming { kAsAsked, kOwn };

// Adds the main graph of a program to a scope.
class Importer {
 public:
  Importer(const Program& program, const RunSignature& signature, ScopePtr scope, Naming naming,
           const std::source_location& where)
      : program_(program),
        main_(program.main()),
        effects_(program),
        signature_(signature),
        scope_(std::move(scope)),
        naming_(naming),
        where_(where) {}

  // `name`: of the input in the file.
  void Replace(Endpoint e, const std::string& name, const Operand& operand) {
    const NodeSignature::Slot& slot = main_.node(e.node).signature.outputs[e.slot];
    Value value =
        operand.is_literal()
            ? internal::MakeConstant(
                  internal::ValueOrThrow(internal::ConvertLiteral(operand.literal(), slot.dtype)),
                  operand.where())
            : operand.value();
    const Endpoint here = scope_->Use(value, operand.where());
    if (scope_->ValueAt(here).dtype() != slot.dtype) {
      internal::ThrowInvalid(absl::StrCat("'", name, "' is ", DTypeName(slot.dtype),
                                          " and cannot be replaced by ", DTypeName(value.dtype())),
                             operand.where());
    }
    replaced_.insert_or_assign(e, here);
  }

  void AddNodes() { AddInOrder(NeededNodes(main_, signature_)); }

  // All of them. Loops of primitives are closed when all their nodes are there.
  std::vector<Operation> AddAllNodes() {
    AddInOrder(std::vector<bool>(main_.nodes.size(), true));
    for (const auto& [node, slot, source] : open_)
      scope_->SetInput(nodes_[node], slot, Find(source), where_);
    for (const Node& node : main_.nodes) {
      for (const NodeId control : node.control_inputs) {
        if (!IsAwaited(nodes_[node.id], nodes_[control]))
          scope_->AddControlInput(nodes_[node.id], nodes_[control]);
      }
    }
    std::vector<Operation> operations;
    for (const NodeId id : nodes_) operations.emplace_back(scope_, id);
    return operations;
  }

  Endpoint Find(Endpoint e) const {
    const auto it = replaced_.find(e);
    return it == replaced_.end() ? Endpoint{nodes_[e.node], e.slot} : it->second;
  }

 private:
  // In the order of data and of control edges: the scope keeps effects as they are added.
  void AddInOrder(const std::vector<bool>& needed) {
    nodes_.assign(main_.nodes.size(), -1);
    for (const NodeId id : ProducersFirst(main_, needed)) nodes_[id] = AddNode(main_.node(id));
    for (const Node& node : main_.nodes) {
      if (!needed[node.id] || nodes_[node.id] >= 0) continue;
      internal::ThrowInvalid(absl::StrCat("node '", node.name, "' is on a cycle that is no loop"),
                             where_);
    }
  }

  NodeId AddNode(const Node& node) {
    if (node.kind() == OpKind::kPlaceholder && !scope_->is_main()) {
      internal::ThrowInvalid(
          absl::StrCat("placeholder '", node.name, "' cannot come to stand in ",
                       scope_->description().what, ": replace it, or import outside"),
          where_);
    }
    internal::NodeRequest request{.op = node.op_name,
                                  .attrs = node.attrs,
                                  .name = node.name,
                                  .device = node.device,
                                  .where = where_,
                                  .source = node.source,
                                  .has_final_name = naming_ == Naming::kOwn};
    std::vector<ValueInfo> infos;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      request.inputs.push_back(FindOrStandIn(node, static_cast<int>(i)));
      infos.push_back(scope_->info(request.inputs.back()));
    }
    // A control edge from what has been replaced leads nowhere.
    for (const NodeId control : node.control_inputs) {
      if (nodes_[control] >= 0) request.awaited.emplace_back(scope_, nodes_[control]);
    }
    if (IsStructured(node.kind())) {
      request.infos = Infer(node, std::move(infos));
      request.accesses = AccessesOf(node, request.inputs);
    }
    return scope_->Add(std::move(request));
  }

  // For an input that is yet to come, the end of a loop's iteration, the node's first one.
  Endpoint FindOrStandIn(const Node& node, int slot) {
    const Endpoint here = Find(node.inputs[slot]);
    if (here.node >= 0) return here;
    const Endpoint first = Find(node.inputs[0]);
    open_.push_back({node.id, slot, node.inputs[slot]});
    return first;
  }

  bool IsAwaited(NodeId node, NodeId control) const {
    const auto& controls = scope_->function().node(node).control_inputs;
    return std::find(controls.begin(), controls.end(), control) != controls.end();
  }

  // What the functions of a structured node touch.
  std::vector<internal::Access> AccessesOf(const Node& node, absl::Span<const Endpoint> inputs) {
    const EffectSet effects = effects_.Of(node);
    if (effects.Has(EffectSet::kUnclear)) return {{internal::kUnknownResource, true}};
    return scope_->AccessesThrough(inputs, node.signature.inputs,
                                   {.reads = effects.Has(EffectSet::kRead),
                                    .writes = effects.Has(EffectSet::kWrite),
                                    .talks = effects.Has(EffectSet::kTalk)});
  }

  std::vector<ValueInfo> Infer(const Node& node, std::vector<ValueInfo> infos) const {
    absl::StatusOr<std::vector<ValueInfo>> outputs = InferNode(program_, node, std::move(infos));
    if (outputs.ok()) return *std::move(outputs);
    internal::Throw(absl::Status(outputs.status().code(),
                                 absl::StrCat(outputs.status().message(), "\n  at node '",
                                              node.name, "'\n  at ", internal::LineOf(where_))));
  }

  const Program& program_;
  const Function& main_;
  const Effects effects_;
  const RunSignature& signature_;
  const ScopePtr scope_;
  const Naming naming_;
  const std::source_location where_;
  HashMap<Endpoint, Endpoint> replaced_;  // of the file → of the scope
  std::vector<NodeId> nodes_;             // by node of the file: of the scope; -1: not imported
  struct Open {                           // an input that has a stand-in
    NodeId node;                          // of the file
    int slot;
    Endpoint source;  // of the file
  };
  std::vector<Open> open_;
};

std::vector<Value> GivenValues(const ImportInputs& inputs) {
  std::vector<Value> given;
  for (const auto& [name, operand] : inputs) {
    if (!operand.is_literal()) given.push_back(operand.value());
  }
  return given;
}

std::vector<Value> ImportStaged(const Staged& staged, const ImportInputs& inputs, Naming naming,
                                const std::source_location& where) {
  const ScopePtr scope = internal::CurrentScope(GivenValues(inputs), where);
  const std::shared_ptr<const Program> program = TakeFunctions(*staged.program, *scope->graph());
  Importer importer(*program, staged.signature, scope, naming, where);
  for (size_t i = 0; i < inputs.size(); ++i)
    importer.Replace(staged.signature.feeds[i], inputs[i].first, inputs[i].second);
  importer.AddNodes();
  std::vector<Value> values;
  for (const Endpoint& e : staged.signature.fetches)
    values.push_back(scope->ValueAt(importer.Find(e)));
  return values;
}

}  // namespace

std::vector<Value> internal::ImportProgram(std::shared_ptr<const Program> program,
                                           const std::vector<std::string>& outputs,
                                           const std::vector<std::string>& targets,
                                           const ImportInputs& inputs,
                                           const std::source_location& where) {
  return ImportStaged(ValueOrThrow(StageAsked(std::move(program), outputs, targets, inputs)),
                      inputs, Naming::kOwn, where);
}

std::vector<Value> internal::ImportRaised(std::shared_ptr<const Program> program,
                                          const std::vector<std::string>& outputs,
                                          const ImportInputs& inputs,
                                          const std::source_location& where) {
  return ImportStaged(ValueOrThrow(StageRaised(std::move(program), outputs, inputs)), inputs,
                      Naming::kAsAsked, where);
}

std::vector<Operation> internal::ImportNodes(std::shared_ptr<const Program> program,
                                             const ImportInputs& inputs,
                                             const std::source_location& where) {
  const MainNames names(*program);
  const ScopePtr scope = CurrentScope(GivenValues(inputs), where);
  const RunSignature all;
  const std::shared_ptr<const Program> taken = TakeFunctions(*program, *scope->graph());
  Importer importer(*taken, all, scope, Naming::kAsAsked, where);
  for (const auto& [name, operand] : inputs)
    importer.Replace(ValueOrThrow(names.FindEndpoint(name)), name, operand);
  return importer.AddAllNodes();
}

namespace {

// `from`: what errors call it.
std::vector<Value> ImportAsked(absl::StatusOr<std::shared_ptr<const Program>> program,
                               const std::string& from, const std::vector<std::string>& outputs,
                               const ImportInputs& inputs, const std::source_location& where) {
  if (outputs.empty()) internal::ThrowInvalid("import_graph needs names of outputs", where);
  const absl::StatusOr<Staged> staged = [&]() -> absl::StatusOr<Staged> {
    if (!program.ok()) return program.status();
    absl::StatusOr<Staged> raised = StageRaised(*std::move(program), outputs, inputs);
    if (!raised.ok()) return Annotate(raised.status(), from);
    return raised;
  }();
  if (!staged.ok()) {
    internal::Throw(absl::Status(staged.status().code(),
                                 absl::StrCat(staged.status().message(), "\n  in ", from, "\n  at ",
                                              internal::LineOf(where))));
  }
  return ImportStaged(*staged, inputs, Naming::kAsAsked, where);
}

}  // namespace

std::vector<Value> import_graph(const std::string& path, const std::vector<std::string>& outputs,
                                const ImportInputs& inputs, std::source_location where) {
  LoadOptions options;
  for (const auto& [name, value] : inputs) options.replaced.insert(name.substr(0, name.find(':')));
  return ImportAsked(LoadProgramFile(path, options), path, outputs, inputs, where);
}

std::vector<Value> import_graph_from_memory(absl::string_view graph,
                                            const std::vector<std::string>& outputs,
                                            const ImportInputs& inputs,
                                            std::source_location where) {
  return ImportAsked(LoadProgramBytes(graph), "the graph", outputs, inputs, where);
}

}  // namespace gyre

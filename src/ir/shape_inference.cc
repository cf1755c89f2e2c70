#include "ir/shape_inference.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/stack.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/calls.h"
#include "ir/data_order.h"

namespace gyre {
namespace {

// Calls nested deeper than this are taken to return anything: C++ recursion must not depend on
// data.
constexpr int kMaxCallDepth = 64;
// A function called with more different arguments than this is from then on looked at with all of
// them joined.
constexpr size_t kMaxContexts = 8;
// How much work a program's nested loops and calls may cause before further calls are taken to
// return anything.
constexpr int64_t kMinEvaluations = 100'000;
constexpr int64_t kEvaluationsPerNode = 64;

// A function's graph, ordered once however often it is looked at.
struct Graph {
  explicit Graph(std::shared_ptr<const Function> f)
      : function(std::move(f)), data(OrderByData(*function)) {}

  std::shared_ptr<const Function> function;
  DataOrder data;
};

// What one look at a graph found.
struct Findings {
  std::vector<ValueInfos> nodes;
  std::vector<std::pair<NodeId, absl::Status>> problems;  // in order of node
};

// A function and the arguments that it has been looked at with.
struct Callable {
  struct Context {
    std::vector<ValueInfo> arguments;
    ValueInfos results;
    int argument_changes = 0;
    int result_changes = 0;
    bool in_progress = false;
    bool done = false;
    uint64_t epoch = 0;  // of the whole inference, when `results` were found
  };

  std::unique_ptr<Graph> graph;
  bool is_recursive = false;
  std::vector<std::unique_ptr<Context>> contexts;
  // The main graph calls it: what functions that no run calls do with it is of no interest.
  bool is_settled = false;
  // Joined over all looks, for the table.
  std::vector<ValueInfos> nodes;
  std::map<NodeId, absl::Status> problems;
};

int64_t NumNodes(const Program& program) {
  size_t n = program.main().nodes.size();
  for (const auto& [name, function] : program.functions()) n += function->nodes.size();
  return static_cast<int64_t>(n);
}

class Inference {
 public:
  // Shapes that a program declares of arguments and results (`output_shapes`) are believed, or not.
  Inference(const Program& program, const ShapeOptions& options, bool believes_declared)
      : program_(program),
        options_(options),
        believes_declared_(believes_declared),
        recursive_(RecursiveFunctions(program)),
        max_evaluations_(kMinEvaluations + kEvaluationsPerNode * NumNodes(program)) {}

  absl::StatusOr<ShapeTable> Run();
  absl::StatusOr<ValueInfos> RunNode(const Node& node, std::vector<ValueInfo> inputs);

  const ShapeOptions& options() const { return options_; }
  // What a call of `callee` with `arguments` returns: `num_results` values.
  ValueInfos Call(const FunctionRef& callee, std::vector<ValueInfo> arguments, size_t num_results);
  std::vector<Callee> Callees(const Node& node) const { return CalleesOf(program_, node); }
  void CountEvaluation() { ++evaluations_; }

  // `found`, narrowed by what the program declares of the same value, if that is believed.
  PartialShape Narrowed(const PartialShape& found, const PartialShape& declared) {
    absl::StatusOr<PartialShape> both = found.Intersect(declared);
    is_contradicted_ |= !both.ok();
    return both.ok() && believes_declared_ ? *std::move(both) : found;
  }
  // To be told of values one by one, before they are joined with others, after which little is
  // known of them: what a function is called with, and what `node` returns.
  void CompareArguments(const FunctionRef& callee, absl::Span<const ValueInfo> arguments);
  void CompareResults(const Node& node, const ValueInfos& results);
  // Something was found that is not of the shape that is declared of it.
  bool is_contradicted() const { return is_contradicted_; }

 private:
  Callable* Find(const FunctionRef& callee);
  Callable::Context& ContextFor(Callable& callable, std::vector<ValueInfo> arguments);
  void RunContext(Callable& callable, Callable::Context& context);
  ValueInfos LookAt(Callable& callable, const std::vector<ValueInfo>& arguments);

  const Program& program_;
  const ShapeOptions& options_;
  const bool believes_declared_;
  bool is_contradicted_ = false;
  const std::set<std::string> recursive_;
  std::map<std::string, std::unique_ptr<Callable>> callables_;  // by name and attributes
  uint64_t epoch_ = 0;  // grows whenever what is known of a shared context changes
  int depth_ = 0;
  int64_t evaluations_ = 0;        // of nodes, so far
  const int64_t max_evaluations_;  // before calls are no longer looked into
};

// Runs the rules of one graph to a fixed point. A node is looked at again whenever one of its
// inputs has changed, in the order of the graph, so that without loops each is looked at once.
class Look {
 public:
  // `arguments` is null for the main graph, to which feeds apply.
  Look(Inference& inference, const Graph& graph, const std::vector<ValueInfo>* arguments)
      : inference_(inference),
        graph_(graph),
        function_(*graph.function),
        arguments_(arguments),
        nodes_(function_.nodes.size()),
        changes_(function_.nodes.size(), 0) {}

  Findings Run() {
    for (size_t i = 0; i < graph_.data.order.size(); ++i) queue_.insert(static_cast<int>(i));
    while (!queue_.empty()) {
      const NodeId id = graph_.data.order[*queue_.begin()];
      queue_.erase(queue_.begin());
      SpendWork(1 + static_cast<int64_t>(graph_.data.consumers[id].size()));
      inference_.CountEvaluation();
      absl::StatusOr<ValueInfos> infos = Evaluate(function_.node(id));
      if (!infos.ok() && !nodes_[id]) {
        problems_.insert_or_assign(id, infos.status());
        if (!inference_.options().may_lose_errors) continue;
        infos = UnknownInfos(function_.node(id).signature.outputs.size());
      } else {
        problems_.erase(id);
      }
      // A rule that refuses more than it accepted before has nothing to say about the rest.
      if (!infos.ok()) infos = UnknownInfos(nodes_[id]->size());
      if (!*infos || !JoinRepeated(nodes_[id], *infos, changes_[id])) continue;
      for (const NodeId consumer : graph_.data.consumers[id]) {
        queue_.insert(graph_.data.position[consumer]);
      }
    }
    Findings findings;
    findings.nodes = std::move(nodes_);
    findings.problems.assign(problems_.begin(), problems_.end());
    return findings;
  }

  // A node that is no Merge.
  absl::StatusOr<ValueInfos> Evaluate(const Node& node, std::vector<ValueInfo> inputs) {
    // Types that are yet to be filled in (of a generic function's body), or an op that is not
    // known.
    const bool has_types = node.op != nullptr && node.signature.inputs.size() == inputs.size();
    std::vector<Callee> callees = inference_.Callees(node);
    if (!callees.empty() && node.kind() != OpKind::kSymbolicGradient)
      return CallAny(node, callees, inputs);
    if (!has_types) return UnknownInfos(node.signature.outputs.size());
    switch (node.kind()) {
      case OpKind::kArg:
        return Argument(node);
      case OpKind::kSwitch:
      case OpKind::kSwitchN:
        GYRE_RETURN_IF_ERROR(RunRule(node, inputs).status());
        return ValueInfos(std::vector<ValueInfo>(node.signature.outputs.size(), inputs[0]));
      case OpKind::kEnter:
      case OpKind::kExit:
      case OpKind::kNextIteration:
        // The rule of Enter must allow for other shapes in later iterations; here the loop's Merge
        // sees to that.
        return ValueInfos(std::vector<ValueInfo>(1, inputs[0]));
      default:
        return RunRule(node, std::move(inputs));
    }
  }

 private:
  const PartialShape* FedShape(Endpoint e) const {
    if (arguments_ != nullptr) return nullptr;
    const auto it = inference_.options().fed.find(e);
    return it == inference_.options().fed.end() ? nullptr : &it->second;
  }

  // Null when no way is known yet in which the value is computed.
  std::optional<ValueInfo> Value(Endpoint e) const {
    if (const PartialShape* fed = FedShape(e)) return ValueInfo{*fed, {}, {}, {}};
    const ValueInfos& outputs = nodes_[e.node];
    if (!outputs) return std::nullopt;
    if (e.slot < 0 || static_cast<size_t>(e.slot) >= outputs->size()) return ValueInfo();
    return (*outputs)[e.slot];
  }

  absl::StatusOr<ValueInfos> Evaluate(const Node& node) {
    if (node.kind() == OpKind::kMerge) return Merge(node);
    std::vector<ValueInfo> inputs;
    inputs.reserve(node.inputs.size());
    for (const Endpoint& e : node.inputs) {
      std::optional<ValueInfo> input = Value(e);
      if (!input) return ValueInfos();
      inputs.push_back(*std::move(input));
    }
    return Evaluate(node, std::move(inputs));
  }

  ValueInfos Merge(const Node& node) const {
    ValueInfos joined;
    for (const Endpoint& e : node.inputs) {
      std::optional<ValueInfo> input = Value(e);
      if (input) joined = JoinInfos(joined, std::vector<ValueInfo>{*std::move(input)});
    }
    if (!joined) return std::nullopt;
    joined->resize(std::max<size_t>(node.signature.outputs.size(), 1));
    if (joined->size() > 1) (*joined)[1].shape = PartialShape::Scalar();  // value_index
    return joined;
  }

  absl::StatusOr<ValueInfos> Argument(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(ValueInfos infos, RunRule(node, {}));
    const int64_t index = node.attrs.GetOr<int64_t>("index", -1);
    if (index < 0 || index >= static_cast<int64_t>(function_.args.size())) return infos;
    ValueInfo declared = infos->empty() ? ValueInfo() : infos->front();
    declared.shape = inference_.Narrowed(declared.shape, function_.args[index].shape);
    if (arguments_ == nullptr || index >= static_cast<int64_t>(arguments_->size())) {
      return ValueInfos(std::vector<ValueInfo>{std::move(declared)});
    }
    ValueInfo argument = (*arguments_)[index];
    argument.shape = inference_.Narrowed(argument.shape, declared.shape);
    if (!argument.handle) argument.handle = declared.handle;
    return ValueInfos(std::vector<ValueInfo>{std::move(argument)});
  }

  absl::StatusOr<ValueInfos> RunRule(const Node& node, std::vector<ValueInfo> inputs) const {
    if (node.op->shape == nullptr) return UnknownInfos(node.signature.outputs.size());
    ShapeContext context(node, std::move(inputs));
    if (absl::Status status = node.op->shape(context); !status.ok())
      return Explain(node, context, status);
    std::vector<ValueInfo> outputs = std::move(context.outputs());
    for (ValueInfo& output : outputs) output = Normalized(std::move(output));
    return ValueInfos(std::move(outputs));
  }

  absl::Status Explain(const Node& node, const ShapeContext& context,
                       const absl::Status& status) const {
    std::vector<std::string> shapes;
    for (const ValueInfo& input : context.inputs()) shapes.push_back(input.shape.ToString());
    std::string where;
    if (arguments_ != nullptr) where = absl::StrCat("function ", function_.name, ", ");
    absl::StrAppend(&where, "node ", node.name, " (", node.op_name, ")");
    if (!shapes.empty())
      absl::StrAppend(&where, " with input shapes ", absl::StrJoin(shapes, ", "));
    return Annotate(status, where);
  }

  // If, Case, While, For and calls.
  ValueInfos CallAny(const Node& node, const std::vector<Callee>& callees,
                     const std::vector<ValueInfo>& inputs) {
    const size_t selectors = std::min<size_t>(NumSelectorInputs(node), inputs.size());
    std::vector<ValueInfo> arguments(inputs.begin() + selectors, inputs.end());
    ValueInfos results;
    if (IsLoop(node.kind())) {
      results = Loop(node, callees, std::move(arguments));
    } else {
      for (const Callee& callee : callees) {
        ValueInfos some =
            inference_.Call(callee.function, arguments, node.signature.outputs.size());
        inference_.CompareResults(node, some);
        results = JoinInfos(results, some);
      }
    }
    if (!results) return results;
    if (const auto* shapes = node.attrs.Get<std::vector<PartialShape>>("output_shapes");
        shapes != nullptr && shapes->size() == results->size()) {
      for (size_t i = 0; i < shapes->size(); ++i) {
        (*results)[i].shape = inference_.Narrowed((*results)[i].shape, (*shapes)[i]);
      }
    }
    return results;
  }

  // What the variables of a loop may be at the start of any iteration, and so at its end.
  ValueInfos Loop(const Node& node, const std::vector<Callee>& callees,
                  std::vector<ValueInfo> variables) {
    const int num_counters = NumCounterArgs(node);
    const size_t n = variables.size();
    const auto arguments = [&](const std::vector<ValueInfo>& values) {
      std::vector<ValueInfo> all(num_counters, {PartialShape::Scalar(), {}, {}, {}});
      all.insert(all.end(), values.begin(), values.end());
      return all;
    };
    ValueInfos state = std::move(variables);
    int changes = 0;
    bool changed = true;
    while (changed) {
      ValueInfos next;
      for (const Callee& callee : callees) {
        if (callee.is_condition()) {
          (void)inference_.Call(callee.function, arguments(*state),
                                1);  // for the facts about its own nodes
        } else {
          next = inference_.Call(callee.function, arguments(*state), n);
        }
      }
      inference_.CompareResults(node, next);
      for (const Callee& callee : callees) {
        if (next) inference_.CompareArguments(callee.function, arguments(*next));
      }
      changed = JoinRepeated(state, next, changes);
    }
    return state;
  }

  Inference& inference_;
  const Graph& graph_;
  const Function& function_;
  const std::vector<ValueInfo>* const arguments_;
  std::vector<ValueInfos> nodes_;
  std::vector<int> changes_;
  std::set<int> queue_;  // positions of nodes to look at
  std::map<NodeId, absl::Status> problems_;
};

Callable* Inference::Find(const FunctionRef& callee) {
  const auto it = program_.functions().find(callee.name);
  if (it == program_.functions().end()) return nullptr;
  const bool has_attrs = callee.attrs != nullptr && !callee.attrs->empty();
  const std::string key =
      has_attrs ? AttrToString(AttrValue(callee)) : absl::StrCat("@", callee.name);
  std::unique_ptr<Callable>& slot = callables_[key];
  if (slot != nullptr) return slot.get();
  std::shared_ptr<const Function> function = it->second;
  if (has_attrs) {
    absl::StatusOr<Function> instance = Instantiate(*function, *callee.attrs);
    if (instance.ok()) function = std::make_shared<const Function>(*std::move(instance));
  }
  slot = std::make_unique<Callable>();
  slot->graph = std::make_unique<Graph>(std::move(function));
  slot->is_recursive = recursive_.contains(callee.name);
  slot->nodes.resize(slot->graph->function->nodes.size());
  return slot.get();
}

ValueInfos Inference::Call(const FunctionRef& callee, std::vector<ValueInfo> arguments,
                           size_t num_results) {
  Callable* callable = Find(callee);
  if (callable == nullptr || depth_ >= kMaxCallDepth || evaluations_ > max_evaluations_ ||
      StackIsNearlyFull()) {
    return UnknownInfos(num_results);
  }
  const Function& function = *callable->graph->function;
  if (function.args.size() != arguments.size() || function.results.size() != num_results) {
    return UnknownInfos(num_results);
  }
  CompareArguments(callee, arguments);
  Callable::Context& context = ContextFor(*callable, std::move(arguments));
  // A call that is being looked at further up: its loop in RunContext goes on until its results
  // hold.
  if (!context.in_progress) RunContext(*callable, context);
  return context.results;
}

void Inference::CompareArguments(const FunctionRef& callee, absl::Span<const ValueInfo> arguments) {
  const Function* function = program_.FindFunction(callee.name);
  if (function == nullptr) return;
  for (size_t i = 0; i < arguments.size() && i < function->args.size(); ++i)
    Narrowed(arguments[i].shape, function->args[i].shape);
}

void Inference::CompareResults(const Node& node, const ValueInfos& results) {
  const auto* shapes = node.attrs.Get<std::vector<PartialShape>>("output_shapes");
  if (shapes == nullptr || !results) return;
  for (size_t i = 0; i < results->size() && i < shapes->size(); ++i)
    Narrowed((*results)[i].shape, (*shapes)[i]);
}

// The context that stands for these arguments: their own or, where contexts are shared, the one
// they are joined into.
Callable::Context& Inference::ContextFor(Callable& callable, std::vector<ValueInfo> arguments) {
  const auto same = [&](const auto& context) {
    return std::equal(arguments.begin(), arguments.end(), context->arguments.begin(), SameInfo);
  };
  const auto it = std::find_if(callable.contexts.begin(), callable.contexts.end(), same);
  if (it != callable.contexts.end()) return **it;
  const bool is_full = callable.contexts.size() >= (callable.is_recursive ? 1 : kMaxContexts);
  if (!is_full) {
    callable.contexts.push_back(std::make_unique<Callable::Context>());
    callable.contexts.back()->arguments = std::move(arguments);
    return *callable.contexts.back();
  }
  Callable::Context& shared = *callable.contexts.back();
  ValueInfos joined = std::move(shared.arguments);
  if (JoinRepeated(joined, std::move(arguments), shared.argument_changes)) {
    shared.done = false;
    ++epoch_;
  }
  shared.arguments = *std::move(joined);
  return shared;
}

// A recursive function is looked at again until neither its arguments nor its results, nor those of
// the functions that it recurs through, change any more.
void Inference::RunContext(Callable& callable, Callable::Context& context) {
  if (context.done && (!callable.is_recursive || context.epoch == epoch_)) return;
  context.in_progress = true;
  ++depth_;
  uint64_t start;
  do {
    start = epoch_;
    const std::vector<ValueInfo> arguments = context.arguments;
    const bool changed =
        JoinRepeated(context.results, LookAt(callable, arguments), context.result_changes);
    if (changed && callable.is_recursive) ++epoch_;
  } while (callable.is_recursive && epoch_ != start);
  --depth_;
  context.in_progress = false;
  context.done = true;
  context.epoch = epoch_;
}

ValueInfos Inference::LookAt(Callable& callable, const std::vector<ValueInfo>& arguments) {
  const Function& function = *callable.graph->function;
  Findings findings = Look(*this, *callable.graph, &arguments).Run();
  if (!callable.is_settled) {
    for (size_t i = 0; i < findings.nodes.size(); ++i)
      callable.nodes[i] = JoinInfos(callable.nodes[i], findings.nodes[i]);
    for (auto& [node, status] : findings.problems)
      callable.problems.emplace(node, std::move(status));
  }
  std::vector<ValueInfo> results;
  for (const FunctionResult& result : function.results) {
    const ValueInfos& outputs = findings.nodes[result.value.node];
    if (!outputs) return std::nullopt;
    const bool exists =
        result.value.slot >= 0 && static_cast<size_t>(result.value.slot) < outputs->size();
    results.push_back(exists ? (*outputs)[result.value.slot] : ValueInfo());
  }
  return results;
}

// Nodes that run on some paths only, as far as Switches decide that.
std::vector<bool> GuardedNodes(const Function& function) {
  std::vector<std::vector<NodeId>> consumers(function.nodes.size());
  std::vector<bool> guarded(function.nodes.size(), false);
  std::vector<NodeId> pending;
  const auto add = [&](NodeId id) {
    if (guarded[id]) return;
    guarded[id] = true;
    pending.push_back(id);
  };
  for (const Node& node : function.nodes) {
    for (const Endpoint& e : node.inputs) consumers[e.node].push_back(node.id);
    for (const NodeId source : node.control_inputs) consumers[source].push_back(node.id);
  }
  for (const Node& node : function.nodes) {
    if (node.kind() != OpKind::kSwitch && node.kind() != OpKind::kSwitchN) continue;
    for (const NodeId consumer : consumers[node.id]) add(consumer);
  }
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    for (const NodeId consumer : consumers[id]) add(consumer);
  }
  return guarded;
}

absl::StatusOr<ShapeTable> Inference::Run() {
  ShapeTable table;
  const Graph main(program_.main_ptr());
  Findings found = Look(*this, main, nullptr).Run();
  if (!found.problems.empty()) {
    const std::vector<bool> guarded = GuardedNodes(program_.main());
    for (auto& [node, status] : found.problems) {
      if (!guarded[node] && !options_.fed.contains(Endpoint{node, 0})) return status;
      table.problems.push_back({"", node, std::move(status)});
    }
  }
  table.main = FunctionShapes(std::move(found.nodes));
  for (auto& [key, callable] : callables_) callable->is_settled = true;
  for (const auto& [name, function] : program_.functions()) {
    // Functions that no run calls get what their own signature promises.
    Callable* callable = Find({name, nullptr});
    if (callable->contexts.empty()) {
      (void)Call({name, nullptr}, std::vector<ValueInfo>(function->args.size()),
                 function->results.size());
    }
  }
  for (auto& [key, callable] : callables_) {
    const std::string& name = callable->graph->function->name;
    std::vector<ValueInfos> nodes = std::move(callable->nodes);
    if (const auto it = table.functions.find(name); it != table.functions.end()) {
      for (size_t i = 0; i < nodes.size(); ++i)
        nodes[i] = JoinInfos(it->second.nodes()[i], nodes[i]);
    }
    for (auto& [node, status] : callable->problems) {
      // What works for some arguments is no problem of the function.
      if (!nodes[node]) table.problems.push_back({name, node, std::move(status)});
    }
    table.functions.insert_or_assign(name, FunctionShapes(std::move(nodes)));
  }
  return table;
}

absl::StatusOr<ValueInfos> Inference::RunNode(const Node& node, std::vector<ValueInfo> inputs) {
  const Graph nothing(std::make_shared<const Function>());
  return Look(*this, nothing, nullptr).Evaluate(node, std::move(inputs));
}

}  // namespace

const ValueInfo& FunctionShapes::at(Endpoint e) const {
  static const ValueInfo* const unknown = new ValueInfo();
  if (!IsComputed(e.node)) return *unknown;
  const std::vector<ValueInfo>& outputs = *nodes_[e.node];
  return e.slot >= 0 && static_cast<size_t>(e.slot) < outputs.size() ? outputs[e.slot] : *unknown;
}

bool FunctionShapes::IsComputed(NodeId node) const {
  return node >= 0 && static_cast<size_t>(node) < nodes_.size() && nodes_[node].has_value();
}

const FunctionShapes* ShapeTable::Find(absl::string_view function) const {
  if (function.empty()) return &main;
  const auto it = functions.find(std::string(function));
  return it == functions.end() ? nullptr : &it->second;
}

absl::StatusOr<ShapeTable> InferShapes(const Program& program, const ShapeOptions& options) {
  return RunStage("inferring the shapes of", [&]() -> absl::StatusOr<ShapeTable> {
    Inference inference(program, options, true);
    absl::StatusOr<ShapeTable> table = inference.Run();
    if (!inference.is_contradicted()) return table;
    // Nothing holds a run to what is declared. Of a program in which some of it is wrong, none of
    // it is believed: the rest may hang on what is wrong.
    return Inference(program, options, false).Run();
  });
}

absl::StatusOr<std::vector<ValueInfo>> InferNode(const Program& program, const Node& node,
                                                 std::vector<ValueInfo> inputs) {
  const ShapeOptions options;
  GYRE_ASSIGN_OR_RETURN(ValueInfos infos,
                        Inference(program, options, true).RunNode(node, std::move(inputs)));
  if (!infos) infos = UnknownInfos(node.signature.outputs.size());
  return *std::move(infos);
}

}  // namespace gyre

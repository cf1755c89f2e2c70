#include "grad/replay/recording.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/effects.h"
#include "analysis/run_signature.h"
#include "base/status.h"
#include "grad/dependence.h"
#include "grad/memory_policy.h"
#include "grad/replay/captured_reads.h"
#include "grad/structured.h"
#include "ir/calls.h"
#include "ir/expr.h"
#include "ir/shape_inference.h"
#include "ops/random/seeding.h"
#include "ops/state/captured.h"
#include "passes/edit/interface.h"
#include "passes/edit/unique_names.h"

namespace gyre::grad {
namespace {

// The effects of a function, and whether they can be written down.
class Recordable {
 public:
  explicit Recordable(const Program& program) : program_(program), effects_(program) {}

  bool IsPure(const Node& node) const { return effects_.Of(node).IsPure(); }

  // The nodes of a run of the function that have effects.
  std::vector<NodeId> EffectsOf(const Function& function) const {
    std::vector<NodeId> nodes;
    const std::vector<bool> runs = NeededNodes(function, CallSignature(function));
    for (const Node& node : function.nodes) {
      if (runs[node.id] && !IsPure(node)) nodes.push_back(node.id);
    }
    return nodes;
  }

  bool CanRecord(const Node& structured) const {
    std::set<std::string> seen;
    std::vector<const Node*> pending{&structured};
    while (!pending.empty()) {
      const Node& node = *pending.back();
      pending.pop_back();
      if (!IsStructured(node.kind())) {
        if (!CanRecordOp(node)) return false;
        continue;
      }
      if (effects_.Of(node).Has(EffectSet::kUnclear) || Brings(node)) return false;
      for (const Callee& callee : CalleesOf(program_, node)) {
        if (program_.gradient_functions().contains(callee.function.name)) return false;
        if (callee.function.attrs != nullptr && !callee.function.attrs->empty()) return false;
        const Function* called = program_.FindFunction(callee.function.name);
        if (called == nullptr) return false;
        if (!seen.insert(called->name).second) continue;
        for (const NodeId id : EffectsOf(*called)) pending.push_back(&called->node(id));
      }
    }
    return true;
  }

 private:
  static bool Brings(const Node& node) { return node.attrs.Has("_gradient_op_type"); }

  // The gradient of an array follows the flow from op to op of all loops around, and does not see
  // that it goes through two of them.
  static bool CanRecordOp(const Node& node) {
    return node.op != nullptr && !Brings(node) && IsPlain(node.kind()) &&
           node.role() != Role::kArray;
  }

  const Program& program_;
  const Effects effects_;
};

class Recorder {
 public:
  Recorder(const Program& program, const std::function<bool(const Node&)>& again)
      : program_(program),
        again_(again),
        recordable_(program),
        dependence_(program),
        names_(program),
        builder_(program) {
    if (absl::StatusOr<ShapeTable> shapes = InferShapes(program); shapes.ok())
      shapes_ = *std::move(shapes);
  }

  // Null: there is no such loop.
  absl::StatusOr<std::shared_ptr<const Program>> Run(const Asked& asked) {
    const Function& main = program_.main();
    Marks from = NoMarks(main), to = NoMarks(main), stops = NoMarks(main);
    for (const Endpoint& e : asked.xs) from[e.node][e.slot] = true;
    for (const Endpoint& e : asked.ys) to[e.node][e.slot] = true;
    for (const Endpoint& e : asked.stops) stops[e.node][e.slot] = true;
    MarkDependents(main, dependence_, stops, from);
    MarkSources(main, dependence_, to);
    GYRE_RETURN_IF_ERROR(Visit(main, from, to));
    std::set<std::string> seen;
    while (!open_.empty()) {
      const Function* function = open_.back();
      open_.pop_back();
      if (!seen.insert(function->name).second) continue;
      from = to = NoMarks(*function);
      for (const NodeId arg : function->arg_nodes)
        from[arg][0] = HasDerivative(function->node(arg).signature.outputs[0].dtype);
      for (const FunctionResult& result : function->results)
        to[result.value.node][result.value.slot] = HasDerivative(result.dtype);
      MarkDependents(*function, dependence_, NoMarks(*function), from);
      MarkSources(*function, dependence_, to);
      GYRE_RETURN_IF_ERROR(Visit(*function, from, to));
    }
    return changed_ ? builder_.Build() : nullptr;
  }

 private:
  // Whether a derivative goes through the node, given what depends on the xs and leads to the ys.
  static bool IsOnTheWay(const Node& node, const Marks& from, const Marks& to) {
    for (int slot = 0; slot < node.num_outputs(); ++slot) {
      if (from[node.id][slot] && to[node.id][slot]) return true;
    }
    return false;
  }

  // Makes two of the function's loops, and has the functions visited that others on the way call.
  absl::Status Visit(const Function& function, const Marks& from, const Marks& to) {
    std::vector<NodeId> loops;
    for (const Node& node : function.nodes) {
      if (!IsStructured(node.kind()) || !IsOnTheWay(node, from, to)) continue;
      if (again_(node) && !recordable_.IsPure(node) && recordable_.CanRecord(node)) {
        loops.push_back(node.id);
        continue;
      }
      for (const Callee& callee : CalleesOf(program_, node)) {
        const Function* called = program_.FindFunction(callee.function.name);
        if (called != nullptr) open_.push_back(called);
      }
    }
    if (loops.empty()) return absl::OkStatus();
    changed_ = true;
    FunctionBuilder builder(program_.ops(), function);
    std::vector<std::pair<NodeId, NodeId>> recording;  // by loop: the one with the effects
    for (const NodeId id : loops) {
      GYRE_ASSIGN_OR_RETURN(const NodeId first, Split(function.node(id), builder));
      recording.emplace_back(id, first);
    }
    Function split = builder.Build();
    for (const auto& [loop, first] : recording) HandOverName(loop, first, split);
    if (&function == &program_.main()) {
      builder_.SetMain(std::move(split));
    } else {
      builder_.SetFunction(std::move(split));
    }
    return absl::OkStatus();
  }

  // The loop with the effects has the name that random numbers hang on, and who waited for effects
  // waits for it.
  static void HandOverName(NodeId loop, NodeId first, Function& function) {
    std::swap(function.nodes[loop].name, function.nodes[first].name);
    for (Node& node : function.nodes) {
      for (NodeId& control : node.control_inputs) {
        if (control == loop) control = first;
      }
    }
    for (auto& [name, id] : function.control_results) {
      if (id == loop) id = first;
    }
  }

  absl::StatusOr<NodeId> Split(const Node& structured, FunctionBuilder& builder) {
    ExprBuilder exprs(builder);
    exprs.set_style({absl::StrCat(structured.name, "/"), structured.device, structured.source});
    GYRE_ASSIGN_OR_RETURN(Node recording, RecordAny(structured, exprs));
    recording.name = absl::StrCat(structured.name, "/again");
    // No derivative goes this way, in or out: that is for the node behind.
    for (size_t i = NumSelectorInputs(structured); i < structured.inputs.size(); ++i) {
      const DType dtype = builder.dtype(structured.inputs[i]);
      if (!HasDerivative(dtype) || dtype == DType::kResource) continue;
      recording.inputs[i] = exprs.Op("StopGradient", {exprs.At(structured.inputs[i])}).endpoint();
    }
    GYRE_RETURN_IF_ERROR(exprs.status());
    const NodeId first = builder.Append(std::move(recording));
    const Expr tape = exprs.Op("StopGradient", {exprs.At({first, structured.num_outputs()})});
    GYRE_RETURN_IF_ERROR(exprs.status());
    GYRE_ASSIGN_OR_RETURN(Node replaying, ReplayAny(structured, tape, exprs));
    // Who is still to come, in a graph that is being traced, waits for effects by this node's id.
    replaying.control_inputs.push_back(first);
    builder.Replace(structured.id, std::move(replaying));
    return first;
  }

  absl::StatusOr<Node> RecordAny(const Node& structured, ExprBuilder& exprs) {
    return IsLoop(structured.kind()) ? RecordLoop(structured, exprs) : RecordStructured(structured);
  }
  absl::StatusOr<Node> ReplayAny(const Node& structured, Expr tape, ExprBuilder& exprs) {
    return IsLoop(structured.kind()) ? ReplayLoop(structured, tape, exprs)
                                     : ReplayStructured(structured, tape);
  }

  // ---- Record

  // The loop with a list as last variable, which gets a tape in each iteration.
  absl::StatusOr<Node> RecordLoop(const Node& loop, ExprBuilder& exprs) {
    const Expr list = exprs.Op("EmptyTensorList", {exprs.Int(-1), exprs.Int(-1)},
                               {{"element_dtype", DType::kVariant}});
    GYRE_RETURN_IF_ERROR(exprs.status());
    passes::StructuredInterface interface = passes::InterfaceOf(loop);
    interface.args.push_back(list.endpoint());
    interface.arg_types.push_back(DType::kVariant);
    interface.output_types.push_back(DType::kVariant);
    interface.outputs_from.push_back(-1);
    GYRE_ASSIGN_OR_RETURN(Node recording, passes::WithInterface(loop, interface));
    recording.attrs.Set(std::string(kMemoryAttr), std::string("save"));
    std::vector<std::string> names;
    for (const Callee& callee : CalleesOf(program_, loop)) {
      const Function& function = *program_.FindFunction(callee.function.name);
      if (callee.is_condition()) {
        FunctionBuilder condition(program_.ops(), function);
        (void)condition.Arg("tapes", DType::kVariant);
        Function copy = condition.Build();
        MarkAsCopy(function, copy);
        names.push_back(Add(std::move(copy), "_saving"));
      } else {
        GYRE_ASSIGN_OR_RETURN(names.emplace_back(), Recorded(function, /*is_body=*/true));
      }
    }
    SetFunctions(names, recording);
    return recording;
  }

  // Branches and calls return their tape behind what they return.
  absl::StatusOr<Node> RecordStructured(const Node& structured) {
    passes::StructuredInterface interface = passes::InterfaceOf(structured);
    interface.output_types.push_back(DType::kVariant);
    interface.outputs_from.push_back(-1);
    GYRE_ASSIGN_OR_RETURN(Node recording, passes::WithInterface(structured, interface));
    std::vector<std::string> names;
    for (const Callee& callee : CalleesOf(program_, structured)) {
      GYRE_ASSIGN_OR_RETURN(
          names.emplace_back(),
          Recorded(*program_.FindFunction(callee.function.name), /*is_body=*/false));
    }
    SetFunctions(names, recording);
    return recording;
  }

  // Random numbers are drawn again, by the key that they were drawn by.
  static bool IsDrawnAgain(const Node& node) {
    return node.op != nullptr && !node.op->traits.drawn_again_by.empty();
  }

  static absl::StatusOr<Node> DrawAgain(const Node& draw, const Expr& key, const Expr& counter,
                                        ExprBuilder& exprs) {
    std::vector<Endpoint> inputs = draw.inputs;
    const Expr algorithm = exprs.Int(kPhiloxAlgorithm);
    GYRE_RETURN_IF_ERROR(exprs.status());
    inputs.insert(inputs.begin() + 1, {key.endpoint(), counter.endpoint(), algorithm.endpoint()});
    AttrMap attrs;
    attrs.Set("dtype", draw.signature.outputs[0].dtype);
    return exprs.function().Make(draw.op->traits.drawn_again_by, inputs, std::move(attrs),
                                 {.name = draw.name, .device = draw.device, .source = draw.source});
  }

  // Has the draw take its key from a node of its own, which gets the name that the key hangs on in
  // the end (`renamed`).
  static absl::StatusOr<std::vector<Expr>> SplitDraw(
      const Node& draw, ExprBuilder& exprs, std::vector<std::pair<NodeId, NodeId>>& renamed) {
    FunctionBuilder& builder = exprs.function();
    AttrMap seeds;
    for (const char* seed : {"seed", "seed2"}) seeds.Set(seed, NodeAttr<int64_t>(draw, seed));
    GYRE_ASSIGN_OR_RETURN(Node key, builder.Make("_DrawKey", {}, std::move(seeds),
                                                 {.name = absl::StrCat(draw.name, "/drawn"),
                                                  .device = draw.device,
                                                  .source = draw.source}));
    const NodeId id = builder.Append(std::move(key));
    renamed.emplace_back(draw.id, id);
    std::vector<Expr> drawn_by = {exprs.At({id, 0}), exprs.At({id, 1})};
    GYRE_ASSIGN_OR_RETURN(Node numbers, DrawAgain(draw, drawn_by[0], drawn_by[1], exprs));
    numbers.control_inputs = draw.control_inputs;
    builder.Replace(draw.id, std::move(numbers));
    return drawn_by;
  }

  // What a node with effects that stays as it is writes down.
  static std::vector<Endpoint> Written(const Node& node) {
    if (IsStructured(node.kind())) return {{node.id, node.num_outputs()}};
    std::vector<Endpoint> written;
    if (HandsOn(node)) return written;
    for (int slot = 0; slot < node.num_outputs(); ++slot) written.push_back({node.id, slot});
    return written;
  }

  // f(arguments) -> results, tape. Of the body of a loop: (variables, tapes) -> variables, tapes.
  absl::StatusOr<std::string> Recorded(const Function& function, bool is_body) {
    const auto [made, is_new] = recorded_.try_emplace({function.name, is_body});
    if (!is_new) return made->second;
    const std::string name = names_.Unique(absl::StrCat(function.name, "_saving"));
    made->second = name;
    FunctionBuilder builder(program_.ops(), function);
    ExprBuilder exprs(builder);
    std::vector<Expr> tape;
    std::vector<std::pair<NodeId, NodeId>> renamed;
    for (const NodeId id : recordable_.EffectsOf(function)) {
      const Node& node = function.node(id);
      if (IsDrawnAgain(node)) {
        GYRE_ASSIGN_OR_RETURN(const std::vector<Expr> key, SplitDraw(node, exprs, renamed));
        tape.insert(tape.end(), key.begin(), key.end());
        continue;
      }
      if (IsStructured(node.kind())) {
        GYRE_ASSIGN_OR_RETURN(Node structured, IsLoop(node.kind()) ? RecordLoop(node, exprs)
                                                                   : RecordStructured(node));
        builder.Replace(id, std::move(structured));
      }
      for (const Endpoint& e : Written(node)) tape.push_back(exprs.At(e));
    }
    Expr whole = tape.empty() ? exprs.Op("OptionalNone", {}) : exprs.Op("OptionalFromValue", tape);
    if (is_body)
      whole =
          exprs.Op("TensorListPushBack", {exprs.At(builder.Arg("tapes", DType::kVariant)), whole});
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return("tape", whole.endpoint());
    Function recording = builder.Build();
    for (const auto& [numbers, key] : renamed)
      std::swap(recording.nodes[numbers].name, recording.nodes[key].name);
    recording.name = name;
    MarkAsCopy(function, recording);
    builder_.SetFunction(std::move(recording));
    return name;
  }

  // ---- Replay

  // The loop without effects: as many iterations as there are tapes.
  absl::StatusOr<Node> ReplayLoop(const Node& loop, Expr list, ExprBuilder& exprs) {
    const Expr iteration = exprs.Int(0);
    GYRE_RETURN_IF_ERROR(exprs.status());
    passes::StructuredInterface interface = passes::InterfaceOf(loop);
    for (const Expr& more : {list, iteration}) {
      interface.args.push_back(more.endpoint());
      interface.arg_types.push_back(more.dtype());
      interface.output_types.push_back(more.dtype());
      interface.outputs_from.push_back(-1);
    }
    GYRE_ASSIGN_OR_RETURN(Node replaying, StatelessStructured(loop, interface));
    std::vector<std::string> names;
    for (const Callee& callee : CalleesOf(program_, loop)) {
      const Function& function = *program_.FindFunction(callee.function.name);
      if (callee.is_condition()) {
        GYRE_ASSIGN_OR_RETURN(names.emplace_back(), ReplayCondition(function));
      } else {
        GYRE_ASSIGN_OR_RETURN(names.emplace_back(), Replayed(function, /*is_body=*/true));
      }
    }
    SetFunctions(names, replaying);
    return replaying;
  }

  absl::StatusOr<std::string> ReplayCondition(const Function& condition) {
    FunctionBuilder builder(program_.ops(), condition.name);
    for (const FunctionArg& arg : condition.args) (void)builder.Arg(arg.name, arg.dtype, arg.shape);
    ExprBuilder exprs(builder);
    const Expr list = exprs.At(builder.Arg("tapes", DType::kVariant));
    const Expr iteration = exprs.At(builder.Arg("iteration", DType::kInt32));
    const Expr goes_on = exprs.Op("Less", {iteration, exprs.Op("TensorListLength", {list})});
    GYRE_RETURN_IF_ERROR(exprs.status());
    builder.Return("goes_on", goes_on.endpoint());
    return Add(builder.Build(), "_replaying");
  }

  absl::StatusOr<Node> ReplayStructured(const Node& structured, Expr tape) {
    passes::StructuredInterface interface = passes::InterfaceOf(structured);
    interface.args.push_back(tape.endpoint());
    interface.arg_types.push_back(DType::kVariant);
    GYRE_ASSIGN_OR_RETURN(Node replaying, StatelessStructured(structured, interface));
    std::vector<std::string> names;
    for (const Callee& callee : CalleesOf(program_, structured)) {
      GYRE_ASSIGN_OR_RETURN(
          names.emplace_back(),
          Replayed(*program_.FindFunction(callee.function.name), /*is_body=*/false));
    }
    SetFunctions(names, replaying);
    return replaying;
  }

  // The structured node in its stateless form, with another interface.
  absl::StatusOr<Node> StatelessStructured(const Node& structured,
                                           const passes::StructuredInterface& interface) const {
    GYRE_ASSIGN_OR_RETURN(
        Node stateless,
        passes::WithInterface(WithoutEffects(program_.ops(), structured), interface));
    stateless.control_inputs.clear();
    return stateless;
  }

  // f(arguments, tape) -> results. Of the body of a loop: (variables, tapes, iteration) -> the
  // same.
  absl::StatusOr<std::string> Replayed(const Function& function, bool is_body) {
    const auto [made, is_new] = replayed_.try_emplace({function.name, is_body});
    if (!is_new) return made->second;
    const std::string name = names_.Unique(absl::StrCat(function.name, "_replaying"));
    made->second = name;
    Function copy = function;
    copy.control_results.clear();
    FunctionBuilder builder(program_.ops(), std::move(copy));
    ExprBuilder exprs(builder);
    Expr tape = exprs.At(builder.Arg(is_body ? "tapes" : "tape", DType::kVariant));
    if (is_body) {
      const Expr iteration = exprs.At(builder.Arg("iteration", DType::kInt32));
      builder.Return("tapes", tape.endpoint());
      builder.Return("iteration", (iteration + 1.0).endpoint());
      tape = exprs.Op("TensorListGetItem", {tape, iteration, exprs.Int(-1)},
                      {{"element_dtype", DType::kVariant}});
    }
    const std::vector<NodeId> effects = recordable_.EffectsOf(function);
    const std::vector<Expr> kept = ReadTape(function, effects, tape, exprs);
    GYRE_RETURN_IF_ERROR(exprs.status());
    auto next = kept.begin();
    for (const NodeId id : effects) GYRE_RETURN_IF_ERROR(Replay(function.node(id), next, exprs));
    GYRE_RETURN_IF_ERROR(exprs.status());
    Function replaying = builder.Build();
    replaying.name = name;
    replaying.stateful = std::any_of(replaying.nodes.begin(), replaying.nodes.end(),
                                     [](auto& n) { return n.op != nullptr && n.op->stateful(); });
    builder_.SetFunction(std::move(replaying));
    return name;
  }

  // In the order in which Recorded wrote them down.
  std::vector<Expr> ReadTape(const Function& function, const std::vector<NodeId>& effects,
                             Expr tape, ExprBuilder& exprs) const {
    std::vector<DType> types;
    std::vector<PartialShape> shapes;
    const FunctionShapes* const known = shapes_.Find(function.name);
    for (const NodeId id : effects) {
      const Node& node = function.node(id);
      if (IsDrawnAgain(node)) {
        types.insert(types.end(), {DType::kUint64, DType::kUint64});
        shapes.insert(shapes.end(), {Shape::Vector(1), Shape::Vector(2)});
        continue;
      }
      for (const Endpoint& e : Written(node)) {
        const bool is_tape = IsStructured(node.kind());
        types.push_back(is_tape ? DType::kVariant : node.signature.outputs[e.slot].dtype);
        shapes.push_back(is_tape || known == nullptr ? PartialShape() : known->at(e).shape);
      }
    }
    if (types.empty()) return {};
    const int n = static_cast<int>(types.size());
    return exprs.Ops("OptionalGetValue", {tape},
                     {{"output_types", std::move(types)}, {"output_shapes", std::move(shapes)}}, n);
  }

  // Puts what was written down in the place of the node.
  absl::Status Replay(const Node& node, std::vector<Expr>::const_iterator& next,
                      ExprBuilder& exprs) {
    FunctionBuilder& builder = exprs.function();
    Node instead;
    if (IsDrawnAgain(node)) {
      const Expr key = *next++, counter = *next++;
      GYRE_ASSIGN_OR_RETURN(instead, DrawAgain(node, key, counter, exprs));
    } else if (IsStructured(node.kind())) {
      const Expr tape = *next++;
      GYRE_ASSIGN_OR_RETURN(instead, IsLoop(node.kind()) ? ReplayLoop(node, tape, exprs)
                                                         : ReplayStructured(node, tape));
    } else if (node.num_outputs() == 0) {
      GYRE_ASSIGN_OR_RETURN(instead, builder.Make("NoOp", {}, {}, {.name = node.name}));
    } else {
      std::vector<Endpoint> kept;
      for (int slot = 0; slot < node.num_outputs(); ++slot)
        kept.push_back(HandsOn(node) ? node.inputs[slot] : (next++)->endpoint());
      GYRE_ASSIGN_OR_RETURN(instead, MakeReplayed(node, std::move(kept), builder));
    }
    instead.control_inputs.clear();
    builder.Replace(node.id, std::move(instead));
    return absl::OkStatus();
  }

  std::string Add(Function function, absl::string_view suffix) {
    function.name = names_.Unique(absl::StrCat(function.name, suffix));
    std::string name = function.name;
    builder_.SetFunction(std::move(function));
    return name;
  }

  const Program& program_;
  const std::function<bool(const Node&)>& again_;
  const Recordable recordable_;
  const Dependence dependence_;
  ShapeTable shapes_;
  passes::UniqueNames names_;
  ProgramBuilder builder_;
  std::map<std::pair<std::string, bool>, std::string> recorded_, replayed_;
  std::vector<const Function*> open_;  // to be visited
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> RecordEffects(
    std::shared_ptr<const Program> program, const Asked& asked,
    const std::function<bool(const Node&)>& again) {
  GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const Program> recorded,
                        Recorder(*program, again).Run(asked));
  return recorded == nullptr ? program : recorded;
}

}  // namespace gyre::grad

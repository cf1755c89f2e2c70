#include "passes/raise/raise.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/shape_inference.h"
#include "passes/raise/case_chains.h"
#include "passes/raise/emitter.h"

namespace gyre {
namespace raise {
namespace {

bool HasPrimitives(const Function& function) {
  return std::any_of(function.nodes.begin(), function.nodes.end(),
                     [](const Node& node) { return IsPrimitive(node.kind()); });
}

// All of a function but its graph.
Function WithoutNodes(const Function& function) {
  Function empty;
  empty.name = function.name;
  empty.attrs = function.attrs;
  empty.doc = function.doc;
  empty.wire_extra = function.wire_extra;
  return empty;
}

class Raiser {
 public:
  explicit Raiser(const Staged& staged) : staged_(staged), builder_(*staged.program) {
    for (const auto& [name, function] : staged.program->functions()) names_.emplace(name, 0);
    absl::StatusOr<ShapeTable> shapes = InferShapes(*staged.program);
    if (shapes.ok()) shapes_ = *std::move(shapes);  // else: nothing is known
  }

  absl::StatusOr<Staged> Run() {
    Staged raised = staged_;
    const Function& main = staged_.program->main();
    if (HasPrimitives(main)) GYRE_RETURN_IF_ERROR(RaiseMain(main, raised));
    for (const auto& [name, function] : staged_.program->functions()) {
      if (!HasPrimitives(*function)) continue;
      absl::Status status = RaiseFunction(*function);
      if (!status.ok())
        return absl::Status(status.code(), absl::StrCat("function ", name, ": ", status.message()));
    }
    GYRE_RETURN_IF_ERROR(FinishFunctions());
    if (main_) builder_.SetMain(*std::move(main_));
    raised.program = builder_.Build();
    return raised;
  }

 private:
  absl::Status FinishFunctions() {
    std::map<std::string, Function> functions;
    std::vector<std::string> order;  // inner ones first
    for (Function& function : functions_) {
      order.push_back(function.name);
      functions.emplace(order.back(), std::move(function));
    }
    const OpLookup& ops = staged_.program->ops();
    for (const std::string& name : order) {
      const auto found = functions.find(name);
      if (found == functions.end()) continue;
      Function function = found->second;
      GYRE_RETURN_IF_ERROR(MakeCases(ops, names_, functions, function));
      functions.insert_or_assign(name, std::move(function));
    }
    if (main_) GYRE_RETURN_IF_ERROR(MakeCases(ops, names_, functions, *main_));
    for (auto& [name, function] : functions) builder_.SetFunction(std::move(function));
    return absl::OkStatus();
  }

  // Which values of `flow` are known to be scalars.
  std::function<bool(Endpoint)> ScalarsOf(const Flow& flow) const {
    const FunctionShapes* const shapes = shapes_.Find(flow.function().name);
    return [&flow, shapes](Endpoint value) {
      const auto n = static_cast<NodeId>(flow.function().nodes.size());
      const Endpoint e = value.node < n ? value : Endpoint{flow.unit(value.node - n).node, 0};
      if (value.node >= n && flow.unit(value.node - n).is_truth) return true;
      if (shapes == nullptr) return false;
      const PartialShape& shape = shapes->at(e).shape;
      return shape.has_rank() && shape.rank() == 0;
    };
  }

  // Writes all of `flow` into `scope`.
  absl::Status EmitAll(Flow& flow, RaisingEmitter& emitter, RaisedScope& scope,
                       const RunSignature& signature) {
    std::vector<Member> members;
    for (const int unit : flow.units_of_frame(0))
      members.push_back({unit, flow.unit(unit).context});
    HashSet<Endpoint> wanted;
    for (const Endpoint& fetch : signature.fetches) {
      wanted.insert(Named(flow, signature, fetch));
      if (const auto flag = flow.AliveFlag(fetch)) wanted.insert(*flag);
    }
    return emitter.EmitRegion(scope, kAlways, members, wanted);
  }

  static Endpoint Named(const Flow& flow, const RunSignature& signature, Endpoint e) {
    const bool is_fed =
        std::find(signature.feeds.begin(), signature.feeds.end(), e) != signature.feeds.end();
    return is_fed ? e : flow.Value(e);
  }

  // A tensor that is asked for must be there whenever the run succeeds.
  static absl::Status CheckAlive(const Flow& flow, const RunSignature& signature, Endpoint e) {
    if (std::find(signature.feeds.begin(), signature.feeds.end(), e) != signature.feeds.end())
      return absl::OkStatus();
    const Node& node = flow.function().node(e.node);
    const auto refuse = [&](absl::string_view why) {
      return absl::UnimplementedError(
          absl::StrCat("node ", node.name, " (", node.op_name, ") is asked for, but ", why));
    };
    if (flow.FrameOf(e.node) != 0) return refuse("runs within a loop");
    if (flow.ContextOf(e) == kNever) return refuse("never runs");
    // Its variable is read when the node fires; nothing would stand for that in the raised program.
    const bool is_ref = e.slot < node.num_outputs() && node.signature.outputs[e.slot].is_ref;
    if (is_ref && IsPrimitive(node.kind()) && node.kind() != OpKind::kMerge)
      return refuse("hands on a reference");
    return absl::OkStatus();
  }

  // What a fetch comes to. One that is alive on some paths only fails on the others.
  static absl::StatusOr<Endpoint> EmitFetch(const Flow& flow, RaisingEmitter& emitter,
                                            RaisedScope& scope, const RunSignature& signature,
                                            Endpoint e) {
    GYRE_RETURN_IF_ERROR(CheckAlive(flow, signature, e));
    GYRE_ASSIGN_OR_RETURN(const Endpoint value, emitter.Find(scope, Named(flow, signature, e)));
    const std::optional<Endpoint> flag = flow.AliveFlag(e);
    if (!flag) return value;
    GYRE_ASSIGN_OR_RETURN(const Endpoint alive, emitter.Find(scope, *flag));
    const std::string name = flow.function().EndpointName(e);
    const Endpoint text = scope.builder.Constant(Tensor::Scalar(
        absl::StrCat(name, " does not have a value: it is on a path that was not taken")));
    GYRE_ASSIGN_OR_RETURN(const NodeId check, scope.builder.Add("Assert", {alive, text}));
    FunctionBuilder::NodeOptions options;
    options.name = absl::StrCat(flow.function().node(e.node).name, "/alive");
    options.control_inputs = {check};
    return scope.builder.Add1("Identity", {value}, {}, std::move(options));
  }

  absl::Status RaiseMain(const Function& main, Staged& raised) {
    const RunSignature& signature = staged_.signature;
    GYRE_ASSIGN_OR_RETURN(Flow flow, Flow::Make(main, signature));
    RaisingEmitter emitter(flow, staged_.program->ops(), names_, functions_, ScalarsOf(flow));
    RaisedScope scope(staged_.program->ops(), WithoutNodes(main), nullptr);
    for (Endpoint& feed : raised.signature.feeds) {
      GYRE_ASSIGN_OR_RETURN(const Endpoint fed, EmitFeed(main.node(feed.node), feed.slot, scope));
      scope.values.emplace(feed, fed);
      feed = fed;
    }
    GYRE_RETURN_IF_ERROR(EmitAll(flow, emitter, scope, signature));
    for (Endpoint& fetch : raised.signature.fetches) {
      GYRE_ASSIGN_OR_RETURN(fetch, EmitFetch(flow, emitter, scope, signature, fetch));
    }
    for (NodeId& target : raised.signature.targets) {
      GYRE_ASSIGN_OR_RETURN(target, EmitTarget(flow, target, scope));
    }
    // What must run was reached by edges that are gone.
    for (const NodeId node : scope.effects) raised.signature.targets.push_back(node);
    raised.values.clear();
    for (const auto& [source, here] : staged_.values) {
      if (flow.FrameOf(here.node) != 0 || flow.ContextOf(here) != kAlways) continue;
      const auto found = scope.values.find(flow.Value(here));
      if (found != scope.values.end()) raised.values.emplace(source, found->second);
    }
    Function function = scope.builder.Build();
    function.stateful = main.stateful;
    main_ = std::move(function);
    return absl::OkStatus();
  }

  absl::StatusOr<Endpoint> EmitFeed(const Node& node, int slot, RaisedScope& scope) {
    const bool is_placeholder = node.kind() == OpKind::kPlaceholder && slot == 0;
    if (is_placeholder) return Endpoint{scope.builder.Copy(node, {}, {}), 0};
    AttrMap attrs;
    attrs.Set("dtype",
              slot < node.num_outputs() ? node.signature.outputs[slot].dtype : DType::kInvalid);
    attrs.Set("shape", PartialShape::Unknown());
    FunctionBuilder::NodeOptions options;
    options.name = slot == 0 ? node.name : absl::StrCat(node.name, "_", slot);
    return scope.builder.Add1("Placeholder", {}, std::move(attrs), std::move(options));
  }

  absl::StatusOr<NodeId> EmitTarget(const Flow& flow, NodeId target, RaisedScope& scope) {
    const auto node_of = [&](int unit) {
      // What runs within a loop is over when the loop is.
      while (unit >= 0 && flow.unit(unit).frame > 0) unit = flow.loop(flow.unit(unit).frame).unit;
      const auto found = scope.nodes.find(unit);
      return found == scope.nodes.end() ? -1 : found->second;
    };
    if (const NodeId node = node_of(flow.UnitOf(target)); node >= 0) return node;
    FunctionBuilder::NodeOptions options;
    options.name = flow.function().node(target).name;
    const int maker = flow.Maker(flow.Value({target, 0}));
    if (const NodeId node = node_of(maker); node >= 0) options.control_inputs.push_back(node);
    return scope.builder.Add("NoOp", {}, {}, std::move(options));
  }

  absl::Status RaiseFunction(const Function& function) {
    const RunSignature signature = CallSignature(function);
    absl::StatusOr<Flow> made = Flow::Make(function, signature);
    // Frames that make no sense are an error where the function is called, and stay.
    if (absl::IsInvalidArgument(made.status())) return absl::OkStatus();
    GYRE_ASSIGN_OR_RETURN(Flow flow, std::move(made));
    RaisingEmitter emitter(flow, staged_.program->ops(), names_, functions_, ScalarsOf(flow));
    RaisedScope scope(staged_.program->ops(), WithoutNodes(function), nullptr);
    for (size_t i = 0; i < function.args.size(); ++i) {
      const FunctionArg& arg = function.args[i];
      scope.values.emplace(Endpoint{function.arg_nodes[i], 0},
                           scope.builder.Arg(arg.name, arg.dtype, arg.shape, arg.is_ref));
    }
    GYRE_RETURN_IF_ERROR(EmitAll(flow, emitter, scope, signature));
    for (const FunctionResult& result : function.results) {
      GYRE_ASSIGN_OR_RETURN(const Endpoint value,
                            EmitFetch(flow, emitter, scope, signature, result.value));
      scope.builder.Return(result.name, value);
    }
    for (const auto& [name, node] : function.control_results) {
      GYRE_ASSIGN_OR_RETURN(const NodeId here, EmitTarget(flow, node, scope));
      scope.builder.ReturnControl(name, here);
    }
    functions_.push_back(scope.builder.Build());
    return absl::OkStatus();
  }

  const Staged& staged_;
  ProgramBuilder builder_;
  std::map<std::string, int> names_;
  std::vector<Function> functions_;
  std::optional<Function> main_;
  ShapeTable shapes_;
};

}  // namespace
}  // namespace raise

absl::StatusOr<Staged> RaisePass(const Staged& staged) {
  const auto has_primitives = [](const auto& named) { return raise::HasPrimitives(*named.second); };
  const auto& functions = staged.program->functions();
  if (!raise::HasPrimitives(staged.program->main()) &&
      std::none_of(functions.begin(), functions.end(), has_primitives)) {
    return staged;
  }
  absl::StatusOr<Staged> raised = Raise(staged);
  return absl::IsUnimplemented(raised.status()) ? staged : raised;
}

absl::StatusOr<Staged> Raise(const Staged& staged) {
  return RunStage("raising", [&]() -> absl::StatusOr<Staged> {
    absl::StatusOr<Staged> raised = raise::Raiser(staged).Run();
    if (!absl::IsUnimplemented(raised.status())) return raised;
    return absl::UnimplementedError(
        absl::StrCat("the graph has no structured form: ", raised.status().message()));
  });
}

}  // namespace gyre

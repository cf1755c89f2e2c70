#include "front/scope.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "front/error.h"
#include "front/graph_state.h"
#include "front/tape_record.h"
#include "ir/data_order.h"
#include "ir/shape_inference.h"
#include "ir/value_info.h"
#include "ops/registry.h"

namespace gyre::internal {
namespace {

std::atomic<uint64_t> g_num_made{1};
std::atomic<uint64_t> g_num_scopes{0};

}  // namespace

uint64_t BuildClock() { return g_num_made.load(std::memory_order_relaxed); }

Scope::Scope(std::weak_ptr<GraphState> graph, ScopePtr parent, std::string function_name,
             Description description)
    : graph_(std::move(graph)),
      parent_(std::move(parent)),
      number_(g_num_scopes.fetch_add(1, std::memory_order_relaxed)),
      description_(std::move(description)) {
  builder_ = std::make_unique<FunctionBuilder>(Ops(), std::move(function_name));
}

std::shared_ptr<GraphState> Scope::graph() const {
  std::shared_ptr<GraphState> graph = graph_.lock();
  if (graph == nullptr) {
    Throw(
        absl::FailedPreconditionError("the graph that this value belongs to does not exist any "
                                      "more"));
  }
  return graph;
}

std::vector<Access> Scope::accesses() const {
  std::vector<Access> accesses = effects_.Summary();
  std::erase_if(accesses, [this](const Access& a) { return own_resources_.contains(a.key); });
  return accesses;
}

// ---- Nodes

void Scope::NoteNode(std::vector<ValueInfo> outputs) {
  infos_.push_back(std::move(outputs));
  made_at_.push_back(g_num_made.fetch_add(1, std::memory_order_relaxed));
}

NodeId Scope::Add(NodeRequest request) {
  FunctionBuilder::NodeOptions options = OptionsFor(request);
  absl::StatusOr<Node> node =
      builder_->Make(request.op, request.inputs, request.attrs, std::move(options));
  if (!node.ok()) ThrowAt(node.status(), request);
  NoteNode(InferOutputs(*node, request));
  const NodeId id = builder_->Append(*std::move(node));
  if (!request.is_apart) {
    OrderEffects(id, request.accesses ? *request.accesses : AccessesOf(builder_->node(id)));
  }
  graph()->MarkChanged();
  return id;
}

FunctionBuilder::NodeOptions Scope::OptionsFor(NodeRequest& request) {
  FunctionBuilder::NodeOptions options;
  options.name = request.name.empty() ? request.op : request.name;
  options.source = request.source.empty() ? LineOf(request.where) : std::move(request.source);
  std::string prefix;
  const std::vector<std::string>* colocated = nullptr;
  for (const GraphState::Setting& setting : graph()->settings()) {
    if (setting.device) options.device = *setting.device;
    if (setting.colocated) colocated = &*setting.colocated;
    // What was set around the body holds for the node that the body belongs to.
    if (setting.scope != this) continue;
    absl::StrAppend(&prefix, setting.prefix);
    if (setting.forgets_awaited) options.control_inputs.clear();
    for (const Operation& operation : setting.awaited)
      Await(operation, request.where, options.control_inputs);
  }
  for (const Operation& operation : request.awaited)
    Await(operation, request.where, options.control_inputs);
  if (!request.device.empty()) options.device = request.device;
  if (colocated != nullptr && !colocated->empty() && !request.attrs.Has("_class"))
    request.attrs.Set("_class", *colocated);
  options.name = absl::StrCat(prefix, options.name);
  if (!request.has_final_name) {
    if (std::string claimed = ClaimName(request); !claimed.empty())
      options.name = std::move(claimed);
  }
  return options;
}

std::string Scope::ClaimName(const NodeRequest& request) {
  SessionNames* const names = graph()->session_names();
  if (names == nullptr || !is_main()) return "";
  const absl::string_view wanted =
      request.name.empty() ? SessionNames::DefaultName(request.op) : request.name;
  // As TensorFlow has it, a slash at the end marks a name that has been claimed, as a scope.
  if (absl::EndsWith(wanted, "/")) return std::string(wanted.substr(0, wanted.size() - 1));
  return names->Claim(wanted);
}

std::string Scope::ClaimInputName(const std::string& node, absl::string_view input) {
  return graph()->session_names()->ClaimAbsolute(absl::StrCat(node, "/", input));
}

void Scope::SetInput(NodeId node, int slot, Endpoint input, const std::source_location& where) {
  if (const absl::Status status = builder_->SetInput(node, slot, input); !status.ok())
    ThrowInvalid(status.message(), where);
  graph()->MarkChanged();
}

void Scope::RefineShape(Endpoint e, const PartialShape& shape, const std::source_location& where) {
  PartialShape& known = infos_[e.node][e.slot].shape;
  absl::StatusOr<PartialShape> both = known.Intersect(shape);
  if (!both.ok()) {
    ThrowInvalid(absl::StrCat("'", function().node(e.node).name, "' has shape ", known.ToString(),
                              ", which cannot be ", shape.ToString()),
                 where);
  }
  known = *std::move(both);
}

void Scope::NoteValue(Endpoint e, const Tensor& value) {
  ValueInfo info = infos_[e.node][e.slot];
  const Node& node = function().node(e.node);
  if (value.dtype() != node.signature.outputs[e.slot].dtype || !info.shape.Allows(value.shape()))
    ThrowInvalid(absl::StrCat("'", node.name, "' cannot be a ", DTypeName(value.dtype()),
                              " of shape ", value.shape().ToString()),
                 std::source_location());
  info.constant = value;
  infos_[e.node][e.slot] = Normalized(std::move(info));
}

void Scope::AddControlInput(NodeId node, NodeId before) {
  builder_->AddControlInput(node, before);
  graph()->MarkChanged();
}

void Scope::Await(const Operation& operation, const std::source_location& where,
                  std::vector<NodeId>& here) {
  const Scope* made_in = operation.scope().get();
  if (made_in == nullptr) ThrowInvalid("an empty operation cannot be waited for", where);
  if (made_in == this) {
    if (std::find(here.begin(), here.end(), operation.node()) == here.end())
      here.push_back(operation.node());
    return;
  }
  for (const Scope* scope = parent_.get(); scope != nullptr; scope = scope->parent_.get()) {
    if (scope != made_in) continue;
    awaited_.push_back(operation);
    return;
  }
  ThrowOutOfReach(*made_in, operation.node(), where);
}

void Scope::AwaitOutside(const Operation& operation) {
  for (const Scope* scope = parent_.get(); scope != nullptr; scope = scope->parent_.get()) {
    if (scope == operation.scope().get()) awaited_.push_back(operation);
  }
}

Endpoint Scope::AddConstant(const Tensor& value, const std::string& name,
                            const std::source_location& where, bool has_final_name) {
  AttrMap attrs;
  attrs.Set("value", value);
  attrs.Set("dtype", value.dtype());
  return {Add({.op = "Const",
               .attrs = std::move(attrs),
               .name = name,
               .where = where,
               .has_final_name = has_final_name}),
          0};
}

Value Scope::AddArg(const std::string& name, DType dtype, ValueInfo info,
                    const PartialShape& promised) {
  const Endpoint arg = builder_->Arg(name, dtype, promised);
  NoteNode({std::move(info)});
  ++num_own_args_;
  return ValueAt(arg);
}

std::vector<ValueInfo> Scope::InputInfos(const Node& node) const {
  std::vector<ValueInfo> infos;
  infos.reserve(node.inputs.size());
  for (const Endpoint& input : node.inputs) infos.push_back(info(input));
  return infos;
}

std::vector<ValueInfo> Scope::InferOutputs(const Node& node, const NodeRequest& request) const {
  std::vector<ValueInfo> outputs(node.signature.outputs.size());
  if (request.infos) {
    std::copy_n(request.infos->begin(), std::min(request.infos->size(), outputs.size()),
                outputs.begin());
    return outputs;
  }
  if (node.op->shape == nullptr) return outputs;
  ShapeContext context(node, InputInfos(node));
  if (const absl::Status status = node.op->shape(context); !status.ok()) ThrowAt(status, request);
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = Normalized(std::move(context.outputs()[i]));
  return outputs;
}

void Scope::ThrowAt(const absl::Status& status, const NodeRequest& request) const {
  std::vector<std::string> inputs;
  for (const Endpoint& input : request.inputs) {
    inputs.push_back(
        absl::StrCat(DTypeName(builder_->dtype(input)), " ", info(input).shape.ToString()));
  }
  std::string message = absl::StrCat(
      status.message(), "\n  at node '", request.name.empty() ? request.op : request.name, "' (",
      request.op, inputs.empty() ? "" : " of ", absl::StrJoin(inputs, ", "), ")");
  if (!is_main()) absl::StrAppend(&message, " in ", description_.what, " at ", description_.line);
  absl::StrAppend(&message, "\n  at ", LineOf(request.where));
  Throw(absl::Status(status.code(), message));
}

// ---- Order of effects

std::vector<Access> Scope::AccessesOf(const Node& node) {
  switch (node.op->traits.effect) {
    case Effect::kRead:
      return AccessesThrough(node.inputs, node.signature.inputs, {.reads = true});
    case Effect::kWrite:
      return AccessesThrough(node.inputs, node.signature.inputs, {.writes = true});
    case Effect::kIo:
      return AccessesThrough(node.inputs, node.signature.inputs, {.writes = true, .talks = true});
    default:
      return {};
  }
}

std::vector<Access> Scope::AccessesThrough(absl::Span<const Endpoint> inputs,
                                           absl::Span<const NodeSignature::Slot> slots,
                                           Effects effects) {
  std::vector<Access> accesses;
  if (effects.talks) accesses.push_back({kHost, true});
  if (!effects.reads && !effects.writes) return accesses;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (slots[i].dtype == DType::kResource || slots[i].is_ref)
      accesses.push_back({KeyOf(inputs[i]), effects.writes});
  }
  if (effects.writes && accesses.empty()) accesses.push_back({kUnknownResource, true});
  return accesses;
}

ResourceKey Scope::KeyOf(Endpoint resource) {
  if (const auto it = resources_.find(resource); it != resources_.end()) return it->second;
  const Node& node = builder_->node(resource.node);
  ResourceKey key = kUnknownResource;
  if (node.op->traits.forwards && node.inputs.size() == 1) {
    key = KeyOf(node.inputs[0]);
  } else if (IsPlain(node.kind())) {
    key = KeyOfMaker(node);
  }
  resources_.emplace(resource, key);
  return key;
}

void Scope::StandsFor(const Value& here, const Value& elsewhere) {
  const ResourceKey key = elsewhere.scope()->KeyOf({elsewhere.node(), elsewhere.slot()});
  if (key == kUnknownResource) return;
  resources_.emplace(Endpoint{here.node(), here.slot()},
                     graph()->KeyForResource(absl::StrCat("elsewhere/", key)));
}

// Of a node that makes a resource; unknown for one that takes it from elsewhere.
ResourceKey Scope::KeyOfMaker(const Node& node) {
  for (const NodeSignature::Slot& slot : node.signature.inputs) {
    if (slot.dtype == DType::kResource || slot.dtype == DType::kVariant) return kUnknownResource;
  }
  const std::string shared_name = node.attrs.GetOr<std::string>("shared_name", "");
  if (node.op->traits.effect != Effect::kAllocate && !shared_name.empty()) {
    return graph()->KeyForResource(
        absl::StrCat(node.attrs.GetOr<std::string>("container", ""), "/", shared_name));
  }
  const ResourceKey key = graph()->KeyForResource("");
  if (node.op->traits.effect == Effect::kAllocate) own_resources_.insert(key);
  return key;
}

void Scope::OrderEffects(NodeId id, const std::vector<Access>& accesses) {
  if (accesses.empty() || graph()->follows_session_rules()) return;
  for (const NodeId before : effects_.Record(id, accesses)) {
    const Node& node = builder_->node(id);
    const bool is_input = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [before](const Endpoint& e) { return e.node == before; });
    const auto& controls = node.control_inputs;
    if (is_input || std::find(controls.begin(), controls.end(), before) != controls.end()) continue;
    builder_->AddControlInput(id, before);
  }
}

std::vector<NodeId> Scope::TakeEffects() {
  const std::vector<NodeId> last = effects_.Last();
  effects_ = EffectOrder();
  return last;
}

// ---- Captures

Endpoint Scope::Use(const Value& value, const std::source_location& where) {
  if (!value.has_value()) {
    ThrowInvalid("an empty Value is used: it was declared, but never given a value", where);
  }
  const Endpoint e = {value.node(), value.slot()};
  if (value.scope().get() == this) return e;
  const OuterValue key = {value.scope().get(), e};
  if (const auto it = imported_.find(key); it != imported_.end()) return it->second;
  const Scope* scope = parent_.get();
  while (scope != nullptr && scope != value.scope().get()) scope = scope->parent_.get();
  if (scope == nullptr) ThrowOutOfReach(*value.scope(), value.node(), where);
  const Endpoint here = Capture(value, where);
  imported_.emplace(key, here);
  return here;
}

std::optional<Endpoint> Scope::Find(const Value& value) const {
  const Endpoint e = {value.node(), value.slot()};
  if (value.scope().get() == this) return e;
  const auto it = imported_.find({value.scope().get(), e});
  return it == imported_.end() ? std::nullopt : std::optional(it->second);
}

Endpoint Scope::Capture(const Value& value, const std::source_location& where) {
  const Node& made = value.scope()->function().node(value.node());
  const Endpoint outer = parent_->Use(value, where);
  const OuterValue of_parent = {parent_.get(), outer};
  if (const auto it = imported_.find(of_parent); it != imported_.end()) return it->second;
  const DType dtype = parent_->builder_->dtype(outer);
  const Endpoint arg = builder_->Arg(made.name, dtype);
  NoteNode({parent_->info(outer)});
  if (dtype == DType::kResource) resources_.emplace(arg, parent_->KeyOf(outer));
  captures_.push_back(parent_->ValueAt(outer));
  imported_.emplace(of_parent, arg);
  return arg;
}

void Scope::SetCaptures(const std::vector<Value>& captures) {
  std::vector<Endpoint> order;
  for (const Value& capture : captures) order.push_back(Use(capture, {}));
  builder_->OrderArgs(num_own_args_, order);
}

void Scope::ThrowOutOfReach(const Scope& made_in, NodeId node,
                            const std::source_location& where) const {
  const Node& made = made_in.function().node(node);
  std::string message = absl::StrCat("'", made.name, "' was made in ", made_in.description_.what);
  if (!made_in.is_main()) absl::StrAppend(&message, " at ", made_in.description_.line);
  if (!made.source.empty()) absl::StrAppend(&message, ", at ", made.source, ",");
  if (made_in.graph_.lock() != graph_.lock()) {
    absl::StrAppend(&message, " of another graph, and cannot be used in ", description_.what,
                    " of this one");
  } else {
    absl::StrAppend(&message, " and cannot be used in ", description_.what);
    if (!is_main()) absl::StrAppend(&message, " at ", description_.line);
    absl::StrAppend(&message,
                    ": what is made in a body is of no use outside of it, unless the "
                    "body returns it");
  }
  ThrowInvalid(message, where);
}

// ---- The end of a body

void Scope::Finish(const std::vector<std::pair<std::string, Endpoint>>& results, bool is_part) {
  for (const auto& [name, value] : results) builder_->Return(name, value);
  for (const NodeId node : effects_.Last())
    builder_->ReturnControl(builder_->node(node).name, node);
  finished_ = std::make_shared<const Function>(builder_->Build());
  graph()->AddFunction(*finished_);
  if (!is_part) return;
  parent_->parts_.push_back(finished_->name);
  parent_->parts_.insert(parent_->parts_.end(), parts_.begin(), parts_.end());
}

void Scope::Discard() {
  for (const std::string& name : parts_) graph()->EraseFunction(name);
  parts_.clear();
}

// ---- Transforms

namespace {

// What an argument's handle leads to, as shape inference finds it where nobody calls the function.
void SetVariableBehind(const HandleInfo& variable, Node& arg) {
  arg.attrs.Set("_handle_dtypes", std::vector<DType>{variable.dtype});
  arg.attrs.Set("_handle_shapes", std::vector<PartialShape>{variable.shape});
}

}  // namespace

std::shared_ptr<const Program> Scope::AsProgram() const {
  Function function = builder_->function();
  for (size_t i = 0; i < function.args.size(); ++i) {
    const ValueInfo& known = info({function.arg_nodes[i], 0});
    function.args[i].shape = known.shape;
    if (known.handle && function.args[i].dtype == DType::kResource)
      SetVariableBehind(*known.handle, function.nodes[function.arg_nodes[i]]);
  }
  return graph()->ProgramOf(function);
}

void Scope::Replace(const Program& base, const Program& program) {
  for (const auto& [name, function] : program.functions()) {
    if (base.FindFunction(name) != function.get()) graph()->AddFunction(*function);
  }
  const size_t num_old = infos_.size();
  Function function = program.main();
  function.name = builder_->name();
  function.args = builder_->function().args;
  const DataOrder order = OrderByData(function);
  // What an old node takes a value from has its place: that of the old node.
  std::vector<bool> is_before(function.nodes.size());
  for (auto id = order.order.rbegin(); id != order.order.rend(); ++id) {
    for (const NodeId consumer : order.consumers[*id])
      is_before[*id] =
          is_before[*id] || static_cast<size_t>(consumer) < num_old || is_before[consumer];
  }
  builder_ = std::make_unique<FunctionBuilder>(Ops(), std::move(function));
  infos_.resize(builder_->function().nodes.size());
  while (made_at_.size() < infos_.size())
    made_at_.push_back(g_num_made.fetch_add(1, std::memory_order_relaxed));
  for (const NodeId id : order.order) {
    const Node& node = builder_->node(id);
    const bool is_new = static_cast<size_t>(id) >= num_old;
    if (!is_new && infos_[id].size() == node.signature.outputs.size()) continue;
    infos_[id] = ValueOrThrow(InferNode(program, node, InputInfos(node)));
    // What functions touch that somebody else has made is not known.
    if (is_new && !is_before[id]) OrderEffects(id, AccessesOf(node));
  }
  graph()->MarkChanged();
}

}  // namespace gyre::internal

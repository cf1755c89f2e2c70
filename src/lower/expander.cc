#include "lower/expander.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gyre::lower {

namespace {

// "loop/invariant_x" of what is called "…/x" outside.
std::string InvariantName(const OpenedLoop& loop, const Node& source) {
  constexpr absl::string_view kInvariant = "invariant_";
  absl::string_view name = source.name;
  if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  absl::ConsumePrefix(&name, kInvariant);
  return absl::StrCat(loop.path, "/", kInvariant, name);
}

}  // namespace

std::vector<DType> OutputTypes(const Node& node) {
  std::vector<DType> types;
  for (const NodeSignature::Slot& slot : node.signature.outputs) types.push_back(slot.dtype);
  return types;
}

Expander::Expander(ProgramFacts& facts, const LowerOptions& options)
    : program_(facts.program()), options_(options), facts_(facts), emitter_(facts.program().ops()) {
  scopes_.emplace_back();
  loops_.emplace_back();
}

void Expander::ExpandNode(ExpandedBody& body, const Node& node) {
  if (body.facts != nullptr && node.kind() == OpKind::kArg) {
    body.states[node.id] = {.ready = true,
                            .outputs = {body.args[*node.attrs.Get<int64_t>("index")]}};
    return;
  }
  if (IsStructured(node.kind())) {
    ExpandStructured(body, node);
  } else if (node.kind() == OpKind::kConst && node.control_inputs.empty() && !body.fires_at_once &&
             !(body.facts == nullptr && fed_.contains({node.id, 0}))) {
    HoistConstant(body, node);
  } else {
    CopyNode(body, node);
  }
  if (body.facts == nullptr) return;
  const NodeState& state = body.states[node.id];
  if (state.completion >= 0 && IsStructured(node.kind())) {
    body.completion.push_back(state.completion);
  } else if (HasEffect(body, node) || body.facts->must_run[node.id]) {
    const NodeId done = DoneOf(body, node.id);
    if (done >= 0) body.completion.push_back(done);
  }
}

bool Expander::HasEffect(const ExpandedBody& body, const Node& node) const {
  return body.facts->has_effect[node.id] ||
         (IsStructured(node.kind()) && facts_.StructuredFinishes(node));
}

std::string Expander::NameOf(const ExpandedBody& body, const Node& node) {
  if (body.facts == nullptr) return node.name;
  return emitter_.UniqueName(absl::StrCat(body.prefix, node.name));
}

void Expander::CopyNode(ExpandedBody& body, const Node& node) {
  Controls controls = ControlsOf(body, node);
  Node copy = node;
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const Endpoint source = node.inputs[slot];
    const NodeState& state = body.states[source.node];
    if (!state.ready) {  // a back edge: Lower closes it at the end
      copy.inputs[slot] = {-1, 0};
      continue;
    }
    const Value value = Read(body, source);
    copy.inputs[slot] = Use(value, *body.place);
    controls.gated |= value.gated;
    controls.ordered |= value.ordered;
  }
  const bool has_effect = body.facts != nullptr && HasEffect(body, node);
  if (has_effect && body.entry >= 0 && !controls.ordered) {
    controls.nodes.push_back(body.entry);
    controls.gated = controls.ordered = true;
  }
  if (body.place->is_gated() && !controls.gated) {
    controls.nodes.push_back(body.place->pivot);
    controls.gated = true;
  }
  copy.control_inputs = std::move(controls.nodes);
  copy.name = NameOf(body, node);
  const NodeId added = emitter_.Add(std::move(copy), {&node, body.scope, false, 0});
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    if (!body.states[node.inputs[slot].node].ready)
      open_inputs_.push_back({added, static_cast<int>(slot), node.inputs[slot]});
  }
  NodeState& state = body.states[node.id];
  state.ready = true;
  state.done = added;
  state.done_gated = !body.place->is_gated() || controls.gated;
  state.done_ordered = controls.ordered;
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    state.outputs.push_back(
        {{added, slot}, body.place->loop, state.done_gated, state.done_ordered});
  }
}

// A constant stands where nothing guards it, and is brought into loops once: outside of all that is
// expanded, in scope 0.
void Expander::HoistConstant(ExpandedBody& body, const Node& node) {
  const Place& home = *body.place->constants;
  Node copy = node;
  if (home.is_gated()) copy.control_inputs.push_back(home.pivot);
  copy.name = NameOf(body, node);
  const NodeId id = emitter_.Add(std::move(copy), {&node, 0, false, 0});
  NodeState& state = body.states[node.id];
  state.ready = true;
  state.has_no_control = true;
  state.outputs.push_back({{id, 0}, home.loop, home.is_gated() && &home == body.place, false});
}

Value Expander::Read(const ExpandedBody& body, Endpoint e) const {
  const NodeState& state = body.states[e.node];
  if (e.slot < static_cast<int>(state.outputs.size())) return state.outputs[e.slot];
  return {{state.done, e.slot}, body.place->loop, true, false};
}

Endpoint Expander::Use(const Value& value, const Place& place) {
  std::vector<int> path;  // loops to be entered, innermost first
  for (int loop = place.loop; loop != value.loop; loop = loops_[loop].parent) path.push_back(loop);
  Endpoint e = value.e;
  for (; !path.empty(); path.pop_back()) {
    const auto [it, is_new] = entered_.try_emplace({e, path.back()});
    if (is_new) {
      const OpenedLoop& loop = loops_[path.back()];
      AttrMap attrs;
      attrs.Set("frame_name", loop.frame_name);
      attrs.Set("is_constant", true);
      attrs.Set("parallel_iterations", loop.parallel_iterations);
      it->second = emitter_.Plumb1(loop.where, "Enter", InvariantName(loop, emitter_.node(e.node)),
                                   {e}, {}, std::move(attrs));
    }
    e = it->second;
  }
  return e;
}

NodeId Expander::Anchor(Endpoint e, Where where) {
  const OpKind kind = emitter_.node(e.node).kind();
  if (kind != OpKind::kSwitch && kind != OpKind::kSwitchN) return e.node;
  // A Switch is alive whichever side is taken.
  const auto [it, is_new] = anchors_.try_emplace(e, -1);
  if (is_new) {
    it->second =
        emitter_.Plumb(where, "Identity", absl::StrCat(emitter_.node(e.node).name, "/side"), {e});
  }
  return it->second;
}

Controls Expander::ControlsOf(ExpandedBody& body, const Node& node) {
  Controls controls;
  const Where where{&node, body.scope};
  for (const NodeId source : node.control_inputs) {
    const NodeState& state = body.states[source];
    if (!state.ready || state.has_no_control) {
      if (body.facts == nullptr && state.has_no_control)  // of the main graph: as it is written
        controls.nodes.push_back(state.outputs[0].e.node);
      continue;
    }
    if (body.facts != nullptr && body.function->node(source).kind() == OpKind::kArg) {
      const Value& value = state.outputs[0];
      controls.nodes.push_back(Anchor(Use(value, *body.place), where));
      controls.gated |= value.gated;
      controls.ordered |= value.ordered;
      continue;
    }
    const NodeId done = DoneOf(body, source);
    if (done < 0) continue;
    controls.nodes.push_back(done);
    controls.gated |= state.done_gated;
    controls.ordered |= state.done_ordered;
  }
  return controls;
}

NodeId Expander::DoneOf(ExpandedBody& body, NodeId id) {
  NodeState& state = body.states[id];
  if (state.done >= 0 || !state.ready || state.has_no_control) return state.done;
  const Node& node = body.function->node(id);
  const Where where{&node, body.scope};
  std::vector<NodeId> waits;
  if (state.completion >= 0) {
    // Its outputs wait for it.
    if (state.outputs.empty()) waits.push_back(state.completion);
    state.done_gated = state.done_ordered = true;
  }
  for (const Value& value : state.waits) {
    waits.push_back(Anchor(Use(value, *body.place), where));
    state.done_gated |= value.gated;
    state.done_ordered |= value.ordered;
  }
  state.done = Join(waits, where, absl::StrCat(body.prefix, node.name, "/done"));
  return state.done;
}

NodeId Expander::Join(const std::vector<NodeId>& nodes, Where where, const std::string& name) {
  if (nodes.empty()) return -1;
  if (nodes.size() == 1) return nodes[0];
  return emitter_.Plumb(where, "NoOp", name, {}, nodes);
}

Value Expander::Gated(const Value& value, const Place& place, Where where,
                      const std::string& name) {
  if (!place.is_gated() || value.gated) return {Use(value, place), place.loop, true, value.ordered};
  const Endpoint e = emitter_.Plumb1(where, "Identity", name, {Use(value, place)}, {place.pivot});
  return {e, place.loop, true, value.ordered};
}

Value Expander::Constant(const Tensor& tensor, const Place& place, Where where,
                         const std::string& name) {
  const Place& home = *place.constants;
  AttrMap attrs;
  attrs.Set("dtype", tensor.dtype());
  attrs.Set("value", tensor);
  std::vector<NodeId> controls;
  if (home.is_gated()) controls.push_back(home.pivot);
  where.scope = 0;  // as HoistConstant
  return {emitter_.Plumb1(where, "Const", name, {}, std::move(controls), std::move(attrs)),
          home.loop, home.is_gated() && &home == &place, false};
}

Value Expander::Condition(const Value& value, const Function* function, Endpoint source,
                          const Place& place, Where where, const std::string& name) {
  if (emitter_.dtype(value.e) == DType::kBool && function != nullptr &&
      facts_.IsScalar(*function, source)) {
    return value;
  }
  return {emitter_.Plumb1(where, "ToBool", name, {Use(value, place)}), place.loop, value.gated,
          value.ordered};
}

int Expander::OpenLoop(OpenedLoop loop) {
  std::string name = loop.path;
  for (int i = 1; !frame_names_.insert(name).second; ++i) name = absl::StrCat(loop.path, "_", i);
  loop.frame_name = std::move(name);
  loops_.push_back(std::move(loop));
  return static_cast<int>(loops_.size()) - 1;
}

}  // namespace gyre::lower

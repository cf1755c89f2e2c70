// Structured nodes: what fires them, the functions they call, and what comes after them.
//
//        inputs ─┐                                    a call that is expanded is its body:
//   controls ─ entry ╌╌> effects of the body ╌╌╮        inputs ──> nodes of f ──> outputs
//        inputs ─────> nodes of the body ─┐    │      with effects (drawn left), the order that it
//                                         │ completion   had as one node survives: they come after
//                               outputs <─┴─ Identity    all inputs, and before all outputs
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/stack.h"
#include "lower/expander.h"

namespace gyre::lower {

void Expander::ExpandStructured(ExpandedBody& body, const Node& node) {
  if (options_.keeps && options_.keeps(*body.function, node)) return CopyNode(body, node);
  if (node.kind() == OpKind::kCall) {
    const std::vector<Callee> callees = CalleesOf(program_, node);
    if (callees.empty() || !CanInline(node, callees[0], body)) return KeepCall(body, node);
  }
  Structured structured;
  Admit(body, node, structured);
  NodeState state;
  if (IsConditional(node.kind())) {
    LowerBranches(*this, body, structured, state);
  } else if (IsLoop(node.kind())) {
    LowerLoop(*this, body, structured, state);
  } else {
    ExpandCall(body, structured, state);
  }
  Finish(body, structured, state);
  body.states[node.id] = std::move(state);
}

void Expander::Admit(ExpandedBody& body, const Node& node, Structured& structured) {
  structured.node = &node;
  structured.path = NameOf(body, node);
  structured.where = {&node, body.scope};
  structured.callees = CalleesOf(program_, node);
  structured.finishes = facts_.StructuredFinishes(node);
  structured.place = *body.place;
  bool gated = false;
  bool ordered = false;
  for (const Endpoint& source : node.inputs) {
    structured.inputs.push_back(Read(body, source));
    gated |= structured.inputs.back().gated;
    ordered |= structured.inputs.back().ordered;
  }
  structured.controls = ControlsOf(body, node);
  Controls& controls = structured.controls;
  const bool at_once = body.fires_at_once || !controls.nodes.empty();
  if (structured.finishes && body.entry >= 0 && !ordered && !controls.ordered) {
    controls.nodes.push_back(body.entry);
    controls.gated = controls.ordered = true;
  }
  if (body.place->is_gated() && !gated && !controls.gated) {
    if (at_once || structured.finishes) controls.nodes.push_back(body.place->pivot);
  }
  if (at_once) {
    AdmitAtOnce(body, structured, structured.finishes || ordered || controls.ordered);
  } else if (structured.finishes) {
    std::vector<NodeId> after = controls.nodes;
    for (const Value& input : structured.inputs) {
      after.push_back(Anchor(Use(input, *body.place), structured.where));
    }
    structured.entry = emitter_.Plumb(structured.where, "NoOp",
                                      absl::StrCat(structured.path, "/entry"), {}, after);
  }
}

// Where inputs may be dead one by one (in a graph of primitives), be references that are read when
// the node fires, or where control edges guard the node, its inputs come in together.
void Expander::AdmitAtOnce(ExpandedBody& body, Structured& structured, bool ordered) {
  std::vector<Endpoint> inputs;
  std::vector<NodeId> controls = structured.controls.nodes;
  const auto stays_reference = [&](size_t i) {
    return structured.node->signature.inputs[i].is_ref;
  };
  for (size_t i = 0; i < structured.inputs.size(); ++i) {
    const Endpoint input = Use(structured.inputs[i], *body.place);
    stays_reference(i) ? controls.push_back(input.node) : inputs.push_back(input);
  }
  const std::string name = absl::StrCat(structured.path, "/entry");
  structured.entry = emitter_.Plumb(structured.where, inputs.empty() ? "NoOp" : "IdentityN", name,
                                    inputs, std::move(controls));
  int slot = 0;
  for (size_t i = 0; i < structured.inputs.size(); ++i) {
    if (!stays_reference(i))
      structured.inputs[i] = {{structured.entry, slot++}, body.place->loop, true, ordered};
  }
  structured.place.pivot = structured.entry;
  // In a graph of primitives, its frame may be any: constants must stand in the same.
  if (body.fires_at_once) structured.place.constants = &structured.place;
}

void Expander::ExpandCall(ExpandedBody& body, Structured& structured, NodeState& state) {
  const CalleeUse use = Prepare(structured, body, 0);
  std::vector<Value> args(structured.inputs.begin() + NumSelectorInputs(*structured.node),
                          structured.inputs.end());
  // `ordered` was said of the caller's entry.
  if (structured.finishes) {
    for (Value& arg : args) arg.ordered &= arg.e.node == structured.entry;
  }
  const NodeId entry = structured.finishes ? structured.entry : -1;
  Expansion expansion =
      Expand(use, std::move(args), OutputTypes(*structured.node), structured.place, entry);
  state.outputs = std::move(expansion.results);
  if (structured.place.pivot == structured.entry && structured.entry >= 0) {
    // A constant, say, that nothing has made wait for the control inputs of the call.
    for (size_t i = 0; i < state.outputs.size(); ++i) {
      state.outputs[i] = Gated(state.outputs[i], structured.place, structured.where,
                               absl::StrCat(structured.path, "/result_", i));
    }
  }
  state.completion =
      Join(expansion.completion, structured.where, absl::StrCat(structured.path, "/finished"));
}

// A call that stays one: it fires as it always did.
void Expander::KeepCall(ExpandedBody& body, const Node& node) {
  const std::vector<Callee> callees = CalleesOf(program_, node);
  if (callees.empty()) return CopyNode(body, node);
  Controls controls = ControlsOf(body, node);
  std::vector<Endpoint> inputs;
  for (size_t i = NumSelectorInputs(node); i < node.inputs.size(); ++i) {
    const Endpoint source = node.inputs[i];
    const Value value = Read(body, source);
    inputs.push_back(Use(value, *body.place));
    controls.gated |= value.gated;
    controls.ordered |= value.ordered;
  }
  for (int i = 0; i < NumSelectorInputs(node); ++i) {  // the device: waited for, and no more
    const Endpoint source = node.inputs[i];
    const Value value = Read(body, source);
    controls.nodes.push_back(Anchor(Use(value, *body.place), {&node, body.scope}));
    controls.gated |= value.gated;
    controls.ordered |= value.ordered;
  }
  const bool finishes = facts_.StructuredFinishes(node);
  if (finishes && body.entry >= 0 && !controls.ordered) {
    controls.nodes.push_back(body.entry);
    controls.gated = controls.ordered = true;
  }
  if (body.place->is_gated() && !controls.gated) controls.nodes.push_back(body.place->pivot);
  const NodeId id = EmitCall(callees[0], NameOf(body, node), inputs, OutputTypes(node),
                             std::move(controls.nodes), {&node, body.scope, false, 0});
  NodeState state;
  state.ready = true;
  state.done = id;
  state.completion = finishes ? id : -1;
  state.done_gated = true;
  state.done_ordered = controls.ordered;
  for (int slot = 0; slot < node.num_outputs(); ++slot) {
    state.outputs.push_back({{id, slot}, body.place->loop, true, controls.ordered});
  }
  body.states[node.id] = std::move(state);
}

// What follows a node with effects, by data or control, comes after them.
void Expander::Finish(ExpandedBody& body, const Structured& structured, NodeState& state) {
  state.ready = true;
  if (state.completion >= 0) {
    for (size_t i = 0; i < state.outputs.size(); ++i) {
      const Endpoint e = emitter_.Plumb1(structured.where, "Identity",
                                         absl::StrCat(structured.path, "/output_", i),
                                         {Use(state.outputs[i], *body.place)}, {state.completion});
      state.outputs[i] = {e, body.place->loop, true, true};
    }
  }
  const std::vector<Value>& waits = state.outputs.empty() ? structured.inputs : state.outputs;
  state.waits.insert(state.waits.end(), waits.begin(), waits.end());
}

bool Expander::CanInline(const Node& structured, const Callee& callee, const ExpandedBody& body) {
  const Function* function = program_.FindFunction(callee.function.name);
  if (function == nullptr || stack_.contains(function)) return false;
  if (structured.kind() == OpKind::kCall &&
      (facts_.IsRecursive(*function) || structured.attrs.GetOr<bool>(kNoInlineAttr, false)))
    return false;
  if (body.depth >= options_.max_depth || StackIsNearlyFull()) return false;
  if (!facts_.Of(*function).inlinable) return false;
  // What is not small enough to be written out whole stays a call, and what it calls may be.
  const int64_t room = std::max<int64_t>(options_.max_inlined, 4 * facts_.program_size());
  return facts_.num_inlined() + facts_.ExpandedSize(*function) <= room;
}

CalleeUse Expander::Prepare(const Structured& structured, const ExpandedBody& body, int number) {
  CalleeUse use;
  use.structured = structured.node;
  use.number = number;
  use.callee = structured.callees[number];
  use.function = program_.FindFunction(use.callee.function.name);
  use.is_inlined = CanInline(*structured.node, use.callee, body);
  use.depth = body.depth + 1;
  use.path = structured.path;
  use.scope = body.scope;
  if (use.is_inlined || IsLoop(structured.node->kind())) {
    use.scope = static_cast<int>(scopes_.size());
    scopes_.push_back({body.scope, structured.node, number, use.function});
  }
  return use;
}

Expansion Expander::Expand(const CalleeUse& use, std::vector<Value> args,
                           const std::vector<DType>& results, const Place& place, NodeId entry) {
  if (use.is_inlined) return ExpandBody(use, std::move(args), place, entry);
  return CallFunction(use, args, results, place, entry);
}

Expansion Expander::ExpandBody(const CalleeUse& use, std::vector<Value> args, const Place& place,
                               NodeId entry) {
  const Function& function = *use.function;
  ExpandedBody body;
  body.function = &function;
  body.facts = &facts_.Of(function);
  body.fires_at_once = body.facts->has_references;
  body.place = &place;
  body.scope = use.scope;
  body.depth = use.depth;
  body.prefix = absl::StrCat(use.path, "/");
  body.entry = entry;
  body.states.resize(function.nodes.size());
  body.args = std::move(args);
  stack_.insert(&function);
  facts_.CountInlined(function);
  for (const NodeId id : body.facts->order) ExpandNode(body, function.node(id));
  stack_.erase(&function);
  Expansion expansion;
  for (const FunctionResult& result : function.results) {
    expansion.results.push_back(Read(body, result.value));
  }
  expansion.completion = std::move(body.completion);
  return expansion;
}

Expansion Expander::CallFunction(const CalleeUse& use, const std::vector<Value>& args,
                                 const std::vector<DType>& results, const Place& place,
                                 NodeId entry) {
  Controls controls;
  std::vector<Endpoint> inputs;
  for (const Value& arg : args) {
    inputs.push_back(Use(arg, place));
    controls.gated |= arg.gated;
    controls.ordered |= arg.ordered;
  }
  const bool finishes = facts_.Finishes(use.callee);
  if (finishes && entry >= 0 && !controls.ordered) {
    controls.nodes.push_back(entry);
    controls.gated = controls.ordered = true;
  }
  if (place.is_gated() && !controls.gated) controls.nodes.push_back(place.pivot);
  const NodeId id = EmitCall(
      use.callee, emitter_.UniqueName(absl::StrCat(use.path, "/", use.callee.attr)), inputs,
      results, std::move(controls.nodes), {use.structured, use.scope, true, use.number});
  Expansion expansion;
  for (size_t i = 0; i < results.size(); ++i) {
    expansion.results.push_back({{id, static_cast<int>(i)}, place.loop, true, controls.ordered});
  }
  if (finishes) expansion.completion.push_back(id);
  return expansion;
}

NodeId Expander::EmitCall(const Callee& callee, std::string name,
                          const std::vector<Endpoint>& inputs, const std::vector<DType>& results,
                          std::vector<NodeId> controls, NodeOrigin origin) {
  std::vector<DType> types;
  for (const Endpoint& input : inputs) types.push_back(emitter_.dtype(input));
  AttrMap attrs;
  attrs.Set("f", callee.function);
  attrs.Set("Tin", std::move(types));
  attrs.Set("Tout", results);
  const absl::string_view op =
      facts_.Finishes(callee) ? "StatefulPartitionedCall" : "PartitionedCall";
  const NodeId id = emitter_.PlumbNamed({origin.node, origin.scope}, op, std::move(name), inputs,
                                        std::move(controls), std::move(attrs));
  emitter_.SetOrigin(id, origin);
  return id;
}

}  // namespace gyre::lower

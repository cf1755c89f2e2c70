#include "support/races.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "ir/calls.h"
#include "ir/frames.h"

namespace gyre::test {
namespace {

bool IsCopyOrPrimitive(const Node& node) {
  return node.op_name == "Identity" || node.op_name == "IdentityN" || IsPrimitive(node.kind());
}

bool IsHandle(const Node& node, size_t input) {
  const NodeSignature::Slot& slot = node.signature.inputs[input];
  return slot.dtype == DType::kResource || slot.is_ref;
}

bool OnlyReads(const Node& node) {
  static const HashSet<std::string> kReads = {
      "ReadVariableOp",      "VariableShape",     "VarIsInitializedOp", "IsVariableInitialized",
      "ResourceGather",      "TensorArrayReadV3", "TensorArraySizeV3",  "TensorArrayGatherV3",
      "TensorArrayConcatV3", "StackCloseV2",      "QueueSizeV2"};
  return kReads.contains(node.op_name);
}

using Fed = HashSet<Endpoint>;

// "NODE" or "NODE:SLOT" of the main graph; nothing for a name that it lacks.
std::optional<Endpoint> ParseEndpoint(const Function& main, const std::string& text) {
  const size_t colon = text.find(':');
  const Node* node = main.FindNode(text.substr(0, colon));
  if (node == nullptr) return std::nullopt;
  int slot = 0;
  if (colon != std::string::npos && !absl::SimpleAtoi(text.substr(colon + 1), &slot))
    return std::nullopt;
  return Endpoint{node->id, slot};
}

bool MakesHandle(const Node& node) {
  return node.inputs.empty() && node.kind() != OpKind::kPlaceholder &&
         std::any_of(node.signature.outputs.begin(), node.signature.outputs.end(),
                     [](const auto& out) { return out.dtype == DType::kResource || out.is_ref; });
}

std::string ResourceName(const Node& node) {
  const std::string shared = node.attrs.GetOr<std::string>("shared_name", "");
  return shared.empty() ? node.name : absl::StrCat("shared ", shared);
}

// One side of a Switch: the value that decides (node, output), and the side.
using Side = std::tuple<NodeId, int, int>;

// On which sides of which Switches nodes stand: those that must have been taken where they run, in
// the same iteration of the loops around.
class Sides {
 public:
  Sides(const Function& function, const FrameTable& frames, const Fed& fed)
      : function_(function), frames_(frames), fed_(fed), of_node_(function.nodes.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Node& node : function.nodes) {
        Known now = Find(node);
        changed |= now != of_node_[node.id];
        of_node_[node.id] = std::move(now);
      }
    }
  }

  // Never both in the same iterations of the loops around both.
  bool AreOpposite(NodeId a, NodeId b) const { return AreOpposite(of_node_[a], of_node_[b]); }
  bool AreOpposite(NodeId a, Endpoint b) const { return AreOpposite(of_node_[a], Of(b)); }

 private:
  using Known = std::optional<std::set<Side>>;  // nullopt: nothing found yet, so anything may hold

  static bool AreOpposite(const Known& a, const Known& b) {
    return a && b && std::any_of(a->begin(), a->end(), [&](const Side& side) {
             const auto [node, slot, number] = side;
             return b->contains({node, slot, 1 - number});
           });
  }

  Known Of(Endpoint e) const {
    if (fed_.contains(e)) return std::set<Side>();
    const Node& node = function_.node(e.node);
    Known sides = of_node_[e.node];
    if (node.kind() != OpKind::kSwitch || !sides) return sides;
    Endpoint value = node.inputs[1];
    while (function_.node(value.node).op_name == "Identity" && !fed_.contains(value))
      value = function_.node(value.node).inputs[0];
    const auto& outputs = function_.node(value.node).signature.outputs;
    const bool is_ref =
        static_cast<size_t>(value.slot) >= outputs.size() || outputs[value.slot].is_ref;
    if (is_ref) value = {node.id, 0};  // two Switches may read two values of it
    sides->emplace(value.node, value.slot, e.slot);
    return sides;
  }

  Known Find(const Node& node) const {
    if (node.kind() == OpKind::kTransfer || node.kind() == OpKind::kControlTrigger)
      return std::set<Side>();  // they run in any case
    Known all = std::set<Side>();
    if (node.kind() == OpKind::kMerge) {
      all = std::nullopt;
      for (const Endpoint& e : node.inputs) {
        const Known sides = Of(e);
        if (!all) {
          all = sides;
        } else if (sides) {
          std::erase_if(*all, [&](const Side& side) { return !sides->contains(side); });
        }
      }
      return all;
    }
    const auto add = [&](const Known& sides) {
      if (!sides) {
        all = std::nullopt;
      } else if (all) {
        all->insert(sides->begin(), sides->end());
      }
    };
    for (const Endpoint& e : node.inputs) add(Of(e));
    for (const NodeId source : node.control_inputs) {
      const auto is_fed = [&](const Endpoint& e) { return e.node == source; };
      if (std::none_of(fed_.begin(), fed_.end(), is_fed)) add(of_node_[source]);
    }
    // What has been decided in an iteration holds for that one.
    if (all && (node.kind() == OpKind::kExit || node.kind() == OpKind::kNextIteration)) {
      std::erase_if(*all, [&](const Side& side) {
        return frames_.output_frame_of_node[std::get<0>(side)] == frames_.frame_of_node[node.id];
      });
    }
    return all;
  }

  const Function& function_;
  const FrameTable& frames_;
  const Fed& fed_;
  std::vector<Known> of_node_;
};

class Effects {
 public:
  // Of the nodes for which `needed` is true; `fetched` are among them.
  Effects(const Program& program, const Function& function, std::vector<bool> needed,
          std::vector<bool> fetched, Fed fed)
      : program_(program),
        function_(function),
        needed_(std::move(needed)),
        fetched_(std::move(fetched)),
        fed_(std::move(fed)),
        has_fed_(function.nodes.size()) {
    for (const Endpoint& e : fed_) has_fed_[e.node] = true;
    readers_.resize(function.nodes.size());
    for (const Node& node : function.nodes) {
      if (!needed_[node.id]) continue;
      for (const Endpoint& e : node.inputs) {
        if (!fed_.contains(e)) readers_[e.node].push_back(node.id);
      }
      for (const NodeId source : node.control_inputs) {
        if (!has_fed_[source]) readers_[source].push_back(node.id);
      }
    }
  }

  bool MayRace() {
    for (const Node& node : function_.nodes) {
      if (needed_[node.id]) AddEffect(node);
    }
    if (effects_.empty()) return false;
    auto frames = AnalyzeFrames(function_, {.nodes = &needed_, .fed = &fed_});
    if (!frames.ok()) return false;  // such a graph is refused, and has no effect
    frames_ = *std::move(frames);
    sides_.emplace(function_, frames_, fed_);
    for (size_t i = 0; i < effects_.size(); ++i) {
      for (size_t j = i; j < effects_.size(); ++j) {
        if (Conflict(effects_[i], effects_[j]) && !AreOrdered(effects_[i].node, effects_[j].node))
          return true;
      }
    }
    return false;
  }

 private:
  struct Effect {
    NodeId node;
    bool writes;
    HashSet<std::string> resources;
  };

  void AddEffect(const Node& node) {
    // What hands on a reference reads it where it is fetched, and an Identity for its readers.
    const bool may_read = fetched_[node.id] || node.op_name == "Identity";
    if (node.op == nullptr || (IsCopyOrPrimitive(node) && !may_read)) return;
    Effect effect{node.id, !OnlyReads(node) && !IsCopyOrPrimitive(node), {}};
    for (size_t i = 0; i < node.inputs.size() && i < node.signature.inputs.size(); ++i) {
      const Node& source = function_.node(node.inputs[i].node);
      const size_t slot = static_cast<size_t>(node.inputs[i].slot);
      const bool from_ref =
          slot < source.signature.outputs.size() && source.signature.outputs[slot].is_ref;
      if (!from_ref && (IsCopyOrPrimitive(node) || !IsHandle(node, i))) continue;
      FindResources(node.inputs[i].node, effect.resources);
    }
    // What takes the value of a reference reads it; what takes the reference, or calls a function
    // that makes the handle itself, may change it.
    bool takes_handle = AddCalled(node, effect.resources);
    for (size_t i = 0; i < node.signature.inputs.size(); ++i) takes_handle |= IsHandle(node, i);
    effect.writes &= takes_handle;
    if (!effect.resources.empty()) effects_.push_back(std::move(effect));
  }

  // What the functions that the node calls hold of their own; false if nothing.
  bool AddCalled(const Node& node, HashSet<std::string>& resources) const {
    HashSet<std::string> seen;
    std::vector<const Node*> work = {&node};
    const size_t before = resources.size();
    while (!work.empty()) {
      const Node* caller = work.back();
      work.pop_back();
      for (const Callee& callee : CalleesOf(program_, *caller)) {
        const Function* function = program_.FindFunction(callee.function.name);
        if (function == nullptr || !seen.insert(callee.function.name).second) continue;
        for (const Node& inner : function->nodes) {
          work.push_back(&inner);
          if (MakesHandle(inner)) resources.insert(ResourceName(inner));
        }
      }
    }
    return resources.size() > before;
  }

  void FindResources(NodeId from, HashSet<std::string>& resources) const {
    HashSet<NodeId> seen;
    std::vector<NodeId> work = {from};
    while (!work.empty()) {
      const Node& node = function_.node(work.back());
      work.pop_back();
      if (!seen.insert(node.id).second) continue;
      // A gradient's array is one with its source here, and what an op changes it hands on.
      const bool hands_on = IsCopyOrPrimitive(node) ||
                            absl::StartsWith(node.op_name, "TensorArrayGrad") ||
                            absl::StartsWith(node.op_name, "Assign");
      if (hands_on) {
        for (size_t i = 0; i < node.inputs.size(); ++i) work.push_back(node.inputs[i].node);
        continue;
      }
      resources.insert(ResourceName(node));
    }
  }

  static bool Conflict(const Effect& a, const Effect& b) {
    if (!a.writes && !b.writes) return false;
    return std::any_of(a.resources.begin(), a.resources.end(),
                       [&](const std::string& name) { return b.resources.contains(name); });
  }

  bool IsWithin(int frame, NodeId node) const {
    int f = frames_.frame_of_node[node];
    while (f > 0 && f != frame) f = frames_.frames[f].parent;
    return f == frame;
  }

  // A loop's end waits for what its body does in the iteration before, but for nothing that only a
  // body which need not run waits for.
  bool MayPass(int frame, NodeId from, NodeId to, int by_frame) const {
    if (by_frame >= 0) return true;
    if (!IsWithin(frame, from) || IsWithin(frame, to)) return false;
    const NodeId condition = frames_.frames[frame].loop_cond;
    return condition >= 0 && Leads(condition, from, -1);
  }

  // How edges have led to a node: into a later iteration of one loop, and through any
  // NextIteration.
  struct Way {
    NodeId node;
    bool is_later = false, is_next = false;
  };
  static size_t Index(const Way& way) {
    return 4 * static_cast<size_t>(way.node) + (way.is_later ? 2 : 0) + (way.is_next ? 1 : 0);
  }

  // A Merge waits for one of its inputs; for `from` only if all do that may be alive beside it. A
  // loop's waits for what enters in the first iteration, and for what is handed on in others. From
  // one iteration to the next all must, since `from` need not be alive in all that are between.
  bool Waits(const Node& merge, const Way& by, const Way& way, NodeId from, int by_frame,
             const std::vector<bool>& seen) const {
    const bool is_next = IsNext(by.node);
    const bool waits = std::all_of(merge.inputs.begin(), merge.inputs.end(), [&](Endpoint e) {
      if (IsNext(e.node) != is_next || seen[Index({e.node, by.is_later, by.is_next})]) return true;
      return by_frame < 0 && !way.is_next && sides_->AreOpposite(from, e);
    });
    return waits &&
           (is_next || IsWithin(frames_.frame_of_node[merge.id], from) || IsCarried(merge));
  }

  bool IsNext(NodeId id) const { return function_.node(id).kind() == OpKind::kNextIteration; }

  // No loop's variable, or one of which each iteration's value comes after that of the one before:
  // what leaves the loop comes after what has entered it.
  bool IsCarried(const Node& merge) const {
    if (!IsLoopMerge(merge)) return true;
    const auto [it, is_new] = carried_.emplace(merge.id, false);
    if (!is_new) return it->second;
    const bool is_carried = Leads(merge.id, merge.id, frames_.frame_of_node[merge.id]);
    return carried_[merge.id] = is_carried;
  }

  bool IsLoopMerge(const Node& node) const {
    return node.kind() == OpKind::kMerge && std::any_of(node.inputs.begin(), node.inputs.end(),
                                                        [&](Endpoint e) { return IsNext(e.node); });
  }

  // Whether edges lead from one node to the other: in the same iteration of the loops that are
  // around both or, if `by_frame` is one of these, in a later iteration of that. With `always`,
  // they do in all iterations of the loops that are around `to` alone, not just in the first.
  bool Leads(NodeId from, NodeId to, int by_frame, bool always = false) const {
    std::vector<bool> seen(4 * function_.nodes.size());
    std::vector<Way> work = {{from}};
    seen[Index(work[0])] = true;
    while (!work.empty()) {
      const Way way = work.back();
      work.pop_back();
      Way next = way;
      if (IsNext(way.node)) {
        const int frame = frames_.frame_of_node[way.node];
        if (!MayPass(frame, from, to, by_frame)) continue;
        next.is_later |= frame == by_frame;
        next.is_next = true;
      }
      for (const NodeId reader : readers_[way.node]) {
        next.node = reader;
        const Node& node = function_.node(reader);
        if (node.kind() == OpKind::kMerge && !Waits(node, way, next, from, by_frame, seen))
          continue;
        if (always && IsLoopMerge(node) && !IsWithin(frames_.frame_of_node[reader], from)) continue;
        if (reader == to && next.is_later == (by_frame >= 0)) return true;
        if (seen[Index(next)]) continue;
        seen[Index(next)] = true;
        work.push_back(next);
      }
    }
    return false;
  }

  // The loops around a node of which several iterations may be in flight.
  std::vector<int> WideLoops(NodeId node) const {
    std::vector<int> loops;
    for (int f = frames_.frame_of_node[node]; f > 0; f = frames_.frames[f].parent) {
      if (frames_.frames[f].parallel_iterations > 1) loops.push_back(f);
    }
    return loops;
  }

  // Each iteration's comes after that of the iteration before, in the loops around it, but for
  // those that are around `other`, too.
  bool IsChained(NodeId node, NodeId other) const {
    const std::vector<int> loops = WideLoops(node);
    return std::all_of(loops.begin(), loops.end(), [&](int f) {
      return (node != other && IsWithin(f, other)) || Leads(node, node, f);
    });
  }

  bool ComesBefore(NodeId a, NodeId b) const {
    if (!Leads(a, b, -1) || !IsChained(a, b)) return false;
    return IsChained(b, a) || Leads(a, b, -1, true);
  }

  bool AreOrdered(NodeId a, NodeId b) const {
    if (a == b) return IsChained(a, a);
    // In the same iteration of the loops around both …
    const bool forward = ComesBefore(a, b), backward = !forward && ComesBefore(b, a);
    if (!forward && !backward && !sides_->AreOpposite(a, b)) return false;
    // … and in different ones.
    const std::vector<int> loops = WideLoops(a);
    return std::all_of(loops.begin(), loops.end(), [&](int f) {
      if (!IsWithin(f, b)) return true;
      return (forward || Leads(a, b, f)) && (backward || Leads(b, a, f)) &&
             (forward || backward || (Leads(a, a, f) && Leads(b, b, f)));
    });
  }

  const Program& program_;
  const Function& function_;
  const std::vector<bool> needed_, fetched_;
  const Fed fed_;
  std::vector<bool> has_fed_;  // by node: one of its outputs is
  FrameTable frames_;
  std::optional<Sides> sides_;
  mutable HashMap<NodeId, bool> carried_;  // by Merge
  std::vector<std::vector<NodeId>> readers_;
  std::vector<Effect> effects_;
};

}  // namespace

bool MayRace(const Program& program, absl::Span<const std::string> roots,
             absl::Span<const std::string> fed) {
  const Function& main = program.main();
  std::vector<bool> needed(main.nodes.size()), fetched(main.nodes.size());
  std::vector<NodeId> work;
  const auto need = [&](NodeId id) {
    if (!needed[id]) work.push_back(id);
    needed[id] = true;
  };
  Fed cut;
  for (const std::string& name : fed) {
    if (const auto e = ParseEndpoint(main, name)) cut.insert(*e);
  }
  for (const std::string& root : roots) {
    const auto e = ParseEndpoint(main, root);
    const bool is_value = absl::StrContains(root, ':');
    if (!e.has_value() || (is_value && cut.contains(*e))) continue;
    need(e->node);
    fetched[e->node] = fetched[e->node] || is_value;
  }
  while (!work.empty()) {
    const Node& node = main.node(work.back());
    work.pop_back();
    for (const Endpoint& e : node.inputs) {
      if (!cut.contains(e)) need(e.node);
    }
    for (const NodeId source : node.control_inputs) need(source);
  }
  if (Effects(program, main, std::move(needed), std::move(fetched), std::move(cut)).MayRace())
    return true;
  return std::any_of(
      program.functions().begin(), program.functions().end(), [&](const auto& named) {
        const Function& function = *named.second;
        const size_t n = function.nodes.size();
        return Effects(program, function, std::vector<bool>(n, true), std::vector<bool>(n), {})
            .MayRace();
      });
}

MergeWatch::MergeWatch(const Function& main) : main_(main) {
  for (const Node& node : main.nodes) ids_.emplace(node.name, node.id);
}

absl::Status MergeWatch::OnFired(const Firing& firing) {
  const bool is_in_function =
      std::any_of(firing.around.begin(), firing.around.end(),
                  [](const Surrounding& place) { return !place.function.empty(); });
  const auto id = ids_.find(std::string(firing.node));
  if (firing.origin == nullptr || firing.is_plumbing || is_in_function || id == ids_.end())
    return absl::OkStatus();
  const TokenOrigin& origin = *firing.origin;
  std::vector<bool> live;
  for (const Tensor& output : firing.outputs) live.push_back(output.has_value());
  const std::lock_guard lock(mutex_);
  if (main_.node(id->second).kind() == OpKind::kExit)
    left_[{origin.outer_frame, origin.outer_iteration, id->second}] = live;
  fired_[{origin.frame, origin.iteration, id->second}] = {std::move(live), origin.outer_frame,
                                                          origin.outer_iteration};
  return absl::OkStatus();
}

void MergeWatch::OnEnded(const RunTotals&) {
  found_ = found_ || HasTwoLiveInputs();
  fired_.clear();
  left_.clear();
}

bool MergeWatch::HasTwoLiveInputs() const {
  return std::any_of(fired_.begin(), fired_.end(), [&](const auto& entry) {
    const auto& [frame, iteration, id] = entry.first;
    if (main_.node(id).kind() != OpKind::kMerge) return false;
    const std::vector<Endpoint>& inputs = main_.node(id).inputs;
    return std::count_if(inputs.begin(), inputs.end(),
                         [&](Endpoint e) { return IsLive(e, frame, iteration, entry.second); }) > 1;
  });
}

bool MergeWatch::IsLive(Endpoint e, uint64_t frame, int64_t iteration, const Fired& reader) const {
  const Node& source = main_.node(e.node);
  Place place = {frame, iteration, e.node};
  if (source.kind() == OpKind::kNextIteration) place = {frame, iteration - 1, e.node};
  if (source.kind() == OpKind::kEnter) {
    if (iteration > 0 && !source.attrs.GetOr<bool>("is_constant", false)) return false;
    place = {reader.outer_frame, reader.outer_iteration, e.node};
  }
  if (source.kind() == OpKind::kExit) {
    const auto left = left_.find(place);
    return left != left_.end() && left->second[0];
  }
  const auto made = fired_.find(place);
  if (made != fired_.end()) {
    const std::vector<bool>& live = made->second.live;
    return static_cast<size_t>(e.slot) < live.size() && live[e.slot];
  }
  // What is fed does not fire, nor does what is expanded, which lives if all that it takes does.
  if (source.kind() == OpKind::kPlaceholder) return true;
  return (IsStructured(source.kind()) || source.kind() == OpKind::kCall) &&
         std::all_of(source.inputs.begin(), source.inputs.end(),
                     [&](Endpoint input) { return IsLive(input, frame, iteration, reader); });
}

}  // namespace gyre::test

#include "exec/fused/alive.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/hash/hash.h"
#include "base/work.h"

namespace gyre::fused {
namespace {

// A larger set is taken for one that no other node has.
constexpr size_t kMaxAtoms = 256;

bool WaitsForOthers(const Node& node) {
  if (IsStructured(node.kind()) || node.kind() == OpKind::kTransfer || node.op == nullptr)
    return true;
  const Effect effect = node.op->traits.effect;
  return effect == Effect::kWrite || effect == Effect::kIo;
}

}  // namespace

AliveSets::AliveSets(const Lowered& lowered, const std::vector<NodeId>& order)
    : function_(lowered.function), set_of_(function_.nodes.size()), sets_(1) {
  HashSet<NodeId> fed;
  for (const Endpoint& feed : lowered.signature.feeds) fed.insert(feed.node);
  for (const NodeId id : order) waits_ |= WaitsForOthers(function_.node(id));
  for (const NodeId id : order) {
    SpendWork();
    if (!fed.contains(id)) set_of_[id] = Of(function_.node(id));
  }
}

// The lowest bit tells the two sorts apart; then, of a predicate, which side.
AliveSets::Atom AliveSets::SideOf(Endpoint predicate, int slot) {
  return static_cast<Atom>(predicate.node) << 32 | static_cast<Atom>(predicate.slot) << 16 |
         static_cast<Atom>(slot) << 1;
}
AliveSets::Atom AliveSets::WaitsFor(NodeId node) { return static_cast<Atom>(node) << 32 | 1; }
// Sides 0 and 1 of one predicate.
bool AliveSets::AreBothSides(Atom a, Atom b) { return (a & 1) == 0 && (a ^ b) == 2; }

AliveSets::Set AliveSets::Of(const Node& node) {
  Set set = 0;
  for (const NodeId control : node.control_inputs) set = Union(set, set_of_[control]);
  if (node.kind() == OpKind::kMerge) return Union(set, OfMerge(node));
  for (const Endpoint& e : node.inputs) set = Union(set, OfInput(e));
  // The values that a loop ends with are there when it has ended.
  if (node.kind() == OpKind::kExit || WaitsForOthers(node)) return With(set, WaitsFor(node.id));
  return set;
}

AliveSets::Set AliveSets::OfInput(Endpoint e) {
  const Node& node = function_.node(e.node);
  const bool is_switch = node.kind() == OpKind::kSwitch || node.kind() == OpKind::kSwitchN;
  return is_switch ? OfSwitch(node, e.slot) : set_of_[e.node];
}

// Copies of a predicate are one.
AliveSets::Set AliveSets::OfSwitch(const Node& node, int slot) {
  Endpoint predicate = node.inputs[1];
  const Node* of = &function_.node(predicate.node);
  while ((of->kind() == OpKind::kIdentity || of->kind() == OpKind::kLoopCond) &&
         of->control_inputs.empty()) {
    predicate = of->inputs[0];
    of = &function_.node(predicate.node);
  }
  return With(set_of_[node.id], SideOf(predicate, slot));
}

AliveSets::Set AliveSets::OfMerge(const Node& merge) {
  // Of a loop: alive in each iteration if the value comes in, and there with the others unless the
  // iteration before may wait.
  for (size_t i = 0; i < merge.inputs.size(); ++i) {
    if (function_.node(merge.inputs[i].node).kind() != OpKind::kNextIteration) continue;
    return merge.inputs.size() == 2 && !waits_ ? OfInput(merge.inputs[1 - i])
                                               : With(0, WaitsFor(merge.id));
  }
  // Of both sides of one predicate: alive as what they have in common.
  if (merge.inputs.size() == 2) {
    const Set of_first = OfInput(merge.inputs[0]), of_second = OfInput(merge.inputs[1]);
    const std::vector<Atom>&a = sets_[of_first], &b = sets_[of_second];
    std::vector<Atom> only_a, only_b, both;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    SpendWork(static_cast<int64_t>(a.size() + b.size()));
    if (only_a.size() == 1 && only_b.size() == 1 && AreBothSides(only_a[0], only_b[0]))
      return Intern(std::move(both));
  }
  return With(0, WaitsFor(merge.id));
}

AliveSets::Set AliveSets::With(Set set, Atom atom) {
  std::vector<Atom> atoms = sets_[set];
  const auto at = std::lower_bound(atoms.begin(), atoms.end(), atom);
  if (at != atoms.end() && *at == atom) return set;
  atoms.insert(at, atom);
  return Intern(std::move(atoms));
}

AliveSets::Set AliveSets::Union(Set a, Set b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  const auto [it, is_new] = unions_.emplace(uint64_t{std::min(a, b)} << 32 | std::max(a, b), 0);
  if (!is_new) return it->second;
  std::vector<Atom> atoms;
  std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                 std::back_inserter(atoms));
  SpendWork(static_cast<int64_t>(atoms.size()));
  return it->second = Intern(std::move(atoms));
}

// Of a set that is too large, the number is one that no other has.
AliveSets::Set AliveSets::Intern(std::vector<Atom> atoms) {
  if (atoms.empty()) return 0;
  const bool is_kept = atoms.size() <= kMaxAtoms;
  if (!is_kept) atoms = {WaitsFor(-1 - static_cast<NodeId>(sets_.size()))};
  std::vector<Set>& same = by_hash_[absl::HashOf(atoms)];
  for (const Set set : same)
    if (sets_[set] == atoms) return set;
  const auto set = static_cast<Set>(sets_.size());
  sets_.push_back(std::move(atoms));
  same.push_back(set);
  return set;
}

}  // namespace gyre::fused

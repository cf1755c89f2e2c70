// A region: the units that run in one place, in an order in which each finds what it reads.
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "passes/raise/emitter.h"

namespace gyre::raise {

// Writes the units of one region in an order in which each finds what it reads.
//
// What runs everywhere in the region is written node by node. The rest is gathered by the choice
// that it hangs on, and by what hangs together (Groups): each group becomes one If or Case, unless
// something in it needs what comes of it elsewhere. Then it is written in as many pieces as that
// takes.
class Region {
 public:
  Region(RaisingEmitter& emitter, RaisedScope& scope, ContextId around,
         const std::vector<Member>& members, const HashSet<Endpoint>& wanted)
      : emitter_(emitter),
        flow_(emitter.flow_),
        contexts_(emitter.contexts_),
        scope_(scope),
        around_(around),
        members_(members),
        wanted_(wanted) {}

  absl::Status Emit() {
    Gather();
    Connect();
    Group();
    std::vector<int> first;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (waiting_[i] == 0) first.push_back(static_cast<int>(i));
    }
    for (const int i : first) Ready(i);
    while (true) {
      GYRE_RETURN_IF_ERROR(EmitPlain());
      const int group = NextGroup();
      if (group < 0) break;
      GYRE_RETURN_IF_ERROR(EmitPiece(group));
    }
    if (num_emitted_ == members_.size()) return absl::OkStatus();
    for (size_t i = 0; i < members_.size(); ++i) {
      if (emitted_[i]) continue;
      const Node& node = flow_.function().node(flow_.unit(members_[i].unit).node);
      return absl::UnimplementedError(
          absl::StrCat("node ", node.name, " (", node.op_name, ") needs what only comes after it"));
    }
    return absl::OkStatus();
  }

 private:
  const Unit& UnitAt(int i) const { return flow_.unit(members_[i].unit); }
  bool IsPlain(int i) const { return group_of_[i] < 0; }
  // A join that the region sees: it comes out of its If.
  bool IsJoinHere(int i) const {
    return UnitAt(i).kind == Unit::Kind::kJoin && members_[i].context == around_;
  }
  // Whether an edge between the two is inside one piece of their group.
  bool IsInside(int from, int to) const {
    return group_of_[from] >= 0 && group_of_[from] == group_of_[to] && !IsJoinHere(from);
  }

  void Gather() {
    for (size_t i = 0; i < members_.size(); ++i) index_of_.emplace(members_[i].unit, i);
    readers_.resize(members_.size());
    waiting_.assign(members_.size(), 0);
    group_of_.assign(members_.size(), -1);
    emitted_.assign(members_.size(), false);
  }

  void AddEdge(int from_unit, int to) {
    const auto from = index_of_.find(from_unit);
    if (from == index_of_.end() || from->second == to) return;
    readers_[from->second].push_back(to);
    ++waiting_[to];
  }

  void AddRead(Endpoint value, int reader) {
    const int maker = flow_.Maker(value);
    if (maker < 0 || !index_of_.contains(maker)) return;
    AddEdge(maker, reader);
    value_readers_[value].push_back(reader);
  }

  void Connect() {
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      const Unit& unit = UnitAt(i);
      for (const Endpoint& value : unit.reads) AddRead(value, i);
      for (const int other : unit.after) AddEdge(other, i);
      if (members_[i].context != around_) {
        for (const Endpoint& predicate : PathTo(members_[i].context).predicates)
          AddRead(predicate, i);
      }
      if (unit.kind == Unit::Kind::kJoin) AddRead(flow_.Predicate(unit.symbol), i);
    }
    for (const Endpoint& value : wanted_) {
      const int maker = flow_.Maker(value);
      if (maker >= 0 && index_of_.contains(maker)) value_readers_.try_emplace(value);
    }
  }

  // The choices between the region and a context in it.
  struct Path {
    Choice first;
    std::vector<Endpoint> predicates;  // that units of the region make
  };

  // Each context in the region is looked at once: branches may nest deeply.
  const Path& PathTo(ContextId c) {
    std::vector<ContextId> unknown;
    for (; c != around_ && !paths_.contains(c); c = contexts_.parent(c)) unknown.push_back(c);
    Path path;
    if (c != around_) path = paths_.at(c);
    for (; !unknown.empty(); unknown.pop_back()) {
      const Choice choice = contexts_.choice(unknown.back());
      if (path.first.symbol < 0) path.first = choice;
      const Endpoint predicate = flow_.Predicate(choice.symbol);
      if (index_of_.contains(flow_.Maker(predicate))) path.predicates.push_back(predicate);
      c = unknown.back();
      paths_.emplace(c, path);
    }
    return paths_.at(c);
  }

  // What hangs together: Tarjan's union by parent, path halving.
  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(int a, int b) { parent_[Find(a)] = Find(b); }

  void Group() {
    parent_.resize(members_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    std::vector<SymbolId> symbol_of(members_.size(), -1);
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].context != around_) {
        symbol_of[i] = PathTo(members_[i].context).first.symbol;
      } else if (UnitAt(static_cast<int>(i)).kind == Unit::Kind::kJoin) {
        symbol_of[i] = UnitAt(static_cast<int>(i)).symbol;
      }
    }
    HashMap<std::pair<SymbolId, int64_t>, int> first_with;
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      if (symbol_of[i] < 0) continue;
      for (const int reader : readers_[i]) {
        if (symbol_of[reader] == symbol_of[i] && !IsJoinHere(i)) Unite(i, reader);
      }
      for (const auto& mark : UnitAt(i).marks) {
        if (mark.first != symbol_of[i]) continue;
        const auto [first, is_new] = first_with.try_emplace(mark, i);
        if (!is_new) Unite(i, first->second);
      }
    }
    HashMap<int, int> numbers;
    for (size_t n = 0; n < members_.size(); ++n) {
      const int i = static_cast<int>(n);
      if (symbol_of[i] < 0) continue;
      const auto [number, is_new] = numbers.try_emplace(Find(i), groups_.size());
      if (is_new) groups_.push_back({symbol_of[i], 0, {}});
      group_of_[i] = number->second;
      ++groups_[number->second].left;
    }
  }

  // All that `i` waits for is there, or will be in the same piece.
  void Ready(int first) {
    std::vector<int> work = {first};
    while (!work.empty()) {
      const int i = work.back();
      work.pop_back();
      if (IsPlain(i)) {
        plain_.push(i);
        continue;
      }
      groups_[group_of_[i]].ready.push_back(i);
      if (static_cast<size_t>(groups_[group_of_[i]].left) == groups_[group_of_[i]].ready.size())
        complete_.push(group_of_[i]);
      for (const int reader : readers_[i]) {
        if (IsInside(i, reader) && --waiting_[reader] == 0) work.push_back(reader);
      }
    }
  }

  void Emitted(int i) {
    emitted_[i] = true;
    ++num_emitted_;
    for (const int reader : readers_[i]) {
      if (!IsInside(i, reader) && --waiting_[reader] == 0) Ready(reader);
    }
  }

  absl::Status EmitPlain() {
    while (!plain_.empty()) {
      const int i = plain_.top();
      plain_.pop();
      GYRE_RETURN_IF_ERROR(emitter_.EmitUnit(scope_, members_[i].unit));
      Emitted(i);
    }
    return absl::OkStatus();
  }

  // A group that is there as a whole, or else one of which something is there; -1: none.
  int NextGroup() {
    while (!complete_.empty()) {
      const int group = complete_.top();
      complete_.pop();
      if (groups_[group].left > 0 &&
          static_cast<size_t>(groups_[group].left) == groups_[group].ready.size()) {
        return group;
      }
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (!groups_[g].ready.empty()) return static_cast<int>(g);
    }
    return -1;
  }

  absl::Status EmitPiece(int g) {
    std::vector<int> piece = std::move(groups_[g].ready);
    groups_[g].ready.clear();
    groups_[g].left -= static_cast<int>(piece.size());
    std::sort(piece.begin(), piece.end());
    const HashSet<int> inside(piece.begin(), piece.end());
    ChoicePiece choice{around_, groups_[g].symbol, {}, {}};
    for (const int i : piece) {
      const bool is_here = members_[i].context == around_;
      choice.members.push_back(members_[i]);
      choice.members.back().side = is_here ? -1 : PathTo(members_[i].context).first.value;
    }
    for (const auto& [value, readers] : value_readers_) {
      const int maker = index_of_.at(flow_.Maker(value));
      if (!inside.contains(maker)) continue;
      const bool leaves = std::any_of(readers.begin(), readers.end(), [&](int reader) {
        return !inside.contains(reader) || IsJoinHere(maker);
      });
      if (leaves || wanted_.contains(value)) choice.exports.push_back(value);
    }
    std::sort(choice.exports.begin(), choice.exports.end(), [](Endpoint a, Endpoint b) {
      return std::pair(a.node, a.slot) < std::pair(b.node, b.slot);
    });
    GYRE_RETURN_IF_ERROR(emitter_.EmitChoice(scope_, choice));
    for (const int i : piece) Emitted(i);
    return absl::OkStatus();
  }

  struct OneGroup {
    SymbolId symbol;
    int left;                // units that are not written yet …
    std::vector<int> ready;  // … and those of them that could be
  };

  RaisingEmitter& emitter_;
  Flow& flow_;
  Contexts& contexts_;
  RaisedScope& scope_;
  const ContextId around_;
  const std::vector<Member>& members_;
  const HashSet<Endpoint>& wanted_;
  HashMap<int, int> index_of_;  // by unit; all below are by index in members_
  std::vector<std::vector<int>> readers_;
  HashMap<Endpoint, std::vector<int>> value_readers_;
  std::unordered_map<ContextId, Path> paths_;
  std::vector<int> waiting_;
  std::vector<int> parent_;
  std::vector<int> group_of_;
  std::vector<OneGroup> groups_;
  std::vector<bool> emitted_;
  size_t num_emitted_ = 0;
  std::priority_queue<int, std::vector<int>, std::greater<>> plain_;
  std::priority_queue<int, std::vector<int>, std::greater<>> complete_;
};

absl::Status RaisingEmitter::EmitRegion(RaisedScope& scope, ContextId around,
                                        const std::vector<Member>& members,
                                        const HashSet<Endpoint>& wanted) {
  if (scope.depth > kMaxDepth) {  // written by recursion, which must not depend on data
    return absl::UnimplementedError(absl::StrCat("function ", scope.builder.name(),
                                                 " would stand in more than ", kMaxDepth,
                                                 " loops and branches"));
  }
  return Region(*this, scope, around, members, wanted).Emit();
}

}  // namespace gyre::raise

// Contexts: on which sides of which Switches something runs, as a set of choices.
//
// A graph of primitives has no branches, only deadness: a node runs where all its inputs are alive.
// A context is the set of choices (this predicate was true, that index was 2) that it takes. The
// order in which they were made is kept, outermost first: that is how branches nest. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash_map.h"

namespace gyre::raise {

using ContextId = int32_t;
using SymbolId = int32_t;

// Nothing has been chosen; never: choices that exclude each other.
inline constexpr ContextId kAlways = 0;
inline constexpr ContextId kNever = -1;

// Choices within each other that are followed: functions are written by recursion.
inline constexpr int kMaxDepth = 500;

// Predicate `symbol` chose `value`: the output slot of its Switches.
struct Choice {
  SymbolId symbol = -1;
  int value = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

class Contexts {
 public:
  Contexts() : nodes_(1) {}

  // A predicate with so many outcomes. A loop's own condition is the first choice of all that are
  // made in an iteration.
  SymbolId AddSymbol(int outcomes, bool is_loop);
  int outcomes(SymbolId symbol) const { return symbols_[symbol].outcomes; }
  bool is_loop(SymbolId symbol) const { return symbols_[symbol].is_loop; }

  ContextId parent(ContextId c) const { return nodes_[c].parent; }
  // How many choices it takes. Requirement: c is not kNever.
  int depth(ContextId c) const { return nodes_[c].depth; }
  // The last choice. Requirement: c is neither kAlways nor kNever.
  Choice choice(ContextId c) const { return nodes_[c].choice; }
  // All choices, outermost first.
  std::vector<Choice> Choices(ContextId c) const;
  std::optional<int> ValueOf(ContextId c, SymbolId symbol) const;

  // `c`, and one more choice.
  ContextId With(ContextId c, Choice choice);
  // Where both hold.
  ContextId And(ContextId a, ContextId b);
  // Where both hold, told from inside `around`: its choices come first.
  ContextId Within(ContextId around, ContextId c);
  // The choice of `c` that follows those of `around`. Requirement: c = Within(around, c) != around.
  Choice FirstAfter(ContextId around, ContextId c) const;
  // Where at least one holds, if that is a context: the sides of one choice make up what is around
  // it.
  std::optional<ContextId> Or(std::vector<ContextId> any);
  // What all of them hold in common. Requirement: there is one at least.
  ContextId Common(const std::vector<ContextId>& all);
  // `c` without what it says of one predicate.
  ContextId Without(ContextId c, SymbolId symbol);
  // Every choice of `a` is one of `b` too.
  bool Implies(ContextId b, ContextId a) const;

  // Steps taken so far: what tests hold against the size of the graph.
  int64_t work() const { return work_; }

 private:
  struct Node {
    ContextId parent = kNever;
    Choice choice;
    int depth = 0;
  };
  struct Symbol {
    int outcomes = 2;
    bool is_loop = false;
  };

  ContextId Child(ContextId parent, Choice choice);

  std::vector<Node> nodes_;  // [0]: kAlways
  std::vector<Symbol> symbols_;
  HashMap<std::pair<ContextId, std::pair<SymbolId, int>>, ContextId> children_;
  mutable int64_t work_ = 0;
};

}  // namespace gyre::raise

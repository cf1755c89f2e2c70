// AliveSets: which nodes of a lowered function are alive, and have their inputs, at the same times.
//
// An op that may fail, and is alive, fails whatever its readers do: it may be one node with a
// reader only if that reader is never dead, or late, where the op is not. What that hangs on is
// written as a set: the sides of Switches that a node is behind, and what it waits for that may
// take for ever (loops, calls, effects, what other devices send). Nodes with equal sets are alive
// at the same times and wait for the same.
//
// Of one function, which must outlive it; immutable.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash_map.h"
#include "lower/lower.h"

namespace gyre::fused {

class AliveSets {
 public:
  // `order`: the nodes that matter, producers first.
  AliveSets(const Lowered& lowered, const std::vector<NodeId>& order);

  bool AreAliveTogether(NodeId a, NodeId b) const { return set_of_[a] == set_of_[b]; }

 private:
  // A set is a number: equal sets have equal ones. 0 is the empty set.
  using Set = uint32_t;
  // What a set holds: a side of a predicate, or a node that others wait for.
  using Atom = uint64_t;

  Set Of(const Node& node);
  Set OfMerge(const Node& merge);
  Set OfSwitch(const Node& node, int slot);
  Set OfInput(Endpoint e);
  Set With(Set set, Atom atom);
  Set Union(Set a, Set b);
  Set Intern(std::vector<Atom> atoms);
  static Atom SideOf(Endpoint predicate, int slot);
  static Atom WaitsFor(NodeId node);
  static bool AreBothSides(Atom a, Atom b);

  const Function& function_;
  bool waits_ = false;                   // some node waits for what may take for ever
  std::vector<Set> set_of_;              // by node; of a Switch: without its sides
  std::vector<std::vector<Atom>> sets_;  // sorted
  HashMap<uint64_t, std::vector<Set>> by_hash_;
  HashMap<uint64_t, Set> unions_;  // by two sets
};

}  // namespace gyre::fused

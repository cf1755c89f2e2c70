// Effects: what nodes and functions do beside computing values, found through the calls they make.
//
// A structured node does what its functions do, whatever its own op says. Computed once, for one
// program, which must outlive it; immutable afterwards.
#pragma once

#include <set>
#include <string>

#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre {

// A set of things that a node or a call of a function may do.
class EffectSet {
 public:
  enum Bit : unsigned {
    kRead = 1,      // reads what others may write
    kWrite = 2,     // changes a resource
    kTalk = 4,      // prints, asserts, calls the host
    kAllocate = 8,  // makes a fresh resource
    kRandom = 16,   // draws random numbers
    kUnclear = 32,  // what nobody knows, what has primitives or references, what cannot be called
    kByName = 64,   // what it does hangs on the node's name or on the calls around it
    kMore = 128,    // of functions: runs nodes that none of its results needs
  };
  constexpr EffectSet() = default;
  constexpr EffectSet(unsigned bits) : bits_(bits) {}  // NOLINT: a set of bits is a number

  bool Has(unsigned any) const { return (bits_ & any) != 0; }
  // Equal inputs give equal outputs: may be dropped, shared and moved.
  bool IsPure() const { return (bits_ & ~kMore) == 0; }
  // May be left out where nobody needs its outputs.
  bool MayDrop() const { return !Has(kWrite | kTalk | kUnclear); }
  // Reads, changes or tells something.
  bool TouchesState() const { return Has(kRead | kWrite | kTalk); }
  // A call of it has something to finish beside its results.
  bool HasToFinish() const { return Has(kRead | kWrite | kTalk | kMore); }
  // Comes in an order with others, which edges say.
  bool IsOrdered() const { return Has(kRead | kWrite | kTalk | kUnclear); }

  EffectSet& operator|=(EffectSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend bool operator==(EffectSet, EffectSet) = default;

 private:
  unsigned bits_ = 0;
};

// Of a node by itself, not of what it calls.
EffectSet OwnEffects(const Node& node);

class Effects {
 public:
  explicit Effects(const Program& program);

  const Program& program() const { return program_; }
  // Of running the node once: its own, or those of the functions that it calls.
  EffectSet Of(const Node& node) const;
  // Of a call of the function.
  EffectSet OfFunction(absl::string_view name) const;
  bool IsRecursive(absl::string_view function) const;

 private:
  const Program& program_;
  std::set<std::string, std::less<>> recursive_;
  HashMap<std::string, EffectSet> of_;  // by function
};

// Takes or makes references.
bool HasReferences(const Node& node);
// Hands deadness on, joins frames, or comes out of nowhere: Switch … LoopCond, ControlTrigger,
// sends and receives.
bool MovesDeadness(const Node& node);
// Holds primitives, or what else moves deadness, or types that are not known yet: passes leave such
// a function as it is.
bool IsOpaque(const Function& function);

}  // namespace gyre

// Programs that differ from a sound one in a single attribute or edge, each by its number, so that
// all of them can be tried, or a sample. Immutable after construction; any thread.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre::test {

struct StructureMutant {
  std::string change;                      // what was done, for people
  std::shared_ptr<const Program> program;  // null: no node can have such attributes or inputs
};

class StructureMutator {
 public:
  explicit StructureMutator(std::shared_ptr<const Program> program);

  // Number of mutants: up to some eight for each attribute, and for each input one for every output
  // of its type that is in the same function.
  size_t size() const { return mutations_.size(); }
  // Requirement: i < size().
  StructureMutant Make(size_t i) const;
  // The number of one of them, each kind of change equally likely. Requirement: size() > 0.
  size_t Draw(std::mt19937_64& random) const;

 private:
  enum class Change {
    kAttr,           // attribute `place` takes its `choice`th other value
    kRewire,         // input `place` comes from output `choice` instead
    kSwap,           // inputs `place` and `choice` change places
    kDropControl,    // control input `place` goes
    kAddControl,     // the node waits for node `choice`, too
    kEnterFrame,     // an Enter like node `choice` stands before input `place`
    kEnterConstant,  // … that is constant, where that one is not, or the reverse
    kExitFrame,      // an Exit stands before input `place`
  };
  struct Mutation {
    const Function* function;
    NodeId node;
    Change change;
    int place = 0;
    int choice = 0;
  };

  void ListAttrs(const Function& function, const Node& node);
  void ListEdges(const Function& function, const Node& node);
  std::vector<AttrValue> OtherValues(const Function& function, const AttrMap::Entry& attr) const;
  // Applies `mutation` to its function; says what it did.
  std::string Apply(const Mutation& mutation, Function& function) const;
  static void InsertBefore(Function& function, NodeId node, int input, Node inserted);

  const std::shared_ptr<const Program> program_;
  // Outputs by type, in each function.
  HashMap<const Function*, HashMap<DType, std::vector<Endpoint>>> outputs_;
  std::vector<Mutation> mutations_;  // in order of `change`
  std::vector<size_t> starts_;       // where each kind begins that there is
};

}  // namespace gyre::test

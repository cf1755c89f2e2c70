// GraphDefs damaged from a seed: bytes, fields, nodes, attributes, functions. One owner, one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gyre::test {

class GraphMutator {
 public:
  // Damages `graphs`, of which there is at least one: GraphDefs in binary form.
  GraphMutator(uint64_t seed, std::vector<std::string> graphs);
  ~GraphMutator();

  struct Mutant {
    size_t original;  // which of the graphs it was
    std::string bytes;
  };
  Mutant Next();

 private:
  class Impl;
  size_t num_graphs_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gyre::test

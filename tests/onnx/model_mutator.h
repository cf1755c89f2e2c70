// ONNX models damaged from a seed: bytes, edges, attributes, tensors, types, opsets, nesting. One
// owner, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gyre::onnx {

class ModelMutator {
 public:
  // Damages `models`, of which there is at least one: ModelProtos.
  ModelMutator(uint64_t seed, std::vector<std::string> models);
  ~ModelMutator();

  struct Mutant {
    size_t original;  // which of the models it was
    std::string bytes;
  };
  Mutant Next();
  // Any bytes with some of them changed.
  std::string Damage(std::string bytes);

 private:
  class Impl;
  size_t num_models_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gyre::onnx

// Calls of ops that nobody in their right mind would make, from a seed: attributes at their bounds,
// ranks 0 to 8, empty and unlike shapes, extreme numbers, objects of the wrong kind. Not
// thread-safe; one OpFuzzer per thread.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/hash_map.h"
#include "ops/evaluate.h"

namespace gyre::testing {

// One call and what came of it.
struct FuzzedCall {
  Node node;
  std::vector<Tensor> inputs;
  absl::StatusOr<std::vector<Tensor>> outputs;
  std::string ToString() const;
};

class OpFuzzer {
 public:
  explicit OpFuzzer(uint64_t seed);

  // Makes a call of `op`: one out of thin air, or one that succeeded earlier with a change or two,
  // so that ops which ask for much are reached behind their checks as well. INVALID_ARGUMENT when
  // the attributes it drew are against the schema.
  absl::StatusOr<FuzzedCall> Call(const OpDef& op);

  Tensor RandomTensor(DType dtype);
  AttrMap RandomAttrs(const OpDef& op);

 private:
  template <typename T>
  const T& Pick(const std::vector<T>& choices) {
    return choices[std::uniform_int_distribution<size_t>(0, choices.size() - 1)(random_)];
  }
  bool Chance(double p) { return std::bernoulli_distribution(p)(random_); }

  // A call that succeeded.
  struct Model {
    AttrMap attrs;
    std::vector<Tensor> inputs;
  };

  absl::Status FillIn(FuzzedCall& call);
  void Run(FuzzedCall& call);
  void Mutate(const OpDef& op, Model& model);
  Tensor MutatedTensor(const Tensor& tensor);
  AttrValue RandomAttr(const AttrDef& def);
  DType RandomType(const AttrDef& def);
  PartialShape RandomPartialShape();
  Shape RandomShape();
  Tensor RandomObject(DType dtype);
  Tensor RandomRef(DType dtype);
  void MakeObjects();

  std::mt19937_64 random_;
  int64_t calls_ = 0;
  Shape base_shape_;  // shared by most inputs of one call, so that some calls make sense
  ResourceStore resources_;
  std::vector<Tensor> resources_pool_, variants_pool_, handles_pool_;
  HashMap<std::string, std::vector<Model>> models_;  // by op
};

}  // namespace gyre::testing

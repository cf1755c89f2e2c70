// Adjoints: the gradients that have been found so far, by the tensor that they belong to.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash_map.h"
#include "base/internal_export.h"
#include "eager/step.h"

namespace gyre::eager {

class Context;

// nullopt: ones of the shape of the tensor, made where they are needed.
using MaybeOnes = std::optional<Adjoint>;

// Ones where there are none yet.
GYRE_INTERNAL_EXPORT Adjoint Given(Context& context, const EagerTensor& tensor, MaybeOnes adjoint);
// The whole. INVALID_ARGUMENT, thrown, of rows of a tensor of unknown shape.
GYRE_INTERNAL_EXPORT EagerTensor Dense(Context& context, const Adjoint& adjoint);

// Of one gradient; one thread.
class GYRE_INTERNAL_EXPORT Adjoints {
 public:
  explicit Adjoints(Context& context) : context_(context) {}

  // One more summand.
  void Add(const EagerTensor& tensor, MaybeOnes adjoint) {
    found_[tensor.id].emplace_back(tensor, std::move(adjoint));
  }
  bool Has(const EagerTensor& tensor) const { return found_.contains(tensor.id); }
  // The sum, which is removed. Requirement: there is one.
  MaybeOnes Take(const EagerTensor& tensor);
  // The sum, or what has no value.
  Adjoint Total(const EagerTensor& tensor) const;

 private:
  using Summands = std::vector<std::pair<EagerTensor, MaybeOnes>>;
  Adjoint Sum(const Summands& summands) const;

  Context& context_;
  HashMap<uint64_t, Summands> found_;
};

}  // namespace gyre::eager

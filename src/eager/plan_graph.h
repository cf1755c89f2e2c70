// PlanGraph: the graph that a plan is made in, and what it takes from outside.
#pragma once

#include <memory>
#include <vector>

#include "base/internal_export.h"
#include "eager/tensor.h"
#include "gyre/graph.h"

namespace gyre::eager {

// Current on its thread as long as it lives. A Host may have its own, for steps of its own.
class GYRE_INTERNAL_EXPORT PlanGraph {
 public:
  virtual ~PlanGraph() = default;
  virtual Graph& graph() = 0;
  // What stands for a tensor of dtype resource: one node, whoever asks.
  virtual Value HandleOf(const EagerTensor& handle) = 0;

  // Tensors of outside that are to be fed, with what stands for them.
  struct Capture {
    EagerTensor outer;
    Value inner;
  };
  virtual std::vector<Capture> Captures() const = 0;
  // Of variables that the graph names.
  virtual std::vector<EagerTensor> Handles() const = 0;
};

GYRE_INTERNAL_EXPORT std::unique_ptr<PlanGraph> NewPlanGraph();

}  // namespace gyre::eager

// Step: what a tape has recorded: an op that ran, or something that says by itself how to go back
// over it; with what went in and came out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "base/internal_export.h"
#include "eager/eager_op.h"
#include "eager/tensor.h"
#include "gyre/value.h"

namespace gyre::eager {

class PlanGraph;

// The gradient of a tensor: of its shape, or rows of a tensor of which all others are zero.
struct Adjoint {
  EagerTensor values;   // no value: nothing flows
  EagerTensor indices;  // of rows; no value: the gradient is dense
  EagerTensor shape;    // of the whole, where there are rows; may have no value

  bool has_value() const { return values.has_value(); }
  bool is_sparse() const { return indices.has_value(); }
};

// Something other than an op, in a tape: a function with a gradient of its own, a call, a gradient.
// Immutable.
class GYRE_INTERNAL_EXPORT OwnStep {
 public:
  virtual ~OwnStep() = default;
  // Whether Backward gives its adjoints. If not, a plan holds it, and differentiates it.
  virtual bool GoesBack() const = 0;
  // Of each input. `dys`: of each output.
  virtual std::vector<Adjoint> Backward(absl::Span<const EagerTensor> inputs,
                                        absl::Span<const EagerTensor> outputs,
                                        std::vector<Adjoint> dys) const = 0;

  // ---- In plans
  // The same in two steps that are replayed alike, as long as either lives.
  struct Key {
    const void* what = nullptr;
    int64_t number = 0;
  };
  virtual Key key() const = 0;
  // The same without values: what a plan keeps.
  virtual std::shared_ptr<const OwnStep> WithoutMemory() const = 0;
  // Values that it has computed on the way, which a plan is fed.
  virtual absl::Span<const EagerTensor> memory() const { return {}; }
  // Adds it to the plan's graph, and to `known` the values that memory() is of. Returns the
  // outputs.
  virtual std::vector<Value> Replay(PlanGraph& graph, const std::vector<Value>& inputs,
                                    std::vector<Value>& known) const = 0;
};

// Shared by the tapes that saw it. Immutable.
struct Step {
  std::shared_ptr<const EagerOp> op;  // null: `own`
  std::shared_ptr<const OwnStep> own;
  EagerTensors inputs, outputs;

  bool GoesBack() const { return own != nullptr && own->GoesBack(); }
};

}  // namespace gyre::eager

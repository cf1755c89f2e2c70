// GradientContext: what a gradient rule sees of one node, and how it answers.
//
// A rule is a function `void Rule(GradientContext& g)`. It writes, as ordinary nodes, what each
// input of the node contributes to the gradient, given the gradient of the node's outputs:
//
//   void SinGradient(GradientContext& g) { g.Add(0, g.grad() * Conj(g.op("Cos", {g.input(0)}))); }
//
// The gradient of a real function of a complex z is d/dx + i d/dy, conjugated as in TensorFlow: a
// holomorphic f has grad_in = grad_out * conj(f'(z)). What rules write is differentiated by rules
// again.
//
// Asking for a forward value (`input`, `output`) is what makes a loop save it: a rule asks for as
// little as it can, and for shapes by `input_dims`. Mistakes are remembered, as by ExprBuilder.
//
// Adjoints are tensors of the value's type and shape; of a variable's handle, of the variable's; of
// a tensor list, a list of adjoints, as long as the list was; of a TensorArray's flow, a list of
// adjoints in which what is missing is zero.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "ir/expr.h"
#include "ir/shape_context.h"

namespace gyre {

class GYRE_EXPORT GradientContext {
 public:
  virtual ~GradientContext() = default;

  // The node that is differentiated, and what is known of its values before it runs.
  virtual const Node& node() const = 0;
  virtual const ValueInfo& input_info(int i) const = 0;
  virtual const ValueInfo& output_info(int i) const = 0;
  int num_inputs() const { return static_cast<int>(node().signature.inputs.size()); }
  int num_outputs() const { return node().num_outputs(); }
  DType input_dtype(int i) const { return node().signature.inputs[i].dtype; }
  DType output_dtype(int i) const { return node().signature.outputs[i].dtype; }
  // Of a variable's handle: the variable's.
  PartialShape input_shape(int i) const { return ShapeBehind(input_dtype(i), input_info(i)); }
  PartialShape output_shape(int i) const { return ShapeBehind(output_dtype(i), output_info(i)); }
  // Null when it is not known.
  const Tensor* input_constant(int i) const {
    return input_info(i).constant.has_value() ? &input_info(i).constant : nullptr;
  }
  // An attribute; `fallback` when it is absent or of another kind.
  template <typename T>
  T attr(absl::string_view name, T fallback) const {
    return node().attrs.GetOr<T>(name, std::move(fallback));
  }

  // Forward values.
  virtual Expr input(int i) = 0;
  virtual Expr output(int i) = 0;
  // Their shapes, int32 vectors: constants where they are known.
  virtual Expr input_dims(int i) = 0;
  virtual Expr output_dims(int i) = 0;

  // Whether anything that is differentiated depends on output i; and its gradient, dense; zeros
  // where nothing does.
  virtual bool has_grad(int i) const = 0;
  virtual Expr grad(int i = 0) = 0;

  // A gradient of input i that is zero.
  virtual Expr zero(int i) = 0;

  // Whether the gradient of input i is of any use.
  virtual bool wants(int i) const = 0;
  // Adds to the gradient of input i a tensor of its shape.
  virtual void Add(int i, Expr contribution) = 0;
  // The same for a tensor of the shape of an output to which input i was broadcast: summed over the
  // axes along which it was.
  void AddBroadcast(int i, Expr contribution, int output = 0);
  // The same for a gradient that is zero but in some rows of axis 0: `indices` (int32 or int64, a
  // vector) says in which, `values` has a row for each. Rows of equal index add up.
  virtual void AddSlices(int i, Expr values, Expr indices) = 0;

  // Gradients of lists and flows, which are changed rather than added to: the sum so far (a list of
  // zeros at first), and what it becomes.
  virtual Expr TakeList(int i) = 0;
  virtual void PutList(int i, Expr list) = 0;

  // Writing nodes.
  virtual ExprBuilder& builder() = 0;
  Expr op(absl::string_view name, const std::vector<Expr>& inputs, AttrMap attrs = {}) {
    return builder().Op(name, inputs, std::move(attrs));
  }
  void Fail(absl::Status status) { builder().Fail(std::move(status)); }

 private:
  static PartialShape ShapeBehind(DType dtype, const ValueInfo& info) {
    if (dtype != DType::kResource) return info.shape;
    return info.handle ? info.handle->shape : PartialShape();
  }
};

namespace gradient {

// Shared rules, to be named in a registration.
GYRE_EXPORT void PassOn(
    GradientContext&);  // of grad(i) to input i, for each i: the node hands its inputs on

// Pieces for rules.

// How a tensor was broadcast: axes of the result that it lacks, and those in which its size is 1.
struct Stretch {
  std::vector<int32_t> added;
  std::vector<int32_t> widened;
};
// How a tensor of shape `from` is broadcast to `to` together with `others`; nullopt where that
// shows only at run time. Axes whose size may be 1 count as widened: to sum over them changes
// nothing.
GYRE_EXPORT std::optional<Stretch> StretchOf(const PartialShape& from, const PartialShape& to,
                                             absl::Span<const PartialShape> others);
// Adds to the gradient of input i the sum of `contribution` over the axes along which the input was
// stretched to its shape; nullopt: to be found out at run time.
GYRE_EXPORT void AddStretched(GradientContext& g, int i, Expr contribution,
                              const std::optional<Stretch>& stretch);

// `x`, of shape `shape`, followed by dimensions of size 1 until it has `fewer` dimensions less than
// input i.
GYRE_EXPORT Expr AppendOnes(GradientContext& g, Expr x, const PartialShape& shape, int i,
                            int fewer = 0);
// As a constant shape for Reshape, if that says it all: one dimension at most is not known.
GYRE_EXPORT std::optional<std::vector<int32_t>> AsReshape(const PartialShape& shape);

}  // namespace gradient
}  // namespace gyre

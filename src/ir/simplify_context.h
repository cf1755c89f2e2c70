// SimplifyContext: what a simplification rule sees of one node, and how it answers.
//
// A rule is a function `void Rule(SimplifyContext& s)`. Where an output equals a value that is
// there anyway, bit for bit, in every run, it says so; it may also edit the node for the better:
//
//   void InvertSimplify(SimplifyContext& s) { simplify::Involution(s); }   // twice is not at all
//
// It is asked for nodes without effects and without control inputs. A value may be left out of what
// an output waits for only if IsFree says so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"

namespace gyre {

class SimplifyContext {
 public:
  virtual ~SimplifyContext() = default;

  // The node, with the inputs that it has now.
  virtual const Node& node() const = 0;
  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  DType output_dtype(int i) const { return node().signature.outputs[i].dtype; }
  Endpoint input(int i) const { return InputOf(node(), i); }
  // The value of input i, if it is a constant; null otherwise.
  const Tensor* constant(int i) const { return ConstantOf(node(), i); }
  // The node that makes input i, if it is a pure `op` that may be looked through; null otherwise.
  virtual const Node* Maker(int i, absl::string_view op) const = 0;
  // As input and constant, of a node that Maker gave.
  virtual Endpoint InputOf(const Node& node, int i) const = 0;
  virtual const Tensor* ConstantOf(const Node& node, int i) const = 0;

  virtual DType TypeOf(Endpoint e) const = 0;
  virtual PartialShape ShapeOf(Endpoint e) const = 0;
  // Nothing that e waits for comes in an order with others: it may be left out.
  virtual bool IsFree(Endpoint e) const = 0;
  // Elementwise with x, a value of `shape` leaves x's shape as it is.
  bool KeepsShape(Endpoint x, const Shape& shape) const;
  // Both are known to have one shape.
  bool HaveSameShape(Endpoint a, Endpoint b) const;

  // The output equals `e`.
  virtual void Replace(int output, Endpoint e) = 0;
  // The node, to be changed.
  virtual Node& Edit() = 0;
};

namespace simplify {

// Shared rules, to be named in a registration.
void PassOn(SimplifyContext& s);        // output i is input i
void Involution(SimplifyContext& s);    // the node of a node of this op is not there at all
void IfShapeStays(SimplifyContext& s);  // output 0 is input 0 where input 1 is the shape it has

// Pieces for rules.

// Output 0 is the other of two inputs if input i is all `neutral` (0, -0.0 or 1). Whether it was.
bool IfNeutral(SimplifyContext& s, int i, double neutral);
// The integers of a scalar or vector; nullopt for null and for other types.
std::optional<std::vector<int64_t>> Integers(const Tensor* tensor);

}  // namespace simplify
}  // namespace gyre

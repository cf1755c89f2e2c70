// Gradients of values, of any order, through all control flow.
//
//   gyre::Value loss = …;                                  // loops, branches, calls, recursion
//   std::vector<gyre::Value> g = gyre::gradients({loss}, {w, b});
//   gyre::Value gg = gyre::gradients({g[0]}, {w})[0];      // and again
//
// May be called wherever values are made, also within the bodies of loops and branches. A stack
// (op::StackV2) that a gradient leads through becomes a list, and its handle that of an empty stack
// for whatever is added afterwards. Thread rules are those of the graph.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/core/options.h"
#include "gyre/state.h"
#include "gyre/value.h"

namespace gyre {

// What a gradient is taken by: a value, or a variable, which stands for what is read of it.
class GYRE_EXPORT Source {
 public:
  Source(const Value& value) : value_(value) {}
  Source(const Variable& variable) : value_(variable.handle()) {}
  const Value& value() const { return value_; }

 private:
  Value value_;
};

// What becomes of a gradient where nothing that is differentiated depends on the source.
enum class Unconnected {
  kError,    // INVALID_ARGUMENT, with the reason
  kNothing,  // a Value without a value
  kZero,     // zeros of the source's shape
};

struct GradientOptions {
  // One per y, of its dtype and shape: what is differentiated is the sum of y * grad_y. Empty:
  // ones.
  std::vector<Value> grad_ys;
  Unconnected unconnected = Unconnected::kError;
  // Values through which nothing flows back.
  std::vector<Value> stops;
  // What loops keep for it that do not say so themselves (LoopOptions::memory).
  MemoryPolicy memory;
  // What names of its nodes begin with.
  std::string prefix = "gradients/";
};

// The gradient of the sum of all elements of all ys by each x, dense, of the shape of x.
// UNIMPLEMENTED, with the op, where one is in the way that cannot be differentiated.
GYRE_EXPORT std::vector<Value> gradients(
    const std::vector<Value>& ys, const std::vector<Source>& xs,
    const GradientOptions& options = {},
    std::source_location where = std::source_location::current());

// A gradient that may be rows of a tensor of which all others are zero: those of a gather, which
// stay rows through loops, branches and calls. Equal indices may come more than once: their rows
// add up.
struct GYRE_EXPORT SparseGradient {
  Value values;   // dense: the gradient; sparse: [n, …], rows
  Value indices;  // sparse: [n], int32 or int64; without a value where the gradient is dense
  Value shape;    // sparse: that of the whole, an int32 vector
  bool is_sparse() const { return indices.has_value(); }
  // The whole, of the shape of x.
  Value dense() const;
};

// As gradients, but what is sparse stays that.
GYRE_EXPORT std::vector<SparseGradient> sparse_gradients(
    const std::vector<Value>& ys, const std::vector<Source>& xs,
    const GradientOptions& options = {},
    std::source_location where = std::source_location::current());

// f(xs), whose gradient by each x is what `gradient(xs, dys)` returns for it, of its dtype and
// shape (a Value without a value: zeros); dys are those of the results of f. The gradient may be
// differentiated again. Both are traced at once, and may use nothing of outside: it is handed in
// as one of xs. INVALID_ARGUMENT, with the place, where that does not hold, or values do not fit.
using CustomFunction = std::function<std::vector<Value>(const std::vector<Value>& xs)>;
using CustomGradient =
    std::function<std::vector<Value>(const std::vector<Value>& xs, const std::vector<Value>& dys)>;
GYRE_EXPORT std::vector<Value> custom_gradient(
    const std::vector<Value>& xs, const CustomFunction& f, const CustomGradient& gradient,
    std::source_location where = std::source_location::current());
GYRE_EXPORT Value custom_gradient(const Value& x, const std::function<Value(Value)>& f,
                                  const std::function<Value(Value x, Value dy)>& gradient,
                                  std::source_location where = std::source_location::current());

// The derivative of y along `direction`, of the shape of x: the Jacobian of y by x times it. (Found
// by reverse mode twice, since a vector-Jacobian product is linear in its vector.)
GYRE_EXPORT Value jvp(const Value& y, const Source& x, const Value& direction,
                      std::source_location where = std::source_location::current());

// The derivatives of all elements of f(x) by all elements of x: of shape f(x).shape + x.shape. The
// function is computed once per element of its result.
GYRE_EXPORT Value jacobian(const std::function<Value(Value)>& f, const Operand& x);
// The second derivatives of f(x), a scalar: of shape x.shape + x.shape.
GYRE_EXPORT Value hessian(const std::function<Value(Value)>& f, const Operand& x);

// Gradients, scaled down together where their common norm, the root of the sum of all squares,
// exceeds `most`; and that norm. Source: Pascanu et al., On the difficulty of training recurrent
// neural networks (2013).
struct Clipped {
  std::vector<Value> values;
  Value norm;
};
GYRE_EXPORT Clipped clip_by_global_norm(const std::vector<Value>& values, const Operand& most);

}  // namespace gyre

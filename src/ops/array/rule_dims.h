// RuleDims: the shape of one of a node's values, for gradient rules that need parts of it.
//
// What is known is written as constants. A value; good as long as its context.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ir/gradient_context.h"

namespace gyre {

class RuleDims {
 public:
  static constexpr int kEnd = std::numeric_limits<int>::max();

  static RuleDims OfInput(GradientContext& g, int i) { return RuleDims(g, i, true); }
  static RuleDims OfOutput(GradientContext& g, int i) { return RuleDims(g, i, false); }

  // All dimensions, or those in [begin, end), where negative numbers count from the end, as in
  // Python: an int32 vector.
  Expr All() const { return is_input_ ? g_.input_dims(i_) : g_.output_dims(i_); }
  Expr Part(int begin, int end = kEnd) const;
  // The same multiplied: an int32 scalar.
  Expr Product(int begin, int end = kEnd) const;
  Expr Size() const { return Product(0); }
  // The same as numbers; nothing when one of them is not known.
  std::optional<std::vector<int32_t>> Known(int begin, int end = kEnd) const;

 private:
  RuleDims(GradientContext& g, int i, bool is_input) : g_(g), i_(i), is_input_(is_input) {}

  GradientContext& g_;
  const int i_;
  const bool is_input_;
};

// Vectors made of scalars, and of vectors.
Expr VectorOf(const std::vector<Expr>& scalars);
Expr Joined(std::vector<Expr> vectors);

// The numbers 0, 1, … below `n`, an int32 scalar.
Expr CountTo(Expr n);

// The sum of all elements.
Expr SumAll(Expr x);

// Indices as int32 or int64, which all ops take.
Expr WideIndices(Expr indices);

// The integers in input i, and the one that is all of it, when they are known.
std::optional<Dims> KnownIntegers(const GradientContext& g, int i);
std::optional<int64_t> KnownInteger(const GradientContext& g, int i);

}  // namespace gyre

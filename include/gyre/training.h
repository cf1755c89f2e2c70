// Optimizers: Sgd and Adam, which change variables so that a loss becomes smaller.
//
//   gyre::Variable w("w", …), b("b", …);
//   gyre::Adam adam({.learning_rate = 1e-3});
//   gyre::Operation step = adam.minimize(loss, {w, b});
//   session.initialize();
//   while (…) session.eval({}, feeds, {step});
//
// A step may be made wherever values are made: once, to be run again and again, as above; or in the
// body of a loop, which then trains within one run:
//
//   gyre::for_range(1000, [&](gyre::Value i) { adam.minimize(loss_of(batch(i)), {w, b}); });
//
// What an optimizer remembers of a variable (its "slots") and the number of steps are Variables
// too, made in the main graph with the first step that needs them, wherever that stands:
// "w/momentum"; "w/adam_m" and "w/adam_v"; "sgd/iterations", "adam/iterations". So a checkpoint of
// all variables has all that it takes to go on.
//
// First values of weights: glorot_uniform({inputs, outputs}), he_normal, variance_scaling, … of
// gyre/functions.h.
//
// Thread rules are those of the graph. Copies of an optimizer share its slots. One optimizer is for
// one graph.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/gradients.h"
#include "gyre/state.h"
#include "gyre/value.h"

namespace gyre {

// How far a step goes: a number; a Value, the same at all steps; a Variable, read at each step; or
// a schedule: a function from the number of steps taken before (an int64 scalar) to the rate.
// Rates are real scalars of any type.
class GYRE_EXPORT LearningRate {
 public:
  using Schedule = std::function<Value(Value)>;

  template <internal::Number T>
  LearningRate(T rate, std::source_location where = std::source_location::current())
      : LearningRate(Operand(rate, where)) {}
  LearningRate(Value rate, std::source_location where = std::source_location::current())
      : LearningRate(Operand(std::move(rate), where)) {}
  LearningRate(const Variable& rate, std::source_location where = std::source_location::current())
      : schedule_([rate, where](const Value&) { return rate.read(where); }),
        constant_(0, where),
        where_(where) {}
  template <std::invocable<Value> F>
  LearningRate(F schedule, std::source_location where = std::source_location::current())
      : schedule_(std::move(schedule)), constant_(0, where), where_(where) {}

  // The rate after so many steps, where nodes are being added now. INVALID_ARGUMENT if it is no
  // real scalar.
  Operand At(const Value& iterations) const;
  const std::source_location& where() const { return where_; }

 private:
  explicit LearningRate(Operand rate) : constant_(rate), where_(rate.where()) {}

  Schedule schedule_;  // empty: the constant counts
  Operand constant_;
  std::source_location where_;
};

namespace internal {
class OptimizerState;
}

// What Sgd and Adam have in common.
class GYRE_EXPORT Optimizer {
 public:
  // A step down the gradient of the loss (the sum of its elements, if it is no scalar) by these
  // variables. Throws as gradients and apply; not connected: INVALID_ARGUMENT with the variable.
  Operation minimize(const Value& loss, const std::vector<Variable>& variables,
                     const GradientOptions& options = {},
                     std::source_location where = std::source_location::current()) const;

  // A step with these gradients, one per variable, each of its variable's dtype and shape: what
  // minimize does with the gradients that it finds, for when something is to be done to them first:
  //   adam.apply(clip_by_global_norm(gradients({loss}, {w, b}), 1.0f).values, {w, b});
  // The operation is done when all variables have been changed. Each run of it counts as one
  // iteration, so variables that are trained by steps of their own need optimizers of their own.
  // INVALID_ARGUMENT: another number of gradients than of variables, a variable given twice, a
  // gradient without a value or of another dtype or shape, a variable of a dtype that is not
  // trained (below).
  Operation apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables,
                  std::source_location where = std::source_location::current()) const;

  // How many steps have been made: an int64 scalar. FAILED_PRECONDITION before the first minimize
  // or apply.
  const Variable& iterations(std::source_location where = std::source_location::current()) const;

 protected:
  explicit Optimizer(std::shared_ptr<internal::OptimizerState> state) : state_(std::move(state)) {}
  ~Optimizer() = default;
  Optimizer(const Optimizer&) = default;
  Optimizer& operator=(const Optimizer&) = default;

 private:
  std::shared_ptr<internal::OptimizerState> state_;
};

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;    // at least 0; 0: none, and no slots
  bool nesterov = false;  // only with momentum
};

// Stochastic gradient descent, of variables of any floating or complex dtype. With gradient g and
// rate r:
//   without momentum   w := w - r g
//   with momentum µ    a := µ a + g      w := w - r a
//   with nesterov      a := µ a + g      w := w - r (g + µ a)
// Sources: Polyak, Some methods of speeding up the convergence of iteration methods (1964);
// Sutskever et al., On the importance of initialization and momentum in deep learning (2013). As in
// PyTorch and TensorFlow, a is a sum of gradients, so a change of rate takes effect at once.
class GYRE_EXPORT Sgd : public Optimizer {
 public:
  // INVALID_ARGUMENT for a momentum that is negative or not finite, and nesterov without one.
  explicit Sgd(const SgdOptions& options = {},
               std::source_location where = std::source_location::current());
};

struct AdamOptions {
  LearningRate learning_rate = 1e-3;
  double beta1 = 0.9;     // how much of the mean of gradients stays at each step: in [0, 1)
  double beta2 = 0.999;   // of the mean of their squares
  double epsilon = 1e-8;  // at least 0
};

// Adam, of variables of float32 and float64 (a 16-bit type has no 0.999 and no 1e-8: train a
// float32 variable, and cast what is read of it). At step t = 1, 2, … with gradient g and rate r:
//   m := β1 m + (1 - β1) g
//   v := β2 v + (1 - β2) g²
//   w := w - r (m / (1 - β1^t)) / (√(v / (1 - β2^t)) + ε)
// Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1. (β^t and
// the root of 1 - β2^t that ε is multiplied by are computed in double, all else in the variable's
// type: the same to the bit as Python's gyre.optimizers.Adam. TensorFlow uses the ε̂ of the paper's
// section 2 instead.)
class GYRE_EXPORT Adam : public Optimizer {
 public:
  // INVALID_ARGUMENT for a beta outside of [0, 1), or an epsilon that is negative or not finite.
  explicit Adam(const AdamOptions& options = {},
                std::source_location where = std::source_location::current());
};

}  // namespace gyre

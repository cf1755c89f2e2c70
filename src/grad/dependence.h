// Dependence: which values a derivative can flow between, within nodes and through functions.
//
// A value depends on another if a change of the one may change the other smoothly: by ops that have
// gradient rules, through values that have derivatives. Found for whole functions by going round
// until nothing changes, so loops and recursion are no special case. Immutable; the program must
// outlive it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gyre::grad {

// Numbers with a fraction, lists and optionals (variants), and handles, which stand for variables.
bool HasDerivative(DType dtype);

class Dependence {
 public:
  explicit Dependence(const Program& program);

  // What of the node's outputs depends on the marked inputs, and the other way round.
  std::vector<bool> Outputs(const Node& node, const std::vector<bool>& inputs) const;
  std::vector<bool> Inputs(const Node& node, const std::vector<bool>& outputs) const;

  // By result, then argument, of a function.
  using Matrix = std::vector<std::vector<bool>>;
  const Matrix& OfFunction(const std::string& name) const;
  // Whether output o of a structured node depends on input i: result[o][i]. Of a loop: after any
  // number of iterations.
  Matrix OfStructured(const Node& node) const;

 private:
  // Some of a function's arguments, as bits; empty: none.
  using ArgSet = std::vector<bool>;
  void FindOfFunctions();
  std::vector<ArgSet> ArgsOfOutputs(const Node& node,
                                    const std::vector<const ArgSet*>& inputs) const;
  // What is known of the functions that it calls; whether that says more than `matrix` did.
  bool Update(const Function& function, Matrix& matrix) const;

  const Program& program_;
  std::map<std::string, Matrix> of_;
};

// Per node and output of `function`: what depends on the marked endpoints, or what the marked ones
// depend on.
using Marks = std::vector<std::vector<bool>>;
Marks NoMarks(const Function& function);
// Adds to `marks` all that depends on what is marked; what `stops` marks depends on nothing.
void MarkDependents(const Function& function, const Dependence& dependence, const Marks& stops,
                    Marks& marks);
// Adds all that the marked values depend on.
void MarkSources(const Function& function, const Dependence& dependence, Marks& marks);

}  // namespace gyre::grad

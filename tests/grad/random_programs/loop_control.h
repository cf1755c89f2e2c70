// LoopControl: what decides how often a loop of a random program runs. Each ends after a few
// iterations.
#pragma once

#include <functional>
#include <vector>

#include "grad/random_programs/expressions.h"

namespace gyre::testing {

struct LoopControl {
  // Its own variables, the loop's first ones.
  std::vector<Id> inits;
  // Written in the loop's condition and body; `vars` are the loop's. Good as long as the controls.
  std::function<Id(const std::vector<Id>& vars)> goes_on;
  std::function<std::vector<Id>(const std::vector<Id>& vars)> next;
};

class LoopControls {
 public:
  LoopControls(TreeWriter& tree, Expressions& values)
      : tree_(tree), values_(values), dice_(tree.dice()) {}

  LoopControl Any() { return dice_.Chance(0.6) ? DataDependent() : Other(); }
  // By values that are computed from others: a norm, a count, how long a list or tensor is.
  LoopControl DataDependent();

 private:
  LoopControl Other();
  LoopControl Count(Id limit);
  LoopControl Norm();
  LoopControl Growth();
  LoopControl Drain();
  LoopControl Rows(Id limit);
  LoopControl Flag(Id limit);
  LoopControl Both(const LoopControl& a, const LoopControl& b);
  Id DataCount();
  Id Less(Id a, Id b) { return tree_.Op("Less", {a, b}, Type::kBool); }
  Id And(Id a, Id b) { return tree_.Op("LogicalAnd", {a, b}, Type::kBool); }

  TreeWriter& tree_;
  Expressions& values_;
  Dice& dice_;
};

}  // namespace gyre::testing

// SavedValues: how the gradient of a loop's body comes by the forward values that it needs.
//
// Invariants and constants are there anyway. A counter that goes up by the same in every iteration
// is counted down again. What is cheap is computed again from the others. A value that an iteration
// hands to the next is what the next iteration had as argument. The rest is saved in lists, which
// the forward loop pushes to and the backward loop pops from.
#pragma once

#include <string>
#include <vector>

#include "base/hash_map.h"
#include "ir/expr.h"
#include "ir/shape_inference.h"

namespace gyre::grad {

// A counter: variable `var` becomes itself and `step`, an invariant or a constant, in each
// iteration.
struct Counter {
  int var;
  Endpoint step;
  bool subtracts = false;
};

class SavedValues {
 public:
  // `body`: of variables that begin at argument `first_arg`; result i is that of variable i.
  // `needed`: its endpoints that the gradient asks for.
  SavedValues(const Function& body, int first_arg, const FunctionShapes& shapes,
              const std::vector<Endpoint>& needed);

  // Those that are saved in lists.
  const std::vector<Endpoint>& listed() const { return listed_; }
  // Counters that are counted down.
  const std::vector<Counter>& counters() const { return counters_used_; }
  // Variables whose value behind the iteration is carried from the iteration behind.
  const std::vector<int>& carried() const { return carried_; }
  // Variables that have to be there as they are.
  const std::vector<int>& invariants() const { return invariants_used_; }

  Endpoint Arg(int var) const { return {body_.arg_nodes[first_arg_ + var], 0}; }

  // What an iteration of the backward loop knows.
  struct Given {
    std::vector<Expr> listed;    // popped
    std::vector<Expr> counters;  // behind the iteration
    std::vector<Expr> carried;
    std::vector<Expr> invariants;
  };
  // Writes the values of `needed` in the backward loop's body. `before`: to what the counters have
  // been before the iteration, by counter.
  std::vector<Expr> Write(const std::vector<Endpoint>& needed, const Given& given,
                          ExprBuilder& builder, std::vector<Expr>& before) const;

 private:
  class Writer;
  using Set = HashSet<Endpoint>;

  void FindCounters();
  void ChooseListed(const std::vector<Endpoint>& needed);
  void CarryResults();
  void FindUses(const std::vector<Endpoint>& needed);
  int VarOfArg(Endpoint e) const;  // -1: not an argument
  int VarOfResult(
      Endpoint e) const;  // a variable that has the value behind the iteration; -1: none
  bool IsFree(Endpoint e) const;
  bool IsCheap(const Node& node) const;
  bool IsAvailable(Endpoint e, const Set& listed, HashMap<Endpoint, bool>& known) const;
  int CounterOf(int var) const;

  const Function& body_;
  const int first_arg_;
  const FunctionShapes& shapes_;
  HashMap<Endpoint, int> args_;
  HashMap<Endpoint, int> results_;
  std::vector<bool> invariant_;
  std::vector<Counter> counters_;
  std::vector<Counter> counters_used_;
  std::vector<Endpoint> listed_;
  std::vector<int> carried_;
  std::vector<int> invariants_used_;
};

}  // namespace gyre::grad

// # Lesson 1: if
//
// A program is built as a graph first and run afterwards, as often as wanted. This one has a
// conditional: which of its two branches runs is decided by the numbers that are fed.
//
//     $ build/release/bin/lessons/01_if
#include <cmath>
#include <tuple>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Value;

int main() {
  // A `GraphScope` makes a graph current: what is written from here on adds to it. `x` stands for a
  // number that every run is given anew.
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value x = gyre::placeholder(gyre::DType::kDouble, gyre::PartialShape::Scalar());

  // `cond` takes a predicate and two lambdas. Each is called once, now, and says what its branch
  // consists of. When the graph runs, only one of them does: the logarithm of a negative number is
  // never taken, and nothing in that branch could fail or print.
  const Value y = gyre::cond(x > 0, [&] { return gyre::log(x); }, [&] { return x * x - 1; });

  // A session runs what has been built. Everything that `y` needs is computed, nothing else.
  gyre::GraphSession session(graph);
  const auto run = [&](double at) { return session.eval(y, {{x, at}}).scalar<double>(); };
  lesson::Expect("y at 2", run(2), std::log(2.0), 1e-15);
  lesson::Expect("y at -3", run(-3), 8);

  // Branches may return several values, in a `std::tuple`, a `std::pair` or a struct of your own;
  // both must return the same types. There are `switch_case`, for one of many branches by number,
  // and `case_`, for the first whose condition holds.
  const auto [smaller, larger] = gyre::cond(
      x < 1, [&] { return std::tuple(x, Value(1.0)); }, [&] { return std::tuple(Value(1.0), x); });
  const auto sorted = session.eval({smaller, larger}, {{x, -3.0}});
  lesson::Expect("the smaller of -3 and 1", sorted[0].scalar<double>(), -3);
  lesson::Expect("the larger", sorted[1].scalar<double>(), 1);
  return lesson::Result();
}

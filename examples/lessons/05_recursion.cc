// # Lesson 5: recursion
//
// A function of the graph may call itself. How deep it goes shows when it runs.
//
//     $ build/release/bin/lessons/05_recursion
#include <cmath>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::DType;
using gyre::PartialShape;
using gyre::Value;

int main() {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const gyre::TensorSpec integer = {DType::kInt32, PartialShape::Scalar()};
  const gyre::TensorSpec number = {DType::kDouble, PartialShape::Scalar()};

  // The body of a function that calls itself can only be written when its types are known: it is
  // declared first and defined afterwards. `cond` ends the recursion, since it runs one branch
  // only.
  auto fib = gyre::declare<Value(Value)>("fib", {integer}, {integer});
  fib.define([&](Value n) {
    return gyre::cond(n < 2, [&] { return n; }, [&] { return fib(n - 1) + fib(n - 2); });
  });
  gyre::GraphSession session(graph);
  lesson::Expect("fib(20)", session.eval(fib(20)).scalar<int32_t>(), 6765);

  // x to the power of n, in about log2(n) calls.
  auto power = gyre::declare<Value(Value, Value)>("power", {number, integer}, {number});
  power.define([&](Value x, Value n) {
    return gyre::cond(
        gyre::equal(n, 0), [] { return Value(1.0); },
        [&] {
          const Value root = power(x * x, n / 2);
          return gyre::cond(gyre::equal(n % 2, 1), [&] { return root * x; }, [&] { return root; });
        });
  });
  const Value x = gyre::placeholder(DType::kDouble, PartialShape::Scalar());
  const Value y = power(x, 13);
  const gyre::FeedList feeds = {{x, 1.1}};
  lesson::Expect("1.1^13", session.eval(y, feeds).scalar<double>(), std::pow(1.1, 13), 1e-14);

  // Recursive functions have gradients, too: functions that call themselves in turn.
  lesson::Expect("its derivative",
                 session.eval(gyre::gradients({y}, {x})[0], feeds).scalar<double>(),
                 13 * std::pow(1.1, 12), 1e-13);

  // Depth costs memory, never the stack of the process.
  auto depth = gyre::declare<Value(Value)>("depth", {integer}, {integer});
  depth.define([&](Value n) {
    return gyre::cond(gyre::equal(n, 0), [&] { return n; }, [&] { return depth(n - 1) + 1; });
  });
  lesson::Expect("how deep it went", session.eval(depth(100000)).scalar<int32_t>(), 100000);
  return lesson::Result();
}

// # Lesson 4: the gradient of a while
//
// A loop that multiplies x with itself n times computes x to the power of n. Its derivative is
// n x^(n-1), whatever n turns out to be when the graph runs.
//
//     $ build/release/bin/lessons/04_gradient_of_while
#include <cmath>
#include <tuple>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Value;

int main() {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value x = gyre::placeholder(gyre::DType::kDouble, gyre::PartialShape::Scalar());
  const Value n = gyre::placeholder(gyre::DType::kInt32, gyre::PartialShape::Scalar());
  const auto [i, power] =
      gyre::while_loop([&](Value i, Value) { return i < n; },
                       [&](Value i, Value y) { return std::tuple(i + 1, y * x); }, 0, 1.0);

  // `gradients` adds to the graph what computes the derivative: here another loop, which goes the
  // way of the first one back. What the way back needs of each iteration, the first loop keeps.
  // Being part of the graph, the result can be differentiated again.
  const Value slope = gyre::gradients({power}, {x})[0];
  const Value curvature = gyre::gradients({slope}, {x})[0];

  gyre::GraphSession session(graph);
  const gyre::FeedList feeds = {{x, 1.5}, {n, 6}};
  lesson::Expect("x^6 at 1.5", session.eval(power, feeds).scalar<double>(), std::pow(1.5, 6),
                 1e-13);
  lesson::Expect("its derivative", session.eval(slope, feeds).scalar<double>(),
                 6 * std::pow(1.5, 5), 1e-13);
  lesson::Expect("its second derivative", session.eval(curvature, feeds).scalar<double>(),
                 30 * std::pow(1.5, 4), 1e-12);

  // Long loops need not keep everything: with `LoopOptions::memory`, a
  // `MemoryPolicy::Recompute(10)` keeps the state of every tenth iteration and runs the rest again,
  // `Checkpoint(1000000)` makes do with so many bytes however long the loop gets.
  const Value y = gyre::for_range(n, [](Value, Value y) { return gyre::sin(y); }, x,
                                  {.memory = gyre::MemoryPolicy::Recompute(10)});
  const Value dy = gyre::gradients({y}, {x})[0];
  double at = 0.5, want = 1;
  for (int k = 0; k < 100; ++k) {
    want *= std::cos(at);
    at = std::sin(at);
  }
  lesson::Expect("derivative of sin(sin(...)), a hundred times, at 0.5",
                 session.eval(dy, {{x, 0.5}, {n, 100}}).scalar<double>(), want, 1e-13);
  return lesson::Result();
}

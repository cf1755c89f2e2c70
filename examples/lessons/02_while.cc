// # Lesson 2: while
//
// Take a number; halve it if it is even, else triple it and add one. Collatz asked whether that
// always ends at 1. How long it takes shows only on the way: the number of iterations is part of
// the result.
//
//     $ build/release/bin/lessons/02_while
#include <algorithm>
#include <cstdint>
#include <tuple>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Value;

// The same in C++, to compare with.
struct Walk {
  int64_t steps = 0;
  int64_t peak = 0;
};
static Walk Collatz(int64_t n) {
  Walk walk{0, n};
  for (; n != 1; ++walk.steps) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    walk.peak = std::max(walk.peak, n);
  }
  return walk;
}

int main() {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value start = gyre::placeholder(gyre::DType::kInt64, gyre::PartialShape::Scalar());

  // `while_loop` takes a condition, a body and what the state is at first: here three numbers,
  // which both lambdas are handed one by one. The body returns the next state. A conditional within
  // the body runs one branch in each iteration.
  const auto [n, steps, peak] = gyre::while_loop(
      [](Value n, Value, Value) { return gyre::not_equal(n, 1); },
      [](Value n, Value steps, Value peak) {
        const Value next =
            gyre::cond(gyre::equal(n % 2, 0), [&] { return n / 2; }, [&] { return n * 3 + 1; });
        return std::tuple(next, steps + 1, gyre::maximum(peak, next));
      },
      start, int64_t{0}, start);

  gyre::GraphSession session(graph);
  const auto results = session.eval({steps, peak}, {{start, 27}});
  lesson::Expect("steps from 27", results[0].scalar<int64_t>(), Collatz(27).steps);
  lesson::Expect("highest number on the way", results[1].scalar<int64_t>(), Collatz(27).peak);

  // No iteration at all is an ordinary case: the state stays what it was.
  lesson::Expect("steps from 1", session.eval(steps, {{start, 1}}).scalar<int64_t>(), 0);
  return lesson::Result();
}

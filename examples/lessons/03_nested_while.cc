// # Lesson 3: a while within a while
//
// How many primes are there below n? One loop goes through the numbers; another, within its body,
// looks for a divisor and stops at the first. Each of its instances runs as long as it has to.
//
//     $ build/release/bin/lessons/03_nested_while
#include <string>
#include <tuple>
#include <vector>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::Value;

// The same in C++, with a sieve.
static int PrimesBelow(int n) {
  std::vector<bool> is_composite(n);
  int count = 0;
  for (int i = 2; i < n; ++i) {
    if (is_composite[i]) continue;
    ++count;
    for (int j = 2 * i; j < n; j += i) is_composite[j] = true;
  }
  return count;
}

int main() {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  const Value n = gyre::placeholder(gyre::DType::kInt32, gyre::PartialShape::Scalar());

  // A body may use whatever was made around it, at any depth: `candidate` in the inner loop, `n` in
  // the outer one. What is used from outside is handed to the loop once, not in every iteration.
  const auto smallest_divisor = [](Value candidate) {
    return gyre::while_loop(
        [&](Value d) { return d * d <= candidate && gyre::not_equal(candidate % d, 0); },
        [](Value d) { return d + 1; }, 2);
  };
  const auto [next, count] =
      gyre::while_loop([&](Value candidate, Value) { return candidate < n; },
                       [&](Value candidate, Value count) {
                         const Value d = smallest_divisor(candidate);
                         const Value is_prime = gyre::cast(d * d > candidate, gyre::DType::kInt32);
                         return std::tuple(candidate + 1, count + is_prime);
                       },
                       2, 0);

  // Iterations of the outer loop overlap: while one still looks for a divisor, the next begins. The
  // result does not depend on it.
  gyre::GraphSession session(graph);
  for (const int limit : {10, 1000}) {
    const std::string what = "primes below " + std::to_string(limit);
    lesson::Expect(what.c_str(), session.eval(count, {{n, limit}}).scalar<int32_t>(),
                   PrimesBelow(limit));
  }
  return lesson::Result();
}

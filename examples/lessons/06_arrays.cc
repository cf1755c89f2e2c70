// # Lesson 6: arrays
//
// A `List` holds tensors of one type. It is a value: what "changes" it gives another list, so that
// a loop can carry one from iteration to iteration like a number. Where nobody looks at the old
// list any more, nothing is copied.
//
//     $ build/release/bin/lessons/06_arrays
#include <cmath>

#include "gyre/gyre.h"
#include "lesson.h"

using gyre::DType;
using gyre::List;
using gyre::PartialShape;
using gyre::Value;

int main() {
  gyre::Graph graph;
  gyre::GraphScope in(graph);
  gyre::GraphSession session(graph);

  // Catalan's numbers, each made of all before it: the outer loop appends to a list, the inner one
  // reads the elements that are there.
  const List first = List::empty(DType::kInt64, PartialShape::Scalar()).push_back(int64_t{1});
  const List catalan = gyre::for_range(
      gyre::Range(1, 15),
      [](Value n, List numbers) {
        const Value next = gyre::for_range(
            n, [&](Value i, Value sum) { return sum + numbers[i] * numbers[n - 1 - i]; },
            Value(int64_t{0}));
        return numbers.push_back(next);
      },
      first);
  const gyre::Tensor numbers = session.eval(catalan.stack());
  double want = 1;  // C(n+1) = C(n) (4n + 2) / (n + 2)
  for (int n = 0; n < 14; ++n) want = want * (4 * n + 2) / (n + 2);
  lesson::Expect("how many", numbers.num_elements(), 15);
  lesson::Expect("the last one", numbers.values<int64_t>()[14], want);

  // A list that was reserved has its length from the beginning; elements are set in any order. Here
  // a sieve: a loop within a loop writes to one list.
  const int limit = 50;
  const List marks = gyre::for_range(
      gyre::Range(2, limit),
      [&](Value i, List marks) {
        return gyre::for_range(
            gyre::Range(i * 2, limit, i), [](Value j, List marks) { return marks.set(j, 1.0); },
            marks);
      },
      List::reserve(limit, DType::kDouble, PartialShape::Scalar()));
  lesson::Expect("primes below 50",
                 limit - 2 - session.eval(gyre::reduce_sum(marks.stack())).scalar<double>(), 15);

  // Gradients pass through lists: what is read at i flows back to what was written at i.
  const Value x = gyre::placeholder(DType::kDouble, {-1});
  const List squares = gyre::for_range(
      gyre::dim_of(x, 0), [&](Value i, List list) { return list.push_back(x[i] * x[i] * x[i]); },
      List::empty(DType::kDouble, PartialShape::Scalar()));
  const Value slope = gyre::gradients({gyre::reduce_sum(squares.stack())}, {x})[0];
  const gyre::Tensor result = session.eval(slope, {{x, {1, 2, 3}}});
  lesson::Expect("derivative of the sum of cubes at 3", result.values<double>()[2], 27);
  return lesson::Result();
}

// What the lessons share: each prints its results and compares them with what was computed in
// another way; `return lesson::Result();` tells the shell whether all agreed. One thread.
#pragma once

#include <cmath>
#include <cstdio>

namespace lesson {

inline int wrong = 0;

// Prints a result, which should be `want`, give or take `tolerance`.
inline void Expect(const char* what, double got, double want, double tolerance = 0) {
  std::printf("%s = %.10g\n", what, got);
  if (std::abs(got - want) <= tolerance) return;
  std::printf("  which is WRONG: it should be %.10g\n", want);
  ++wrong;
}

// The same for what holds or does not.
inline void ExpectThat(const char* what, bool holds) {
  std::printf("%s: %s\n", what, holds ? "yes" : "NO, which is WRONG");
  if (!holds) ++wrong;
}

inline int Result() { return wrong == 0 ? 0 : 1; }

}  // namespace lesson

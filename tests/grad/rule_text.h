// Programs around a few nodes, for tests of gradient rules whose ops work together.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grad/check_gradient.h"

namespace gyre::testing {

// A program of the nodes `body`, which reads a placeholder %x (float64), makes a %y, and finds what
// it needs: %x0, %x1, %x2, three rows of %x if `body` mentions them; the integers %n0 … %n5; the
// shapes %any (unknown) and %scalar. %z is the square of %y. `rest`: functions.
inline std::string RuleText(const std::string& body, const std::string& shape_of_x,
                            const std::string& rest = "") {
  std::string text =
      absl::StrCat("graph {\n  %x = Placeholder() shape=", shape_of_x, " : float64\n");
  if (body.find("%x0") != std::string::npos) {
    absl::StrAppend(&text, "  %rows = Unpack(%x) num=3 axis=0\n");
    for (int i = 0; i < 3; ++i) absl::StrAppend(&text, "  %x", i, " = Identity(%rows:", i, ")\n");
  }
  for (int i = 0; i < 6; ++i)
    absl::StrAppend(&text, "  %n", i, " = Const() value=int32{", i, "} : int32\n");
  return absl::StrCat(text,
                      "  %any = Const() value=int32{-1} : int32\n"
                      "  %scalar = Const() value=int32[0]{} : int32\n",
                      body, "\n  %z = Mul(%y, %y)\n}\n", rest);
}

// ExpectGradient of the program by %x, where the shape of x is known, or its rank, or nothing.
inline void ExpectRules(const std::string& body, const Tensor& x, const std::string& rest = "") {
  std::vector<std::string> unknown(static_cast<size_t>(x.rank()), "?");
  const std::string ranks = absl::StrCat("(", absl::StrJoin(unknown, ","), ")");
  const std::string dims = absl::StrCat("(", absl::StrJoin(x.shape().dims(), ","), ")");
  for (const std::string& shape : {dims, ranks, std::string("?")})
    ExpectGradient(RuleText(body, shape, rest), {{"x", x}}, {"x"}, "z");
}

}  // namespace gyre::testing

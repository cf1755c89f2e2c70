// How the loops of a program run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gyre::sequential {

// A line for each loop, and each first call of a recursive function, that stands in no other that
// runs on registers, the main graph's first, then those of functions, in order of name, as far as
// can be told before it is known what is fed:
//
//   loop: native code once it is hot
//   nest (and inner within it): native code once it is hot; interpreted in it: v (Pack)
//   print: tokens, since p (Print) in @step has an effect
std::vector<std::string> ExplainLoops(const Program& program);

// Of the loops and conditionals that a program's main graph leads to, how many become native code
// where all do that can (the engine `compiled`), as far as can be told before it is known what is
// fed.
struct NativeShare {
  int loops = 0, native_loops = 0;
  int conditionals = 0, native_conditionals = 0;
  // Without names of nodes: how many.
  std::map<std::string, int> why_no_loop, why_no_conditional;

  void Add(const NativeShare& other);
};
NativeShare CountNative(const Program& program);

}  // namespace gyre::sequential

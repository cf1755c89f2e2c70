// Families of programs that grow with a number: long, wide, deep, and with more ways through them
// than anybody could walk. For tests of what preparing a program costs.
//
// All take "x:0", a float32 scalar, and compute "y:0". Constants; any thread.
#pragma once

#include <string>
#include <vector>

namespace gyre::testing {

struct LargeProgram {
  const char* name;
  std::string (*text)(int n);  // in the text form of programs; of a size that grows like n
  int n = 1000;                // small enough for a test
  bool is_nested = false;      // n is how deep its functions are nested
};

// Whose text grows like n, and whose preparation must.
const std::vector<LargeProgram>& LargePrograms();

// Function i calls function i + 1 twice, n times over: 2^n calls.
std::string CallsTwice(int n);
// The same with both branches of an If, and with two loops in a row.
std::string SharedBranches(int n);
std::string LoopsTwice(int n);
// Loops and calls within each other.
std::string NestedLoops(int n);
std::string DeepCalls(int n);
// A Case of n branches that are one function; n loops in a row with one body.
std::string SharedCase(int n);
std::string LoopsInARow(int n);
// n times Neg, one after the other.
std::string Chain(int n);

}  // namespace gyre::testing

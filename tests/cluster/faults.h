// System calls that fail when a test says so: the linker hands calls that Gyre's own code makes of
// them to faults.cc (CMakeLists.txt has the list). One fault at a time, in the whole process;
// thread-safe.
#pragma once

#include <string>
#include <vector>

namespace gyre::test {

struct Fault {
  static constexpr int kShort = 0;  // instead of an error: one byte goes, or comes

  std::string call;
  int error = kShort;
  int at = 1;  // the how manieth call from now on
};

// What may go wrong: of each call its errors, and being short, with `at` 1.
std::vector<Fault> PossibleFaults();

// From now on, calls are counted anew, and this one fails; none where `call` is empty.
void SetFault(const Fault& fault);
// How often that was called since SetFault.
int CallsOf(const std::string& call);

}  // namespace gyre::test

// When loops become native code, for the sessions that a test makes.
#pragma once

#include <stdlib.h>

#include <string>

namespace gyre::testing {

// While it lives, GYRE_COMPILE is what it says. One thread.
class CompileSetting {
 public:
  explicit CompileSetting(const std::string& when) { setenv("GYRE_COMPILE", when.c_str(), 1); }
  ~CompileSetting() { unsetenv("GYRE_COMPILE"); }
  CompileSetting(const CompileSetting&) = delete;
  CompileSetting& operator=(const CompileSetting&) = delete;
};

}  // namespace gyre::testing

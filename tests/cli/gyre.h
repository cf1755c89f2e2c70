// Runs the `gyre` program in this process. Stateless; any thread.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace gyre::cli {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

inline Ran Gyre(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int code = Main(words, Streams{out, err});
  return {code, out.str(), err.str()};
}

}  // namespace gyre::cli

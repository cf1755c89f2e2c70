// The `gyre` program. What it can do is in cli.cc.
#include <unistd.h>

#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const gyre::cli::Streams streams{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  int code = gyre::cli::kFailure;
  try {
    code = gyre::cli::Main(words, streams);
  } catch (const std::bad_alloc&) {
    std::cerr << "gyre: RESOURCE_EXHAUSTED: the machine has no memory left for this\n";
  }
  std::cout.flush();
  if (std::cout.good()) return code;
  std::cerr << "gyre: cannot write the output\n";
  return gyre::cli::kFailure;
}

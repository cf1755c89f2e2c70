// The `gyre` program. What it can do is in cli.cc.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const gyre::cli::Streams streams{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  const int code = gyre::cli::Main(words, streams);
  std::cout.flush();
  if (std::cout.good()) return code;
  std::cerr << "gyre: cannot write the output\n";
  return gyre::cli::kFailure;
}

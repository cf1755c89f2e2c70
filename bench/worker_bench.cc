// Measures one case at a time, as it is told: what bench/run.py interleaves with the peers.
//
//   worker_bench [--threads=N] [--engine=NAME] [--sample-ms=N]
//
// First says `version ENGINE`. Then reads names of cases, one a line, and answers each with one
// line:
//   ok NANOSECONDS   per unit, over a sample of some milliseconds
//   none             there is no such case
// The first sample of a case comes after it has been compiled, checked and run for a while. A case
// that fails ends the process, the reason on stderr.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "cli/cli.h"
#include "devices_cases.h"
#include "gradient_cases.h"
#include "loops_cases.h"
#include "native_cases.h"
#include "ops_cases.h"
#include "parallel_cases.h"
#include "runs_cases.h"
#include "timed_case.h"

namespace gyre::bench {
namespace {

std::map<std::string, Case> AllCases() {
  std::map<std::string, Case> all;
  for (const auto& topic : {OpsCases(), LoopsCases(), ParallelCases(), RunsCases(), GradientCases(),
                            DevicesCases(), NativeCases()}) {
    for (const Case& what : topic) all.emplace(what.name, what);
  }
  return all;
}

// A case and how many runs make a sample.
struct Sampler {
  Sampler(const Case& what, const BenchOptions& options, int64_t sample_ns) : timed(what, options) {
    for (auto [ns, runs] = timed.Time(1); ns < sample_ns / 2;) {
      times = std::min(runs * sample_ns / std::max<int64_t>(ns, 1) + 1, 10 * runs);
      std::tie(ns, runs) = timed.Time(times);
    }
  }

  double Sample() const {
    const auto [ns, runs] = timed.Time(times);
    return static_cast<double>(ns) / static_cast<double>(runs * timed.units());
  }

  TimedCase timed;
  int64_t times = 1;
};

void Serve(const BenchOptions& options, int64_t sample_ns) {
  std::cout << "version " << to_string(options.engine) << std::endl;
  const std::map<std::string, Case> all = AllCases();
  std::map<std::string, std::unique_ptr<Sampler>> ready;
  for (std::string name; std::getline(std::cin, name);) {
    const auto found = all.find(name);
    if (found == all.end()) {
      std::cout << "none" << std::endl;
      continue;
    }
    std::unique_ptr<Sampler>& sampler = ready[name];
    if (sampler == nullptr) sampler = std::make_unique<Sampler>(found->second, options, sample_ns);
    std::cout << "ok " << sampler->Sample() << std::endl;
  }
}

int Main(int argc, char** argv) {
  BenchOptions options;
  int64_t sample_ms = 30;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--engine=")) {
      const auto engine = ParseEngineKind(argument);
      if (!engine.ok()) Die(engine.status().ToString());
      options.engine = *engine;
    } else if (absl::ConsumePrefix(&argument, "--threads=")) {
      if (!absl::SimpleAtoi(argument, &options.threads)) Die("--threads takes a number");
    } else if (absl::ConsumePrefix(&argument, "--sample-ms=")) {
      if (!absl::SimpleAtoi(argument, &sample_ms)) Die("--sample-ms takes a number");
    } else {
      Die(absl::StrCat("unknown argument ", argument));
    }
  }
  Serve(options, sample_ms * 1'000'000);
  return 0;
}

}  // namespace
}  // namespace gyre::bench

// As a worker of the clusters that are measured, it is `gyre worker`.
int main(int argc, char** argv) {
  if (argc < 2 || absl::string_view(argv[1]) != "worker") return gyre::bench::Main(argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  return gyre::cli::Main(words, {std::cout, std::cerr, false});
}

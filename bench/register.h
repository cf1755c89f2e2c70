// The cases as benchmarks of Google Benchmark, for people and profilers.
//
//   GYRE_BENCH_ENGINE   which engine; default: the default
//   GYRE_BENCH_THREADS  how many threads a case may use; default 1
#pragma once

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "timed_case.h"
#include "workload.h"

namespace gyre::bench {

inline BenchOptions OptionsFromEnvironment() {
  BenchOptions options;
  if (const char* engine = std::getenv("GYRE_BENCH_ENGINE"))
    options.engine = *ParseEngineKind(engine);
  if (const char* threads = std::getenv("GYRE_BENCH_THREADS")) {
    if (!absl::SimpleAtoi(threads, &options.threads) || options.threads < 1)
      Die("GYRE_BENCH_THREADS is no number of threads");
  }
  return options;
}

// Clients are started for each iteration of the benchmark: this many runs make that cheap.
constexpr int64_t kRunsOfClients = 1000;

// To be called while the program starts. "time/unit" is what limits.json is about.
inline bool RegisterCases(const std::vector<Case>& cases) {
  for (const Case& what : cases) {
    auto timed = std::make_shared<std::unique_ptr<TimedCase>>();
    const auto body = [what, timed](benchmark::State& state) {
      // Prepared here and not when registered: a filter leaves most cases out.
      if (*timed == nullptr) *timed = std::make_unique<TimedCase>(what, OptionsFromEnvironment());
      const int64_t times = what.clients == 1 ? 1 : kRunsOfClients;
      int64_t runs = 0;
      for (auto iteration : state) runs += (*timed)->Time(times).second;
      state.counters["time/unit"] =
          benchmark::Counter(static_cast<double>(runs * (*timed)->units()),
                             benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    };
    benchmark::RegisterBenchmark(what.name.c_str(), body)->UseRealTime();
  }
  return true;
}

}  // namespace gyre::bench

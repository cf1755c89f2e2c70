// What came of some runs, kept to be compared bit by bit with what came of them elsewhere: on
// another engine, in another order, on more threads. Plain values.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "golden/case.h"
#include "gyre/core/session.h"

namespace gyre::testing {

using RunResult = absl::StatusOr<std::vector<Tensor>>;

// A golden case with its program, which is read once.
struct LoadedCase {
  golden::Case golden;
  std::shared_ptr<const Program> program;
};

// The cases of these groups that hold runs which can be repeated: no gradients alone, no deadlines.
std::vector<LoadedCase> LoadCases(const std::vector<std::string>& groups);

// A way to run a program: an engine, at so many threads, in a form; random numbers have a seed, and
// prints go nowhere.
struct Setting {
  std::string name;
  SessionOptions options;
};
Setting SettingOf(const char* name, const char* engine, int threads, const char* form);

// Up to `most` such cases of all groups that hold any, of each group in turn, drawn by `random`.
std::vector<LoadedCase> SampleCases(size_t most, std::mt19937_64& random);

// The results of a case's init ops and steps, in a session of its own.
std::vector<RunResult> RunCase(const LoadedCase& one, const SessionOptions& options);

// Nullopt if both succeeded with the same bits, or failed with the same code; else a sentence.
std::optional<std::string> BitDifference(const RunResult& got, const RunResult& want);
std::optional<std::string> BitDifference(const std::vector<RunResult>& got,
                                         const std::vector<RunResult>& want);

// The environment's GYRE_TEST_SEED, or 1; and whether GYRE_TEST_LONG asks for the whole matrix.
uint64_t TestSeed();
bool IsLongTest();

}  // namespace gyre::testing

#include "support/transcript.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "golden/compare.h"
#include "gtest/gtest.h"
#include "session/program_file.h"
#include "support/paths.h"
#include "tensor/format.h"

namespace gyre::testing {
namespace {

std::string Show(const RunResult& result) {
  return result.ok() ? "success" : result.status().ToString();
}

}  // namespace

std::vector<LoadedCase> LoadCases(const std::vector<std::string>& groups) {
  std::vector<LoadedCase> cases;
  for (const std::string& group : groups) {
    const auto folders = golden::FindCases(test::SourcePath("tests/golden/" + group));
    EXPECT_TRUE(folders.ok()) << folders.status();
    if (!folders.ok()) continue;
    for (const std::string& folder : *folders) {
      absl::StatusOr<golden::Case> golden = golden::ReadCase(folder);
      EXPECT_TRUE(golden.ok()) << golden.status();
      if (!golden.ok() || golden->load_error || golden->steps.empty()) continue;
      if (golden->HasTag("symbolic-gradient")) continue;
      bool has_deadline = false;
      for (const golden::Step& step : golden->steps) has_deadline |= step.timeout_ms > 0;
      if (has_deadline) continue;
      auto program = LoadProgramFile(golden->graph_path());
      EXPECT_TRUE(program.ok()) << program.status();
      if (program.ok()) cases.push_back({*std::move(golden), *std::move(program)});
    }
  }
  return cases;
}

Setting SettingOf(const char* name, const char* engine, int threads, const char* form) {
  SessionOptions options;
  options.engine = *ParseEngineKind(engine);
  options.parallel.threads = threads;
  options.form = *ParseProgramForm(*form == 0 ? "imported" : form);
  options.seed = 7;
  options.print = [](absl::string_view, absl::string_view) {};
  return {name, options};
}

std::vector<LoadedCase> SampleCases(size_t most, std::mt19937_64& random) {
  std::vector<std::vector<LoadedCase>> groups;
  for (const char* group :
       {"arrays", "autodiff", "cond_v1", "cond_v2", "devices", "errors", "functions", "fuzz",
        "gradgraphs_v1", "gradgraphs_v2", "models", "primitives", "while_v1", "while_v2"}) {
    groups.push_back(LoadCases({group}));
    std::shuffle(groups.back().begin(), groups.back().end(), random);
  }
  std::vector<LoadedCase> cases;
  for (size_t i = 0;; ++i) {
    bool has_any = false;
    for (std::vector<LoadedCase>& group : groups) {
      if (cases.size() == most) return cases;
      if (i >= group.size()) continue;
      has_any = true;
      cases.push_back(std::move(group[i]));
    }
    if (!has_any) return cases;
  }
}

std::vector<RunResult> RunCase(const LoadedCase& one, const SessionOptions& options) {
  SessionOptions quiet = options;
  quiet.print = [](absl::string_view, absl::string_view) {};
  const auto session = Session::Create(one.program, quiet);
  if (!session.ok()) return {session.status()};
  std::vector<RunResult> results;
  for (const std::string& op : one.golden.init) results.push_back((*session)->Run({}, {}, {op}));
  for (const golden::Step& step : one.golden.steps)
    results.push_back((*session)->Run(step.feeds, step.fetches, step.targets));
  return results;
}

std::optional<std::string> BitDifference(const RunResult& got, const RunResult& want) {
  if (got.ok() != want.ok() || got.status().code() != want.status().code())
    return absl::StrCat("got ", Show(got), ", want ", Show(want));
  if (!got.ok()) return std::nullopt;
  if (got->size() != want->size()) return absl::StrCat(got->size(), " results");
  for (size_t i = 0; i < got->size(); ++i) {
    if (golden::SameBits((*got)[i], (*want)[i])) continue;
    return absl::StrCat("result ", i, ": got ", FormatTensor((*got)[i], 8), ", want ",
                        FormatTensor((*want)[i], 8));
  }
  return std::nullopt;
}

std::optional<std::string> BitDifference(const std::vector<RunResult>& got,
                                         const std::vector<RunResult>& want) {
  if (got.size() != want.size()) return absl::StrCat(got.size(), " runs, not ", want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (const auto difference = BitDifference(got[i], want[i]))
      return absl::StrCat("run ", i, ": ", *difference);
  }
  return std::nullopt;
}

uint64_t TestSeed() {
  const char* const text = std::getenv("GYRE_TEST_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

bool IsLongTest() {
  const char* const text = std::getenv("GYRE_TEST_LONG");
  return text != nullptr && *text != '\0';
}

}  // namespace gyre::testing

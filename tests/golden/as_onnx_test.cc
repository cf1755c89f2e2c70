// Golden cases as ONNX models: each is written, read again, and gives the same; those that have no
// form in ONNX are listed with what their refusal says.
#include "golden/as_onnx.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "golden/case.h"
#include "golden/runner.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::golden {
namespace {

using ::testing::HasSubstr;

// By case: what is said of it.
std::map<std::string, std::string> Refusals() {
  std::map<std::string, std::string> refusals;
  const std::string text = *ReadFile(test::SourcePath("tests/golden/not_in_onnx.txt"));
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "#")) continue;
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    refusals.insert(parts);
  }
  return refusals;
}

void CheckAll(const std::string& folder, size_t least,
              std::map<std::string, std::string>& refused) {
  const auto folders = FindCases(test::SourcePath(folder));
  ASSERT_TRUE(folders.ok()) << folders.status();
  size_t passed = 0;
  for (const std::string& one : *folders) {
    const auto golden = ReadCase(one);
    ASSERT_TRUE(golden.ok()) << golden.status();
    CheckOptions options;
    options.as_onnx = true;
    options.timeout_ms = 60000;
    options.session.print = [](absl::string_view, absl::string_view) {};
    for (const CheckResult& result : RunCase(*golden, options)) {
      if (result.why == "it is to fail") continue;
      if (const auto it = refused.find(result.what); it != refused.end()) {
        EXPECT_EQ(result.outcome, Outcome::kSkipped) << result.what;
        EXPECT_THAT(result.why, HasSubstr(it->second)) << result.what;
        refused.erase(it);
        continue;
      }
      EXPECT_EQ(result.outcome, Outcome::kPassed) << result.what << ": " << result.why;
      ++passed;
    }
  }
  EXPECT_GE(passed, least);
}

TEST(AsOnnx, CasesGiveTheSameOrAreListed) {
  std::map<std::string, std::string> refused = Refusals();
  CheckAll("tests/golden_onnx", 51, refused);
  CheckAll("tests/golden", 900, refused);
  for (const auto& [name, why] : refused)
    ADD_FAILURE() << name << " is listed, but was not refused";
}

TEST(AsOnnx, AWrittenCaseIsACaseOfOnnx) {
  const test::TempFolder folder;
  const auto golden = ReadCase(test::SourcePath("tests/golden/while_v2/collatz"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  CheckOptions options;
  options.as_onnx = true;
  options.onnx_folder = folder.path();
  EXPECT_EQ(RunCase(*golden, options)[0].outcome, Outcome::kPassed);
  const auto written = ReadCase(folder.Path("while_v2/collatz_0"));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(RunCase(*written, {})[0].outcome, Outcome::kPassed);
}

TEST(AsOnnx, AWrongValueFails) {
  auto golden = ReadCase(test::SourcePath("tests/golden/while_v2/collatz"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  golden->steps[0].expect[0] = Tensor::Scalar(-1.0f);
  CheckOptions options;
  options.as_onnx = true;
  EXPECT_EQ(RunCase(*golden, options)[0].outcome, Outcome::kFailed);
}

}  // namespace
}  // namespace gyre::golden

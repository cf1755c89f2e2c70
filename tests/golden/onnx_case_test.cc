// Cases as ONNX's own backend tests have them: what is read of them, and that they pass.
#include "gmock/gmock.h"
#include "golden/case.h"
#include "golden/runner.h"
#include "support/paths.h"

namespace gyre::golden {
namespace {

TEST(OnnxCase, HasAStepForEachSetOfData) {
  const auto golden = ReadCase(test::SourcePath("tests/golden_onnx/test_loop11"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  EXPECT_EQ(golden->id(), "golden_onnx/loop11");
  ASSERT_EQ(golden->steps.size(), 1u);
  EXPECT_EQ(golden->steps[0].feeds.size(), 3u);
  EXPECT_THAT(golden->steps[0].fetches, ::testing::ElementsAre("res_y:0", "res_scan:0"));
}

TEST(OnnxCase, AllPass) {
  const auto folders = FindCases(test::SourcePath("tests/golden_onnx"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_GE(folders->size(), 40u);
  for (const std::string& folder : *folders) {
    const auto golden = ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    for (const CheckResult& result : RunCase(*golden, {}))
      EXPECT_EQ(result.outcome, Outcome::kPassed) << result.what << ": " << result.why;
  }
}

TEST(OnnxCase, AWrongValueFails) {
  auto golden = ReadCase(test::SourcePath("tests/golden_onnx/test_if"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  golden->steps[0].expect[0] = Tensor::Vector<float>({0, 0, 0, 0, 0});
  EXPECT_EQ(RunCase(*golden, {})[0].outcome, Outcome::kFailed);
}

TEST(OnnxCase, SequencesAreComparedByWhatTheyHold) {
  auto golden = ReadCase(test::SourcePath("tests/golden_onnx/test_sequence_insert_at_back"));
  const auto other = ReadCase(test::SourcePath("tests/golden_onnx/test_sequence_insert_at_front"));
  ASSERT_TRUE(golden.ok() && other.ok());
  golden->steps[0].expect = other->steps[0].expect;
  EXPECT_EQ(RunCase(*golden, {})[0].outcome, Outcome::kFailed);
}

}  // namespace
}  // namespace gyre::golden

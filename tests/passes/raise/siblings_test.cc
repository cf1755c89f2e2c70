// Programs that TensorFlow wrote in both dialects: what is raised from primitives has the structure
// of what was written with If and While.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "passes/pipeline.h"
#include "passes/raise/golden_signature.h"
#include "passes/raise/raise.h"
#include "passes/raise/structure.h"
#include "session/program_file.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

using Pair = std::pair<std::string, std::string>;  // the folders of the siblings

std::string Golden(const std::string& path) { return test::SourcePath("tests/golden/" + path); }

std::vector<Pair> Siblings() {
  std::vector<Pair> pairs;
  const auto add = [&](const std::string& v1, const std::string& v2) {
    if (std::filesystem::exists(Golden(v2))) pairs.emplace_back(v1, v2);
  };
  for (const auto& group : std::filesystem::directory_iterator(Golden(""))) {
    if (!group.is_directory()) continue;
    const std::string name = group.path().filename();
    for (const auto& folder : std::filesystem::directory_iterator(group.path())) {
      const std::string program = folder.path().filename();
      const auto v2 = [](const std::string& v1) { return v1.substr(0, v1.size() - 1) + "2"; };
      if (absl::EndsWith(name, "_v1")) {
        add(absl::StrCat(name, "/", program), absl::StrCat(v2(name), "/", program));
      } else if (absl::EndsWith(program, "_v1")) {
        add(absl::StrCat(name, "/", program), absl::StrCat(name, "/", v2(program)));
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// The structure of what the first step runs; what is wrong, in place of it.
std::string StructureOfCase(const std::string& folder, bool with_bounds) {
  const auto golden = golden::ReadCase(Golden(folder));
  if (!golden.ok()) return golden.status().ToString();
  const auto program = LoadProgramFile(golden->graph_path());
  if (!program.ok()) return program.status().ToString();
  const auto staged = StagedFor(*program, golden->steps.front());
  if (!staged.ok()) return staged.status().ToString();
  // TensorFlow leaves results and counters that nobody needs in one dialect, not in the other.
  PipelineOptions trimmed;
  trimmed.order = {"pass-through", "trim", "prune"};
  auto raised = Raise(*staged);
  if (raised.ok()) raised = Optimize(*raised, trimmed);
  return raised.ok() ? StructureOf(*raised, with_bounds) : raised.status().ToString();
}

struct Count {
  int alike = 0, all = 0;
  std::string differences;
};

// Among the pairs of which `counts`.
template <typename Counts>
Count Compare(bool with_bounds, Counts counts) {
  Count count;
  for (const Pair& pair : Siblings()) {
    if (!counts(pair)) continue;
    const std::string raised = StructureOfCase(pair.first, with_bounds);
    const std::string written = StructureOfCase(pair.second, with_bounds);
    ++count.all;
    count.alike += raised == written ? 1 : 0;
    if (raised == written) continue;
    absl::StrAppend(&count.differences, "--- ", pair.first, "\n", raised, "+++ ", pair.second, "\n",
                    written);
  }
  ::testing::Test::RecordProperty("alike", count.alike);
  ::testing::Test::RecordProperty("all", count.all);
  return count;
}

TEST(Siblings, HaveTheSameStructure) {
  const Count count = Compare(
      true, [](const Pair& pair) { return !absl::StartsWith(pair.first, "gradgraphs_v1/"); });
  EXPECT_GT(count.all, 370);
  EXPECT_GE(count.alike * 100, count.all * 90) << count.differences;
}

// Gradients are written in other ways in the two dialects: a backward loop counts down from the
// number of iterations in one, and up to it in the other, where it is a capture of the condition.
// Such bounds left out, the gradient graphs are among the ninety per cent, too.
TEST(Siblings, HaveTheSameStructureWithGradientsButForBounds) {
  const Count count = Compare(false, [](const Pair&) { return true; });
  EXPECT_GT(count.all, 420);
  EXPECT_GE(count.alike * 100, count.all * 90) << count.differences;
}

}  // namespace
}  // namespace gyre::testing

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
std::string StructureOfCase(const std::string& folder) {
  const auto golden = cli::ReadGoldenCase(Golden(folder));
  if (!golden.ok()) return golden.status().ToString();
  const auto program = LoadProgramFile(golden->graph_path());
  if (!program.ok()) return program.status().ToString();
  const auto staged = StagedFor(*program, golden->steps.front());
  if (!staged.ok()) return staged.status().ToString();
  // TensorFlow leaves results and counters that nobody needs in one dialect, not in the other.
  PipelineOptions trimmed;
  trimmed.order = {"trim", "prune"};
  auto raised = Raise(*staged);
  if (raised.ok()) raised = Optimize(*raised, trimmed);
  return raised.ok() ? StructureOf(*raised) : raised.status().ToString();
}

// Gradients are written in other ways in the two dialects: with stacks, a counter and the forward
// values read again in one, with lists and values handed out of the forward loop in the other.
bool IsGradientGraph(const Pair& pair) { return absl::StartsWith(pair.first, "gradgraphs_v1/"); }

TEST(Siblings, HaveTheSameStructure) {
  int programs = 0, alike = 0, gradient_graphs = 0, alike_gradient_graphs = 0;
  std::string differences;
  for (const Pair& pair : Siblings()) {
    const std::string raised = StructureOfCase(pair.first), written = StructureOfCase(pair.second);
    ++(IsGradientGraph(pair) ? gradient_graphs : programs);
    if (raised == written) {
      ++(IsGradientGraph(pair) ? alike_gradient_graphs : alike);
    } else if (!IsGradientGraph(pair)) {
      absl::StrAppend(&differences, "--- ", pair.first, "\n", raised, "+++ ", pair.second, "\n",
                      written);
    }
  }
  RecordProperty("programs", programs);
  RecordProperty("alike", alike);
  RecordProperty("gradient_graphs", gradient_graphs);
  RecordProperty("alike_gradient_graphs", alike_gradient_graphs);
  EXPECT_GT(programs, 370);
  EXPECT_GE(alike * 100, programs * 90) << differences;
}

}  // namespace
}  // namespace gyre::testing

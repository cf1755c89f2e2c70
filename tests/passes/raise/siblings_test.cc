// Programs that TensorFlow wrote in both dialects: what is raised from primitives has the structure
// of what was written with If and While.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
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
  const auto raised = Raise(*staged);
  return raised.ok() ? StructureOf(*raised) : raised.status().ToString();
}

TEST(Siblings, HaveTheSameStructure) {
  const std::vector<Pair> pairs = Siblings();
  ASSERT_GT(pairs.size(), 400U);
  std::vector<std::string> different;
  for (const auto& [v1, v2] : pairs) {
    const std::string raised = StructureOfCase(v1), written = StructureOfCase(v2);
    EXPECT_FALSE(raised.empty()) << v1 << " has no structure at all";
    if (raised != written)
      different.push_back(absl::StrCat("--- ", v1, "\n", raised, "+++ ", v2, "\n", written));
  }
  std::string all;
  for (const std::string& one : different) all += one;
  EXPECT_LT(different.size(), pairs.size() / 10) << all;
  std::cout << pairs.size() - different.size() << " of " << pairs.size() << " are alike\n";
}

}  // namespace
}  // namespace gyre::testing

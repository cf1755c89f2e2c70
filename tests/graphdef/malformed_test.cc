// 20,000 damaged GraphDefs: each ends in a program or in INVALID_ARGUMENT (NOT_FOUND where a name
// was damaged), and what is read as a program can be written and read again.
#include <string>
#include <vector>

#include "golden/case.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ops/registry.h"
#include "support/graph_mutator.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

constexpr int kGraphs = 20000;
constexpr size_t kMaxSeedBytes = 4000;

TEST(MalformedGraphs, EndInAProgramOrAStatus) {
  std::vector<std::string> seeds;
  const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  for (const std::string& folder : *folders) {
    auto bytes = ReadFile(folder + "/graph.pb");
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    if (bytes->size() <= kMaxSeedBytes) seeds.push_back(*std::move(bytes));
  }
  ASSERT_GT(seeds.size(), 100u);
  test::GraphMutator mutator(20250101, std::move(seeds));
  ImportOptions options;
  options.max_expanded_bytes = 16 << 20;
  int programs = 0;
  for (int i = 0; i < kGraphs; ++i) {
    const std::string bytes = mutator.Next().bytes;
    const auto program = ImportGraphDef(bytes, Ops(), options);
    if (!program.ok()) {
      ASSERT_TRUE(absl::IsInvalidArgument(program.status()) || absl::IsNotFound(program.status()))
          << "graph " << i << ": " << program.status();
      ASSERT_FALSE(program.status().message().empty());
      continue;
    }
    ++programs;
    const absl::StatusOr<std::string> exported = ExportGraphDef(**program);
    ASSERT_TRUE(exported.ok()) << "graph " << i << ": " << exported.status();
    const auto again = ImportGraphDef(*exported, Ops(), options);
    ASSERT_TRUE(again.ok()) << "graph " << i << ": " << again.status();
  }
  // Both outcomes must occur often, or the mutations are too mild or too wild to test anything.
  EXPECT_GT(programs, kGraphs / 50);
  EXPECT_LT(programs, kGraphs * 4 / 5);
}

}  // namespace
}  // namespace gyre

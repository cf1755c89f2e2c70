// Every golden graph: it is read or refused as its case says, and it survives the way out and back.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "golden/case.h"
#include "graphdef/canonical.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ops/registry.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

using test::Canonicalize;
using test::Differences;
using test::ParseBinary;

// The bytes of every golden graph, by the folder of its case.
std::map<std::string, std::string> GoldenGraphs() {
  std::map<std::string, std::string> graphs;
  const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
  EXPECT_TRUE(folders.ok()) << folders.status();
  for (const std::string& folder : folders.value_or(std::vector<std::string>())) {
    auto bytes = ReadFile(folder + "/graph.pb");
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    graphs.emplace(folder, std::move(bytes).value_or(""));
  }
  return graphs;
}

// What refuses unknown ops, as a whole graph that is to run must.
ImportOptions Strict() {
  ImportOptions options;
  options.refuse_unknown_ops = true;
  return options;
}

TEST(GoldenGraphs, AreReadOrRefusedAsTheirCasesSay) {
  int refused = 0;
  const std::map<std::string, std::string> graphs = GoldenGraphs();
  EXPECT_GT(graphs.size(), 1000u);
  for (const auto& [folder, bytes] : graphs) {
    SCOPED_TRACE(folder);
    const auto program = ImportGraphDef(bytes, Ops(), Strict());
    const auto golden = golden::ReadCase(folder);
    ASSERT_TRUE(golden.ok()) << golden.status();
    if (!golden->load_error) {
      EXPECT_TRUE(program.ok()) << program.status();
      continue;
    }
    const golden::ExpectedError& error = *golden->load_error;
    if (program.ok()) {
      // Steps follow: whoever finds the defect only when it runs is right, too.
      EXPECT_TRUE(!golden->steps.empty() || error.optional)
          << "the graph is malformed, but was read";
      continue;
    }
    ++refused;
    EXPECT_EQ(program.status().code(), error.code) << program.status();
    EXPECT_TRUE(absl::StrContains(program.status().message(), error.message_contains))
        << program.status();
  }
  EXPECT_GE(refused, 30);
}

TEST(GoldenGraphs, SurviveTheWayOutAndBack) {
  for (const auto& [folder, bytes] : GoldenGraphs()) {
    SCOPED_TRACE(folder);
    const auto program = ImportGraphDef(bytes, Ops());
    if (!program.ok()) continue;  // refused, as the test above wants it
    const absl::StatusOr<std::string> exported = ExportGraphDef(**program);
    ASSERT_TRUE(exported.ok()) << exported.status();
    wire::GraphDef before = ParseBinary(bytes);
    wire::GraphDef after = ParseBinary(*exported);
    Canonicalize(Ops(), before);
    Canonicalize(Ops(), after);
    EXPECT_EQ(Differences(before, after), "");
    const auto again = ImportGraphDef(*exported, Ops());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*ExportGraphDef(**again), *exported);
  }
}

TEST(GoldenGraphs, SurviveTheWayThroughText) {
  for (const auto& [folder, bytes] : GoldenGraphs()) {
    SCOPED_TRACE(folder);
    const auto program = ImportGraphDef(bytes, Ops());
    if (!program.ok()) continue;
    const absl::StatusOr<std::string> text = ExportGraphDef(**program, GraphFormat::kText);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto again = ImportGraphDef(*text, Ops());
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(
        Differences(ParseBinary(*ExportGraphDef(**again)), ParseBinary(*ExportGraphDef(**program))),
        "");
  }
}

}  // namespace
}  // namespace gyre

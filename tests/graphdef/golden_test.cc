// Every golden graph: it is read or refused as its case says, and it survives the way out and back.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graphdef/canonical.h"
#include "graphdef/export.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using test::Canonicalize;
using test::Differences;
using test::GoldenNames;
using test::ParseBinary;
using test::ReadGolden;

// What case.json says of loading, as far as it concerns reading.
struct LoadError {
  bool expected = false;
  bool at_run = false;  // steps follow: whoever finds the defect only when it runs is right, too
  bool optional = false;
  std::string code;
  std::string message;
};

std::string StringAfter(const std::string& json, const std::string& key, size_t from) {
  const size_t at = json.find(absl::StrCat("\"", key, "\": \""), from);
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 5;
  return json.substr(begin, json.find('"', begin) - begin);
}

LoadError ReadLoadError(const std::string& name) {
  const std::string json = ReadGolden(name, "case.json");
  LoadError error;
  const size_t at = json.find("\"load_error\"");
  if (at == std::string::npos) return error;
  const std::string entry = json.substr(at, json.find('}', at) - at);
  error.expected = true;
  error.at_run = !absl::StrContains(json, "\"steps\": []");
  error.optional = absl::StrContains(entry, "\"optional\": true");
  error.code = StringAfter(entry, "code", 0);
  error.message = StringAfter(entry, "message_contains", 0);
  return error;
}

// What refuses unknown ops, as a whole graph that is to run must.
ImportOptions Strict() {
  ImportOptions options;
  options.refuse_unknown_ops = true;
  return options;
}

TEST(GoldenGraphs, AreReadOrRefusedAsTheirCasesSay) {
  int refused = 0;
  const std::vector<std::string> names = GoldenNames();
  EXPECT_GT(names.size(), 1000u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto program = ImportGraphDef(ReadGolden(name, "graph.pb"), Ops(), Strict());
    const LoadError error = ReadLoadError(name);
    if (!error.expected) {
      EXPECT_TRUE(program.ok()) << program.status();
      continue;
    }
    if (program.ok()) {
      EXPECT_TRUE(error.at_run || error.optional) << "the graph is malformed, but was read";
      continue;
    }
    ++refused;
    EXPECT_EQ(absl::StatusCodeToString(program.status().code()), error.code) << program.status();
    EXPECT_TRUE(absl::StrContains(program.status().message(), error.message)) << program.status();
  }
  EXPECT_GE(refused, 30);
}

TEST(GoldenGraphs, SurviveTheWayOutAndBack) {
  for (const std::string& name : GoldenNames()) {
    SCOPED_TRACE(name);
    const std::string bytes = ReadGolden(name, "graph.pb");
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
  for (const std::string& name : GoldenNames()) {
    SCOPED_TRACE(name);
    const auto program = ImportGraphDef(ReadGolden(name, "graph.pb"), Ops());
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

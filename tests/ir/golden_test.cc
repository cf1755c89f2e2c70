// Every golden graph: its text reads back as the same program, it verifies, and its shapes can be
// inferred.
#include <algorithm>
#include <string>

#include "golden/case.h"
#include "graphdef/import.h"
#include "gtest/gtest.h"
#include "ir/shape_inference.h"
#include "ir/text/dot.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/summary.h"
#include "ir/verifier.h"
#include "ops/registry.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

bool SameAttrs(const AttrMap& a, const AttrMap& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && AttrEquals(x.second, y.second);
  });
}

// Names the first thing in which two functions differ; empty when there is none.
std::string Difference(const Function& a, const Function& b) {
  if (a.nodes.size() != b.nodes.size()) return "number of nodes";
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const Node& x = a.nodes[i];
    const Node& y = b.nodes[i];
    const bool same = x.id == y.id && x.name == y.name && x.op == y.op && x.op_name == y.op_name &&
                      x.inputs == y.inputs && x.control_inputs == y.control_inputs &&
                      SameAttrs(x.attrs, y.attrs) && x.signature.inputs == y.signature.inputs &&
                      x.signature.outputs == y.signature.outputs && x.device == y.device &&
                      x.source == y.source && x.wire_extra == y.wire_extra;
    if (!same) return "node " + x.name;
  }
  const bool same_args = std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                                    [](const FunctionArg& x, const FunctionArg& y) {
                                      return x.name == y.name && x.dtype == y.dtype &&
                                             x.is_ref == y.is_ref && x.shape == y.shape &&
                                             SameAttrs(x.attrs, y.attrs);
                                    });
  if (!same_args || a.arg_nodes != b.arg_nodes) return "arguments";
  const bool same_results =
      std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(),
                 [](const FunctionResult& x, const FunctionResult& y) {
                   return x.name == y.name && x.dtype == y.dtype && x.value == y.value;
                 });
  if (!same_results || a.control_results != b.control_results) return "results";
  if (a.name != b.name || a.stateful != b.stateful || a.doc != b.doc ||
      a.wire_extra != b.wire_extra || !SameAttrs(a.attrs, b.attrs)) {
    return "name, attributes, doc or extra fields";
  }
  return "";
}

std::string Difference(const Program& a, const Program& b) {
  if (std::string d = Difference(a.main(), b.main()); !d.empty()) return "graph: " + d;
  if (a.functions().size() != b.functions().size()) return "number of functions";
  for (const auto& [name, function] : a.functions()) {
    const Function* other = b.FindFunction(name);
    if (other == nullptr) return "no function " + name;
    if (std::string d = Difference(*function, *other); !d.empty()) return name + ": " + d;
  }
  if (a.gradient_functions() != b.gradient_functions() || a.producer() != b.producer() ||
      a.min_consumer() != b.min_consumer() || a.wire_extra() != b.wire_extra()) {
    return "versions, gradient functions or extra fields";
  }
  return "";
}

TEST(GoldenGraphs, ReadBackFromTextVerifyAndHaveShapes) {
  int num_graphs = 0;
  const auto folders = golden::FindCases(test::SourcePath("tests/golden"));
  ASSERT_TRUE(folders.ok()) << folders.status();
  for (const std::string& path : *folders) {
    const auto golden = golden::ReadCase(path);
    ASSERT_TRUE(golden.ok()) << golden.status();
    const bool must_load = !golden->load_error;
    const bool must_run =
        std::none_of(golden->steps.begin(), golden->steps.end(),
                     [](const golden::Step& step) { return step.error.has_value(); });
    const auto bytes = ReadFile(golden->graph_path());
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto program = ImportGraphDef(*bytes, Ops());
    if (!program.ok()) {
      EXPECT_FALSE(must_load) << path << ": " << program.status();
      continue;
    }
    ++num_graphs;
    const std::string text = PrintProgram(**program);
    const auto read = ParseProgram(text, Ops());
    ASSERT_TRUE(read.ok()) << path << ": " << read.status();
    EXPECT_EQ(Difference(**program, **read), "") << path;
    EXPECT_EQ(PrintProgram(**read), text) << path;
    EXPECT_FALSE(PrintSummary(**program).empty());
    EXPECT_FALSE(PrintDot(**program).empty());
    const absl::Status sound = Verify(**program, Dialect::kAny);
    EXPECT_TRUE(sound.ok() || !must_load) << path << ": " << sound;
    if (!sound.ok()) continue;
    const auto shapes = InferShapes(**program);
    EXPECT_TRUE(shapes.ok() || !must_load || !must_run) << path << ": " << shapes.status();
  }
  EXPECT_GT(num_graphs, 1000);
}

}  // namespace
}  // namespace gyre

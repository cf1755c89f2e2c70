// Graphs from files, as part of graphs that are being built.
#include <cmath>

#include "front/engines.h"
#include "gyre/core/op.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace gyre::testing {
namespace {

using Imports = OnEngine;
GYRE_ON_EACH_ENGINE(Imports);

std::string Golden(const std::string& name) {
  return test::SourcePath("tests/golden/" + name + "/graph.pb");
}

constexpr char kSquare[] = R"(
graph {
  %x = Placeholder() dtype=float32 shape=() : float32[]
  %w = Const() dtype=float32 value=float32{3} : float32[]
  %y = PartitionedCall(%x, %w) f=@scale Tin=[float32, float32] Tout=[float32] : float32
}
func @scale(%a: float32, %b: float32) -> (c: float32) {
  %c = Mul(%a, %b) : float32
  return %c
}
)";

TEST_P(Imports, BringPlaceholdersAlong) {
  const test::TempFolder folder;
  const std::string path = folder.Write("square.gyre", kSquare);
  const std::vector<Value> values = import_graph(path, {"y", "x"});
  EXPECT_EQ(Eval<float>(values[0] + 1, {{values[1], F(2)}}), 7);
}

TEST_P(Imports, ReplaceAnyTensor) {
  const test::TempFolder folder;
  const std::string path = folder.Write("square.gyre", kSquare);
  const Variable w("w", import_graph(path, {"w:0"})[0] + 1);
  const Value x = Float();
  const Value y = import_graph(path, {"y"}, {{"x", x * 10}, {"w", w}})[0];
  EXPECT_EQ(Eval<float>(y, {{x, F(2)}}), 80);
  EXPECT_EQ(Eval<float>(gradients({y}, {w})[0], {{x, F(2)}}), 20);
  // A number takes the type of what it replaces.
  EXPECT_EQ(Eval<float>(import_graph(path, {"y"}, {{"x", 2}, {"w", 5}})[0]), 10);
  // What is replaced is what is handed out.
  EXPECT_EQ(Eval<float>(import_graph(path, {"x"}, {{"x", 2}})[0]), 2);
}

TEST_P(Imports, KeepFunctionsOfOneNameApart) {
  const test::TempFolder folder;
  const std::string multiply = folder.Write("multiply.gyre", kSquare);
  std::string text = kSquare;
  text.replace(text.find("Mul("), 4, "Sub(");
  const std::string subtract = folder.Write("subtract.gyre", text);
  const Value product = import_graph(multiply, {"y"}, {{"x", 2}})[0];
  const Value difference = import_graph(subtract, {"y"}, {{"x", 2}})[0];
  EXPECT_EQ(Eval<float>(product), 6);
  EXPECT_EQ(Eval<float>(difference), -1);
  EXPECT_EQ(Eval<float>(import_graph(subtract, {"y"}, {{"x", product}})[0]), 3);
}

// By its data alone, the read could come first.
constexpr char kAssignThenRead[] = R"(
graph {
  %w = VarHandleOp() dtype=float32 shape=() shared_name="w" : resource
  %n = Placeholder() dtype=float32 shape=() : float32[]
  %two = Const() dtype=float32 value=float32{2} : float32[]
  %y = ReadVariableOp(%w, ^%add) dtype=float32 : float32[]
  %twice = Mul(%n, %two) : float32[]
  %assign = AssignVariableOp(%w, %two) dtype=float32
  %add = AssignAddVariableOp(%w, %twice, ^%assign) dtype=float32
}
)";

TEST_P(Imports, KeepTheOrderOfEffects) {
  const test::TempFolder folder;
  const std::string path = folder.Write("effects.gyre", kAssignThenRead);
  const auto y = [&](Value n) { return import_graph(path, {"y"}, {{"n", n}})[0]; };
  const Value n = Float();
  EXPECT_EQ(Eval<float>(y(n), {{n, F(5)}}), 12);
  EXPECT_EQ(Eval<float>(cond(n > 0, [&] { return y(n); }, [&] { return n; }), {{n, F(5)}}), 12);
}

TEST_P(Imports, StandInBodies) {
  const test::TempFolder folder;
  const std::string path = folder.Write("square.gyre", kSquare);
  const auto triple = [&](Value, Value x) { return import_graph(path, {"y"}, {{"x", x}})[0]; };
  const Value x = Float();
  const Value y = for_range(4, triple, x);
  EXPECT_EQ(Eval<float>(y, {{x, F(1)}}), 81);
  EXPECT_EQ(Eval<float>(gradients({y}, {x})[0], {{x, F(1)}}), 81);
  const auto placeholder = [&](Value, Value) { return import_graph(path, {"y"})[0]; };
  ExpectContains(ErrorOf([&] { for_range(4, placeholder, x); }),
                 "placeholder 'x' cannot come to stand in the body of loop 'for'");
}

// A loop of primitives becomes one that has gradients. The golden case says what they are.
TEST_P(Imports, LoopsOfPrimitivesHaveGradients) {
  for (const char* dialect : {"v1", "v2"}) {
    const Value x = placeholder(DType::kDouble, {2});
    const Variable v("v", {0.7, -1.1});
    const Value y = import_graph(Golden(absl::StrCat("autodiff/variable_grad_", dialect)), {"y0"},
                                 {{"x", x}, {"v", v.handle()}})[0];
    const FeedList feeds = {{x, Tensor::Vector<double>({1, 2})}};
    // Three times y = y * v + 0.1.
    const double v0 = 0.7, x0 = 1;
    EXPECT_NEAR(EvalVector<double>(y, feeds)[0], ((x0 * v0 + 0.1) * v0 + 0.1) * v0 + 0.1, 1e-15);
    EXPECT_NEAR(EvalVector<double>(gradients({y}, {x})[0], feeds)[0], v0 * v0 * v0, 1e-15);
    EXPECT_NEAR(EvalVector<double>(gradients({y}, {v})[0], feeds)[0],
                3 * x0 * v0 * v0 + 0.1 * (2 * v0 + 1), 1e-15);
  }
}

TEST_P(Imports, FollowNameScopes) {
  const test::TempFolder folder;
  const std::string path = folder.Write("square.gyre", kSquare);
  const BuildScope scope = name_scope("model");
  EXPECT_EQ(import_graph(path, {"x"})[0].name(), "model/x");
}

TEST_P(Imports, SayWhatIsWrong) {
  const test::TempFolder folder;
  const std::string path = folder.Write("square.gyre", kSquare);
  const std::string line = Here(1);
  const std::string absent = ErrorOf([&] { import_graph(path, {"z"}); });
  ExpectContains(absent, "the graph has no op 'z'");
  ExpectContains(absent, path + ": ");
  ExpectContains(absent, "at " + line);
  ExpectContains(ErrorOf([&] { import_graph(path, {"y"}, {{"u", 1}}); }), "no op 'u'");
  ExpectContains(ErrorOf([&] { import_graph(path, {}); }), "needs names of outputs");
  ExpectContains(ErrorOf([&] { import_graph(folder.Path("none.pb"), {"y"}); }), "none.pb");
  ExpectContains(ErrorOf([&] { import_graph(path, {"y"}, {{"x", Int()}}); }),
                 "'x' is float32 and cannot be replaced by int32");
  ExpectContains(ErrorOf([&] { import_graph(path, {"y"}, {{"x", "text"}}); }), "string");
  const std::string unknown = folder.Write("unknown.pbtxt", "node { name: 'a' op: 'Strange' }");
  ExpectContains(ErrorOf([&] { import_graph(unknown, {"a"}); }), "no op called Strange");
}

TEST_P(Imports, OpsAreCalledByName) {
  const Value x = Float();
  EXPECT_EQ(Eval<float>(call_op("Sub", {x, 1})[0], {{x, F(5)}}), 4);
  EXPECT_EQ(Eval<float>(call_op("AddN", {{x, x, 1}})[0], {{x, F(5)}}), 11);
  const Value i = call_op("Cast", {x}, {{"DstT", DType::kInt32}})[0];
  EXPECT_EQ(Eval<int32_t>(i, {{x, F(5.5)}}), 5);
  ExpectContains(ErrorOf([] { call_op("Cubed", {1}); }), "there is no op called Cubed");
  ExpectContains(ErrorOf([&] { call_op("Sub", {x}); }), "Sub takes 2 inputs, not 1");
}

TEST_P(Imports, PlugInsMustBeThere) {
  ExpectContains(ErrorOf([] { load_plugin("no/such/plugin.so"); }), "plug-in 'no/such/plugin.so'");
}

}  // namespace
}  // namespace gyre::testing

// What stands behind variants, flows and handles, through loops, branches, calls and recursion.
#include "analysis/value_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr char kFunctions[] = R"(
func @below(%i: int32, %list: variant) -> (p: bool) {
  %ten = Const() value=int32{10}
  %p = Less(%i, %ten)
  return %p
}
func @push(%i: int32, %list: variant) -> (i: int32, list: variant) {
  %one = Const() value=int32{1}
  %next = AddV2(%i, %one)
  %x = Const() value=float32{0}
  %pushed = TensorListPushBack(%list, %x)
  return %next, %pushed
}
func @wrap(%i: int32, %list: variant) -> (i: int32, list: variant) {
  %shape = Const() value=int32{-1}
  %empty = EmptyTensorList(%shape, %shape) element_dtype=variant
  %pushed = TensorListPushBack(%empty, %list) element_dtype=variant
  return %i, %pushed
}
func @last(%list: variant) -> (rest: variant, last: variant) {
  %shape = Const() value=int32{-1}
  %popped = TensorListPopBack(%list, %shape) element_dtype=variant
  return %popped, %popped:1
}
func @again(%p: bool, %list: variant) -> (r: variant) {
  %r = If(%p, %p, %list) then_branch=@again else_branch=@hand_on : variant
  return %r
}
func @hand_on(%p: bool, %list: variant) -> (r: variant) {
  %r = Identity(%list)
  return %r
}
)";

// Of the first output of each node of a main graph, which may call the functions above: in words,
// where there are some.
std::map<std::string, std::string> KindsOf(const std::string& graph) {
  const auto program = ParseProgram(absl::StrCat("graph {\n", graph, "}\n", kFunctions), Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  std::map<std::string, std::string> kinds;
  if (!program.ok()) return kinds;
  const Function& main = (*program)->main();
  const std::vector<KindRow> found = ValueKinds(**program).Of(main, {});
  for (const Node& node : main.nodes) {
    for (size_t slot = 0; slot < found[node.id].size(); ++slot) {
      const std::string text = KindText(found[node.id][slot]);
      const std::string name = slot == 0 ? node.name : absl::StrCat(node.name, ":", slot);
      if (!text.empty()) kinds[name] = text;
    }
  }
  return kinds;
}

using Kinds = std::map<std::string, std::string>;

TEST(ValueKindsTest, ListsAreWhatTheirMakerSaysAndLoopsKeepThem) {
  EXPECT_EQ(KindsOf(R"(
  %zero = Const() value=int32{0}
  %shape = Const() value=int32{-1}
  %list = EmptyTensorList(%shape, %shape) element_dtype=float32
  %loop = While(%zero, %list) cond=@below body=@push : (int32, variant)
  %size = TensorListLength(%loop:1)
)"),
            (Kinds{{"list", "list float32"}, {"loop:1", "list float32"}}));
}

TEST(ValueKindsTest, ElementsThatAreListsAreFoundThroughCallsAndPops) {
  EXPECT_EQ(KindsOf(R"(
  %zero = Const() value=int32{0}
  %shape = Const() value=int32{-1}
  %list = EmptyTensorList(%shape, %shape) element_dtype=int64
  %wrapped = PartitionedCall(%zero, %list) f=@wrap : (int32, variant)
  %popped = PartitionedCall(%wrapped:1) f=@last : (variant, variant)
)"),
            (Kinds{{"list", "list int64"},
                   {"wrapped:1", "list variant list int64"},
                   {"popped", "list variant list int64"},
                   {"popped:1", "list int64"}}));
}

// A list around a list in each iteration: comes to an end.
TEST(ValueKindsTest, KindsThatGrowWithEachIterationAreCut) {
  const Kinds kinds = KindsOf(R"(
  %zero = Const() value=int32{0}
  %shape = Const() value=int32{-1}
  %list = EmptyTensorList(%shape, %shape) element_dtype=variant
  %loop = While(%zero, %list) cond=@below body=@wrap : (int32, variant)
)");
  EXPECT_THAT(kinds.at("loop:1"), ::testing::StartsWith("list variant list variant"));
}

TEST(ValueKindsTest, RecursionHandsOnWhatItIsGiven) {
  EXPECT_EQ(KindsOf(R"(
  %p = Placeholder() : bool
  %shape = Const() value=int32{-1}
  %list = EmptyTensorList(%shape, %shape) element_dtype=float32
  %r = PartitionedCall(%p, %list) f=@again : variant
)"),
            (Kinds{{"list", "list float32"}, {"r", "list float32"}}));
}

TEST(ValueKindsTest, OptionalsHoldTheKindsOfTheirComponents) {
  EXPECT_EQ(KindsOf(R"(
  %shape = Const() value=int32{-1}
  %x = Const() value=float32{0}
  %list = EmptyTensorList(%shape, %shape) element_dtype=float32
  %some = OptionalFromValue(%x, %list)
  %back = OptionalGetValue(%some) output_types=[float32, variant] output_shapes=[?, ?]
  %none = OptionalNone()
)"),
            (Kinds{{"list", "list float32"},
                   {"some", "optional"},
                   {"back:1", "list float32"},
                   {"none", "optional"}}));
}

TEST(ValueKindsTest, ArraysHaveFlowsAndHandlesOfGradients) {
  EXPECT_EQ(
      KindsOf(R"(
  %size = Const() value=int32{3}
  %array = TensorArrayV3(%size) dtype=float64
  %index = Const() value=int32{0}
  %x = Const() value=float64{1}
  %written = TensorArrayWriteV3(%array, %index, %x, %array:1)
  %read = TensorArrayReadV3(%array, %index, %written) dtype=float64
  %gradients = TensorArrayGradV3(%array, %written) source="gradients"
)"),
      (Kinds{
          {"array:1", "flow float64"}, {"written", "flow float64"}, {"gradients", "gradients"}}));
}

TEST(ValueKindTest, TextsAreReadBack) {
  for (const char* text : {"", "optional", "gradients", "flow float32", "list float64",
                           "list variant list float64", "list variant optional"})
    EXPECT_EQ(KindText(ParseKind(text)), text);
  EXPECT_EQ(ParseKind("what nobody wrote"), ValueKind());
}

}  // namespace
}  // namespace gyre

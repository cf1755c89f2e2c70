// Rules of the ops on lists and optionals, alone and together.
#include "grad/rule_text.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

constexpr char kEmpty[] = "  %none = EmptyTensorList(%any, %any) element_dtype=float64\n";
constexpr char kList[] = "  %list = TensorListFromTensor(%x, %any) element_dtype=float64\n";
constexpr char kStack[] = "  %y = TensorListStack(%out, %any) element_dtype=float64";

std::string List(const std::string& body) { return kList + body; }
std::string ListToStack(const std::string& body) { return kList + body + kStack; }

TEST(ListRules, PushAndPop) {
  Draw draw;
  const std::string push = std::string(kEmpty) +
                           "  %l0 = TensorListPushBack(%none, %x0)\n"
                           "  %l1 = TensorListPushBack(%l0, %x1)\n"
                           "  %l2 = TensorListPushBack(%l1, %x0)\n";
  const std::string pop = push + "  %pop = TensorListPopBack(%l2, %any) element_dtype=float64\n";
  ExpectRules(push + "  %y = TensorListStack(%l2, %any) element_dtype=float64", draw({3, 2}));
  ExpectRules(pop + "  %y = TensorListStack(%pop, %any) element_dtype=float64", draw({3, 2}));
  ExpectRules(pop + "  %y = Mul(%pop:1, %x2)", draw({3, 2}));
  ExpectRules(pop +
                  "  %rest = TensorListStack(%pop, %any) element_dtype=float64\n"
                  "  %y = Mul(%pop:1, %rest)",
              draw({3}));
}

TEST(ListRules, ReadersByIndexAddUp) {
  Draw draw;
  ExpectRules(List("  %at = Const() value=int32[3]{2, 0, 2} : int32\n"
                   "  %a = TensorListGetItem(%list, %n1, %any) element_dtype=float64\n"
                   "  %b = TensorListGetItem(%list, %n1, %any) element_dtype=float64\n"
                   "  %c = TensorListGather(%list, %at, %any) element_dtype=float64\n"
                   "  %ab = Mul(%a, %b)\n"
                   "  %y = Mul(%ab, %c)"),
              draw({3, 2}));
}

TEST(ListRules, ReadersOfAllKindsAddUp) {
  Draw draw;
  ExpectRules(List("  %a = TensorListGetItem(%list, %n1, %any) element_dtype=float64\n"
                   "  %longer = TensorListPushBack(%list, %a)\n"
                   "  %all = TensorListStack(%list, %any) element_dtype=float64\n"
                   "  %more = TensorListStack(%longer, %any) element_dtype=float64\n"
                   "  %last = StridedSlice(%more, %n, %n, %n) shrink_axis_mask=1\n"
                   "  %sum = Mul(%last, %all)\n"
                   "  %y = Mul(%sum, %a)\n"
                   "  %n = Const() value=int32[1]{2} : int32"),
              draw({3, 2}));
}

TEST(ListRules, SettingElements) {
  Draw draw;
  ExpectRules(ListToStack("  %a = TensorListGetItem(%list, %n0, %any) element_dtype=float64\n"
                          "  %square = Mul(%a, %a)\n"
                          "  %out = TensorListSetItem(%list, %n1, %square)\n"),
              draw({3, 2}));
  ExpectRules(ListToStack("  %a = TensorListGetItem(%list, %n0, %any) element_dtype=float64\n"
                          "  %out = TensorListSetItem(%list, %n3, %a) "
                          "resize_if_index_out_of_bounds=true\n"),
              draw({3, 2}));
}

TEST(ListRules, Resizing) {
  Draw draw;
  ExpectRules(ListToStack("  %out = TensorListResize(%list, %n2)\n"), draw({3, 2}));
  ExpectRules(ListToStack("  %out = TensorListResize(%list, %n5)\n"), draw({3, 2}));
}

TEST(ListRules, CuttingAndJoining) {
  Draw draw;
  const std::string split =
      "  %lengths = Const() value=int64[3]{1, 0, 2} : int64\n"
      "  %list = TensorListSplit(%x, %any, %lengths) element_dtype=float64\n";
  const std::string item = "  %y = TensorListGetItem(%list, %n2, %any) element_dtype=float64";
  ExpectRules(split + "  %y = TensorListConcat(%list) element_dtype=float64", draw({3, 2}));
  ExpectRules(split + item, draw({3, 2}));
  ExpectRules(split +
                  "  %longer = TensorListResize(%list, %n4)\n"
                  "  %dims = Const() value=int32[2]{-1, 2} : int32\n"
                  "  %leading = Const() value=int64[4]{0, 0, 0, 3} : int64\n"
                  "  %y = TensorListConcatV2(%longer, %dims, %leading) element_dtype=float64",
              draw({3, 2}));
}

TEST(ListRules, ScatteringRows) {
  Draw draw;
  const std::string at = "  %at = Const() value=int32[3]{4, 0, 2} : int32\n";
  const std::string shape = "  %pair = Const() value=int32[1]{2} : int32\n";
  ExpectRules(
      at + shape + "  %out = TensorListScatter(%x, %at, %pair) element_dtype=float64\n" + kStack,
      draw({3, 2}));
  ExpectRules(at + shape +
                  "  %six = Const() value=int32{6} : int32\n"
                  "  %out = TensorListScatterV2(%x, %at, %pair, %six) element_dtype=float64\n" +
                  kStack,
              draw({3, 2}));
  ExpectRules(ListToStack(at +
                          "  %squares = Mul(%x, %x)\n"
                          "  %grown = TensorListScatterIntoExistingList(%list, %squares, %at)\n"
                          "  %more = TensorListStack(%grown, %pair) element_dtype=float64\n"
                          "  %out = TensorListFromTensor(%more, %any) element_dtype=float64\n" +
                          shape),
              draw({3, 2}));
}

TEST(ListRules, ListsOfLists) {
  Draw draw;
  ExpectRules(List("  %outer = EmptyTensorList(%any, %any) element_dtype=variant\n"
                   "  %o1 = TensorListPushBack(%outer, %list)\n"
                   "  %o2 = TensorListPushBack(%o1, %list)\n"
                   "  %inner = TensorListGetItem(%o2, %n1, %any) element_dtype=variant\n"
                   "  %pop = TensorListPopBack(%o2, %any) element_dtype=variant\n"
                   "  %a = TensorListStack(%inner, %any) element_dtype=float64\n"
                   "  %b = TensorListGetItem(%pop:1, %n0, %any) element_dtype=float64\n"
                   "  %y = Mul(%a, %b)"),
              draw({3, 2}));
}

// On what has been replaced nothing depends, however large what replaced it is.
TEST(ListRules, ReplacedElementsMayHaveHadAnotherSize) {
  Draw draw;
  ExpectRules(List("  %pop = TensorListPopBack(%list, %any) element_dtype=float64\n"
                   "  %longer = TensorListPushBack(%list, %x0)\n"
                   "  %outer = EmptyTensorList(%any, %any) element_dtype=variant\n"
                   "  %o1 = TensorListPushBack(%outer, %pop)\n"
                   "  %o2 = TensorListSetItem(%o1, %n0, %longer)\n"
                   "  %inner = TensorListGetItem(%o2, %n0, %any) element_dtype=variant\n"
                   "  %all = TensorListStack(%inner, %any) element_dtype=float64\n"
                   "  %y = Mul(%all, %pop:1)"),
              draw({3, 2}));
  const std::string replaced =
      "  %none = EmptyTensorList(%any, %any) element_dtype=float64\n"
      "  %l0 = TensorListPushBack(%none, %x0)\n"
      "  %l1 = TensorListSetItem(%l0, %n0, %x)\n";
  ExpectRules(replaced +
                  "  %whole = TensorListGetItem(%l1, %n0, %any) element_dtype=float64\n"
                  "  %y = Mul(%whole, %x0)",
              draw({3, 2}));
  ExpectRules(replaced +
                  "  %one = Const() value=int32[1]{0} : int32\n"
                  "  %none_yet = ExpandDims(%x1, %n0)\n"
                  "  %l2 = TensorListScatterIntoExistingList(%l1, %none_yet, %one)\n"
                  "  %row = TensorListGetItem(%l2, %n0, %any) element_dtype=float64\n"
                  "  %y = Mul(%row, %x0)",
              draw({3, 2}));
}

TEST(ListRules, AdjointsOfListsAreListsToo) {
  Draw draw;
  ExpectRules(List("  %at = Const() value=int32[3]{7, 1, 1} : int32\n"
                   "  %cleared = _TensorListClearAt(%list, %at)\n"
                   "  %dims = Const() value=int32[2]{3, 2} : int32\n"
                   "  %all = Const() value=int32[3]{0, 1, 2} : int32\n"
                   "  %y = _TensorListItemsOrZeros(%cleared, %all, %dims) T=float64"),
              draw({3, 2}));
  ExpectRules(List("  %a = _TensorListAddAt(%list, %n1, %x0)\n"
                   "  %at = Const() value=int32[3]{4, 1, 1} : int32\n"
                   "  %b = _TensorListAddAt(%a, %at, %x)\n"
                   "  %sum = _TensorListSum(%list, %b, %a)\n"
                   "  %dims = Const() value=int32[2]{3, 2} : int32\n"
                   "  %y = _TensorListItemsOrZeros(%sum, %at, %dims) T=float64"),
              draw({3, 2}));
}

TEST(ListRules, OptionalsHoldWhatHasAGradient) {
  Draw draw;
  ExpectRules(List("  %some = OptionalFromValue(%x, %n1, %list)\n"
                   "  %got = OptionalGetValue(%some) output_types=[float64, int32, variant] "
                   "output_shapes=[?, (), ()]\n"
                   "  %again = OptionalGetValue(%some) output_types=[float64, int32, variant] "
                   "output_shapes=[?, (), ()]\n"
                   "  %stack = TensorListStack(%got:2, %any) element_dtype=float64\n"
                   "  %y = Mul(%again, %stack)"),
              draw({3, 2}));
}

// sum over i of x[i] * (x[0]^2, x[1]^2, …) read from a list that grows meanwhile.
TEST(ListRules, InLoops) {
  Draw draw;
  const std::string body = List(
                               "  %none = EmptyTensorList(%any, %any) element_dtype=float64\n"
                               "  %loop = StatelessWhile(%n0, %none, %list) cond=@more body=@step\n"
                               "  %out = Identity(%loop:1)\n") +
                           kStack;
  ExpectRules(body, draw({3, 2}), R"(
func @more(%i: int32, %made: variant, %list: variant) -> (p: bool) {
  %n = Const() value=int32{4} : int32
  %p = Less(%i, %n)
  return %p
}
func @step(%i: int32, %made: variant, %list: variant) -> (i: int32, made: variant, list: variant) {
  %one = Const() value=int32{1} : int32
  %three = Const() value=int32{3} : int32
  %any = Const() value=int32{-1} : int32
  %at = FloorMod(%i, %three)
  %a = TensorListGetItem(%list, %at, %any) element_dtype=float64
  %square = Mul(%a, %a)
  %longer = TensorListPushBack(%made, %square)
  %b = TensorListGetItem(%longer, %i, %any) element_dtype=float64
  %product = Mul(%a, %b)
  %set = TensorListSetItem(%longer, %i, %product)
  %next = AddV2(%i, %one)
  return %next, %set, %list
}
)");
}

}  // namespace
}  // namespace gyre::testing

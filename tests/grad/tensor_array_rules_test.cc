// Rules of the ops on TensorArrays, whose flows have lists as their gradients.
#include "grad/rule_text.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

// Three rows, written one by one; may be read more than once.
std::string Written(const std::string& body) {
  return "  %ta = TensorArrayV3(%n3) dtype=float64 clear_after_read=false\n"
         "  %f0 = TensorArrayWriteV3(%ta, %n2, %x0, %ta:1)\n"
         "  %f1 = TensorArrayWriteV3(%ta, %n0, %x1, %f0)\n"
         "  %f2 = TensorArrayWriteV3(%ta, %n1, %x2, %f1)\n" +
         body;
}

TEST(TensorArrayRules, WritingAndReading) {
  Draw draw;
  ExpectRules(Written("  %a = TensorArrayReadV3(%ta, %n0, %f2) dtype=float64\n"
                      "  %b = TensorArrayReadV3(%ta, %n2, %f2) dtype=float64\n"
                      "  %c = TensorArrayReadV3(%ta, %n0, %f2) dtype=float64\n"
                      "  %ab = Mul(%a, %b)\n"
                      "  %y = Mul(%ab, %c)"),
              draw({3, 2}));
}

TEST(TensorArrayRules, ReadingBeforeAllIsWritten) {
  Draw draw;
  ExpectRules(Written("  %early = TensorArrayReadV3(%ta, %n2, %f0) dtype=float64\n"
                      "  %late = TensorArrayReadV3(%ta, %n1, %f2) dtype=float64\n"
                      "  %y = Mul(%early, %late)"),
              draw({3, 2}));
}

TEST(TensorArrayRules, WhatIsWrittenDependsOnWhatIsRead) {
  Draw draw;
  ExpectRules(
      "  %ta = TensorArrayV3(%n2) dtype=float64 clear_after_read=false dynamic_size=true\n"
      "  %f0 = TensorArrayWriteV3(%ta, %n0, %x0, %ta:1)\n"
      "  %a = TensorArrayReadV3(%ta, %n0, %f0) dtype=float64\n"
      "  %square = Mul(%a, %x1)\n"
      "  %f1 = TensorArrayWriteV3(%ta, %n3, %square, %f0)\n"
      "  %b = TensorArrayReadV3(%ta, %n3, %f1) dtype=float64\n"
      "  %c = TensorArrayReadV3(%ta, %n0, %f1) dtype=float64\n"
      "  %y = Mul(%b, %c)",
      draw({3, 2}));
}

TEST(TensorArrayRules, ManyElementsAtOnce) {
  Draw draw;
  ExpectRules(
      "  %ta = TensorArrayV3(%n5) dtype=float64 clear_after_read=false\n"
      "  %at = Const() value=int32[3]{4, 0, 2} : int32\n"
      "  %from = Const() value=int32[3]{0, 4, 4} : int32\n"
      "  %f = TensorArrayScatterV3(%ta, %at, %x, %ta:1)\n"
      "  %a = TensorArrayGatherV3(%ta, %from, %f) dtype=float64\n"
      "  %b = TensorArrayReadV3(%ta, %n2, %f) dtype=float64\n"
      "  %y = Mul(%a, %b)",
      draw({3, 2}));
}

TEST(TensorArrayRules, CuttingAndJoining) {
  Draw draw;
  const std::string split =
      "  %ta = TensorArrayV3(%n3) dtype=float64 clear_after_read=false\n"
      "  %lengths = Const() value=int64[3]{1, 0, 2} : int64\n"
      "  %squares = Mul(%x, %x)\n"
      "  %f = TensorArraySplitV3(%ta, %squares, %lengths, %ta:1)\n";
  const std::string join = "  %all = TensorArrayConcatV3(%ta, %f) dtype=float64\n";
  const std::string first = "  %one = TensorArrayReadV3(%ta, %n0, %f) dtype=float64\n";
  ExpectRules(split + join + "  %y = Mul(%all, %x)", draw({3, 2}));
  ExpectRules(split + first + "  %y = Mul(%one, %x)", draw({3, 2}));
  ExpectRules(split + join + first + "  %y = Mul(%all, %one)", draw({3, 2}));
}

TEST(TensorArrayRules, ElementsMayDifferInShape) {
  Draw draw;
  ExpectRules(
      "  %ta = TensorArrayV3(%n2) dtype=float64\n"
      "  %f0 = TensorArrayWriteV3(%ta, %n0, %x, %ta:1)\n"
      "  %sum = Sum(%x, %n0)\n"
      "  %f1 = TensorArrayWriteV3(%ta, %n1, %sum, %f0)\n"
      "  %a = TensorArrayReadV3(%ta, %n0, %f1) dtype=float64\n"
      "  %b = TensorArrayReadV3(%ta, %n1, %f1) dtype=float64\n"
      "  %y = Mul(%a, %b)",
      draw({3}));
}

// Each iteration writes the product of what the iteration before wrote and an element of the input.
TEST(TensorArrayRules, InLoops) {
  Draw draw;
  ExpectRules(
      "  %in = TensorArrayV3(%n3) dtype=float64 clear_after_read=false\n"
      "  %range = Const() value=int32[3]{0, 1, 2} : int32\n"
      "  %fed = TensorArrayScatterV3(%in, %range, %x, %in:1)\n"
      "  %made = TensorArrayV3(%n5) dtype=float64 clear_after_read=false\n"
      "  %start = TensorArrayWriteV3(%made, %n0, %x0, %made:1)\n"
      "  %loop = While(%n1, %start, %made, %in, %fed) cond=@more body=@step\n"
      "  %at = Const() value=int32[4]{0, 1, 2, 3} : int32\n"
      "  %y = TensorArrayGatherV3(%made, %at, %loop:1) dtype=float64",
      draw({3, 2}), R"(
func @more(%i: int32, %flow: float32, %made: resource, %in: resource, %fed: float32) -> (p: bool) {
  %n = Const() value=int32{4} : int32
  %p = Less(%i, %n)
  return %p
}
func @step(%i: int32, %flow: float32, %made: resource, %in: resource, %fed: float32) -> (i: int32, flow: float32, made: resource, in: resource, fed: float32) {
  %one = Const() value=int32{1} : int32
  %before = Sub(%i, %one)
  %old = TensorArrayReadV3(%made, %before, %flow) dtype=float64
  %x = TensorArrayReadV3(%in, %before, %fed) dtype=float64
  %product = Mul(%old, %x)
  %new = TensorArrayWriteV3(%made, %i, %product, %flow)
  %next = AddV2(%i, %one)
  return %next, %new, %made, %in, %fed
}
)");
}

TEST(TensorArrayRules, FlowsInOptionals) {
  Draw draw;
  ExpectRules(Written("  %some = OptionalFromValue(%f2, %x)\n"
                      "  %got = OptionalGetValue(%some) output_types=[float32, float64] "
                      "output_shapes=[(), ?]\n"
                      "  %a = TensorArrayReadV3(%ta, %n1, %got) dtype=float64\n"
                      "  %y = Mul(%a, %got:1)"),
              draw({3, 2}));
}

}  // namespace
}  // namespace gyre::testing

// Gradients through stacks: of programs that push and pop by themselves, and of imported graphs
// that hold gradients of TensorFlow, which do.
#include "front/differences.h"
#include "gyre/ops.h"
#include "support/paths.h"

namespace gyre::testing {
namespace {

using Stacks = OnEngine;
GYRE_ON_EACH_ENGINE(Stacks);

// One loop computes and pushes, another one pops, in the order of the program.
Value ThereAndBack(const Value& x, const Value& w, int iterations) {
  const Value s = op::StackV2(-1, DType::kDouble);
  const Value there = for_range(
      iterations,
      [&](Value i, Value x) {
        const Value next = sin(x) * w;
        // Of some, only.
        cond(equal(i % 2, 0), [&] { op::StackPushV2(s, next * next); }, [] {});
        return next;
      },
      x);
  return for_range((iterations + 1) / 2,
                   [&](Value, Value sum) { return sum * w + op::StackPopV2(s, DType::kDouble); },
                   there);
}

TEST_P(Stacks, OfLoopsThatPushAndPop) {
  const Value x = Double(), w = Double();
  const Value y = ThereAndBack(x, w, 5);
  const auto value = [&](const Doubles& at) {
    return Eval<double>(y, {{x, D(at[0])}, {w, D(at[1])}});
  };
  const Doubles want = Differences(value, {0.8, 0.9});
  for (const std::string memory : {"", "recompute(2)", "checkpoint(100)"}) {
    const std::vector<Value> got = gradients({y}, {x, w}, {.memory = *ParseMemoryPolicy(memory)});
    ExpectNear({Eval<double>(got[0], {{x, D(0.8)}, {w, D(0.9)}}),
                Eval<double>(got[1], {{x, D(0.8)}, {w, D(0.9)}})},
               want);
  }
  const Value d = Gradient(y, x);
  const Value dd = Gradient(d, w);
  const auto first = [&](const Doubles& at) {
    return Eval<double>(d, {{x, D(0.8)}, {w, D(at[0])}});
  };
  ExpectNear({Eval<double>(dd, {{x, D(0.8)}, {w, D(0.9)}})}, Differences(first, {0.9}));
}

TEST_P(Stacks, WithinABody) {
  const Value x = Double();
  const Value y = for_range(
      2,
      [&](Value, Value sum) {
        const Value inner = identity(sum);
        return sum * Gradient(ThereAndBack(inner, inner, 3), inner);
      },
      x);
  const auto value = [&](const Doubles& at) { return Eval<double>(y, {{x, D(at[0])}}); };
  ExpectNear({Eval<double>(Gradient(y, x), {{x, D(0.3)}})}, Differences(value, {0.3}));
}

TEST_P(Stacks, OfOutsideAreRefusedInABody) {
  const Value x = Double();
  const Value s = op::StackV2(-1, DType::kDouble);
  const auto body = [&](Value, Value sum) {
    const Value inner = identity(sum);
    op::StackPushV2(s, inner);
    return Gradient(op::StackPopV2(s, DType::kDouble) * inner, inner);
  };
  const std::string error = ErrorOf([&] { for_range(3, body, x); });
  ExpectContains(error, "(StackPopV2)");
  ExpectContains(error,
                 "it takes from a stack what the gradient is asked for, and its handle comes "
                 "from outside of what is differentiated");
}

// Linear in x: 2.953125 of 1.5. One loop pushes, another one pops.
TEST_P(Stacks, OfImportedLoops) {
  const Value x = Float();
  const std::string path = test::SourcePath("tests/golden/arrays/stack_push_pop_n6/graph.pb");
  const Value acc = import_graph(path, {"acc"}, {{"x", x}})[0];
  const Value gradient = gradients({acc}, {x})[0];
  EXPECT_EQ(Eval<float>(acc, {{x, F(1.5)}}), 2.953125);
  EXPECT_EQ(Eval<float>(gradient, {{x, F(1.5)}}), 1.96875);
}

// The gradients in a file are differentiated once more, and trained on.
TEST_P(Stacks, OfImportedGradients) {
  const std::string path = test::SourcePath("tests/golden/gradgraphs_v1/while_cond_while/graph.pb");
  const Value x = Double(), w = Double();
  const std::vector<Value> file = import_graph(path, {"y0", "g0"}, {{"x", x}, {"w", w}});
  const Value penalty = file[0] + square(file[1]);
  const auto value = [&](const Doubles& at) {
    return Eval<double>(penalty, {{x, D(at[0])}, {w, D(at[1])}});
  };
  const std::vector<Value> got = gradients({penalty}, {x, w});
  ExpectNear({Eval<double>(got[0], {{x, D(0.9)}, {w, D(1.05)}}),
              Eval<double>(got[1], {{x, D(0.9)}, {w, D(1.05)}})},
             Differences(value, {0.9, 1.05}));
}

}  // namespace
}  // namespace gyre::testing

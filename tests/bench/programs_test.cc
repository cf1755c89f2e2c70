// The programs that bench/ measures give their results, small, on every engine.
#include <gtest/gtest.h>

#include "../../bench/gradient_cases.h"
#include "../../bench/loops_cases.h"
#include "../../bench/native_cases.h"
#include "../../bench/ops_cases.h"
#include "../../bench/parallel_cases.h"
#include "../../bench/runs_cases.h"
#include "gyre/core/session.h"

namespace gyre::bench {
namespace {

class BenchProgram : public testing::TestWithParam<EngineKind> {
 protected:
  // What is wrong with the results of one run; empty: nothing.
  static std::string Wrong(const Workload& work, ProgramForm form = ProgramForm::kImported,
                           int window = 0) {
    SessionOptions options;
    options.engine = GetParam();
    options.form = form;
    options.parallel.window = window;
    options.parallel.threads = 2;
    const auto session = Session::Create(work.program, options);
    if (!session.ok()) return session.status().ToString();
    const auto fetched = (*session)->Run(work.feeds, work.fetches, work.targets);
    if (!fetched.ok()) return fetched.status().ToString();
    return work.check(*fetched);
  }
};

TEST_P(BenchProgram, Chains) {
  EXPECT_EQ(Wrong(Chain(10, Shape())), "");
  EXPECT_EQ(Wrong(Chain(10, Shape::Vector(3))), "");
}

TEST_P(BenchProgram, IndependentOps) { EXPECT_EQ(Wrong(IndependentOps()), ""); }

TEST_P(BenchProgram, Loops) {
  EXPECT_EQ(Wrong(WhileLoop(10)), "");
  EXPECT_EQ(Wrong(PrimitiveLoop(10)), "");
  EXPECT_EQ(Wrong(NestedLoop(3, 4)), "");
  EXPECT_EQ(Wrong(CondInLoop(7)), "");
  EXPECT_EQ(Wrong(CondInLoop(8)), "");
}

TEST_P(BenchProgram, Lists) {
  EXPECT_EQ(Wrong(ListOfScalars(10, true)), "");
  EXPECT_EQ(Wrong(ListOfScalars(10, false)), "");
}

TEST_P(BenchProgram, Recursion) { EXPECT_EQ(Wrong(Fibonacci(7)), ""); }

TEST_P(BenchProgram, Lstm) { EXPECT_EQ(Wrong(LstmLoop()), ""); }

TEST_P(BenchProgram, HeavyIterationsInEveryWindow) {
  for (const int window : {0, 1, 8})
    EXPECT_EQ(Wrong(HeavyIterations(), ProgramForm::kImported, window), "") << window;
}

TEST_P(BenchProgram, NullSteps) {
  EXPECT_EQ(Wrong(NullStepFed()), "");
  EXPECT_EQ(Wrong(NullStepConst()), "");
}

TEST_P(BenchProgram, Gradients) {
  EXPECT_EQ(Wrong(SineLoop(10)), "");
  EXPECT_EQ(Wrong(SinePrimitives(10), ProgramForm::kRelowered), "");
  EXPECT_EQ(Wrong(LstmGradient({.steps = 3, .batch = 2, .hidden = 8})), "");
  EXPECT_EQ(Wrong(Training(5)), "");
}

TEST_P(BenchProgram, GradientsOfManyLoops) {
  EXPECT_EQ(Wrong(SineGradient(RowOfLoops(5), kRowIterations * 5)), "");
  EXPECT_EQ(Wrong(SineGradient(NestOfLoops(4), 4)), "");
}

TEST_P(BenchProgram, NativeLoops) {
  EXPECT_EQ(Wrong(ChainInLoop(20)), "");
  EXPECT_EQ(Wrong(SecondSineDerivative(10)), "");
  EXPECT_EQ(Wrong(Mandelbrot(9, CppMandelbrot(9, 0, kMandelbrotImaginary))), "");
  EXPECT_EQ(Wrong(TenOpsInLoop()), "");
}

TEST_P(BenchProgram, ElementwiseChain) { EXPECT_EQ(Wrong(ElementwiseChain()), ""); }

TEST_P(BenchProgram, AWrongGradientIsNoticed) {
  Workload work = LstmGradient({.steps = 3, .batch = 2, .hidden = 8});
  work.feeds[0].second = Tensor::Scalar(int32_t{2});
  EXPECT_NE(Wrong(work), "");
}

TEST_P(BenchProgram, AWrongResultIsNoticed) {
  Workload work = WhileLoop(10);
  work.feeds[0].second = Tensor::Scalar(int32_t{9});
  EXPECT_EQ(Wrong(work), "9 instead of 10");
}

INSTANTIATE_TEST_SUITE_P(Engines, BenchProgram, testing::ValuesIn(kEngineKinds),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace gyre::bench

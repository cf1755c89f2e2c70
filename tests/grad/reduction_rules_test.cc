// Gradient rules of reductions, running sums and segments.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

std::vector<double> Doubles(const Tensor& t) {
  return t.has_value() ? std::vector<double>(t.values<double>().begin(), t.values<double>().end())
                       : std::vector<double>();
}

Tensor Vector(std::initializer_list<double> values) { return Tensor::Vector<double>(values); }
Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }

const Tensor kAxes[] = {
    Ints({0}),
    Ints({1}),
    Ints({2}),
    Ints({-1}),
    Ints({0, 1}),
    Ints({0, 2}),
    Ints({1, 2}),
    Ints({2, 0}),
    Ints({-3, 1, 2}),
    Ints({}),
    Tensor::Scalar<int32_t>(1),
    Tensor::Scalar<int32_t>(-1),
    Tensor::Vector<int64_t>({0, -1}),
};

TEST(ReductionRules, AllAxes) {
  Draw draw;
  for (const std::string op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
    for (const Tensor& axes : kAxes) {
      for (const std::string keep : {"", "keep_dims=true"}) {
        SCOPED_TRACE(op);
        ExpectOpGradient({op, {draw({2, 3, 2}, 0.5, 2), axes}, keep});
      }
    }
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({3}, 0.5, 2), Ints({0})}});
    ExpectOpGradient({op, {draw({}, 0.5, 2), Ints({})}});
  }
  for (const std::string op : {"Sum", "Mean", "Prod"}) {
    ExpectOpGradient({op, {draw.Complex({2, 3}, 0.5, 1), Ints({1})}});
    ExpectOpGradient({op, {draw.Complex({2, 3}, 0.5, 1), Ints({0, 1})}});
  }
}

TEST(ReductionRules, OfNothing) {
  Draw draw;
  for (const std::string op : {"Sum", "Mean", "Prod", "Max"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({2, 0, 3}), Ints({0})}});
    ExpectOpGradient({op, {draw({2, 0, 3}), Ints({0, 2})}});
  }
  for (const std::string op : {"Sum", "Prod"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({2, 0, 3}), Ints({1})}});
    ExpectOpGradient({op, {draw({2, 0, 3}), Ints({0, 1})}});
    ExpectOpGradient({op, {draw({2, 0, 3}), Ints({0, 1, 2})}});
  }
}

TEST(ReductionRules, ProductsWithZeros) {
  const Tensor x = Tensor::FromValues<double>({2, 0, 3, 0, 0, 4}, Shape::Trusted({2, 3}));
  EXPECT_THAT(Doubles(OpGradients({"Prod", {x, Ints({1})}})[0]), ElementsAre(0, 6, 0, 0, 0, 0));
  const Tensor y = Tensor::FromValues<double>({2, 0, 3, 5}, Shape::Trusted({2, 2}));
  EXPECT_THAT(Doubles(OpGradients({"Prod", {y, Ints({0, 1})}})[0]), ElementsAre(0, 30, 0, 0));
}

TEST(ReductionRules, EqualExtremaShare) {
  const Tensor x = Tensor::FromValues<double>({1, 3, 3, 2, 2, 1}, Shape::Trusted({2, 3}));
  EXPECT_THAT(Doubles(OpGradients({"Max", {x, Ints({1})}})[0]),
              ElementsAre(0, 0.5, 0.5, 0.5, 0.5, 0));
  EXPECT_THAT(Doubles(OpGradients({"Min", {x, Ints({0, 1})}})[0]),
              ElementsAre(0.5, 0, 0, 0, 0, 0.5));
}

TEST(ReductionRules, KnownShapesCostNothing) {
  const auto ops = [](const std::string& op, const std::string& x, const std::string& axes) {
    return GradientOps("graph {\n%x = Placeholder() shape=" + x +
                           " : float64\n%axes = Const() value=int32" + axes +
                           " : int32\n%y = " + op + "(%x, %axes)\n}",
                       {"x"}, "y");
  };
  EXPECT_THAT(ops("Sum", "(2,3)", "[2]{0, 1}"), ElementsAre("OnesLike", "BroadcastTo"));
  EXPECT_THAT(ops("Sum", "(?,3)", "[2]{0, 1}"), ElementsAre("OnesLike", "Shape", "BroadcastTo"));
  EXPECT_THAT(ops("Sum", "(2,3)", "[1]{0}"), ElementsAre("OnesLike", "BroadcastTo"));
  EXPECT_THAT(ops("Sum", "(2,3)", "{1}"), ElementsAre("OnesLike", "ExpandDims", "BroadcastTo"));
  EXPECT_THAT(ops("Sum", "(2,3,4,5)", "[2]{1, 3}"),
              ElementsAre("OnesLike", "Reshape", "BroadcastTo"));
  EXPECT_THAT(ops("Mean", "(2,3)", "[1]{0}"), ElementsAre("OnesLike", "RealDiv", "BroadcastTo"));
  EXPECT_THAT(ops("Mean", "(?,3)", "{1}"),
              ElementsAre("OnesLike", "RealDiv", "ExpandDims", "Shape", "BroadcastTo"));
  EXPECT_THAT(ops("Prod", "?", "{1}"), Not(Contains("Transpose")));
}

TEST(ReductionRules, RunningSumsAndProducts) {
  Draw draw;
  for (const std::string op : {"Cumsum", "Cumprod"}) {
    for (const std::string exclusive : {"false", "true"}) {
      for (const std::string reverse : {"false", "true"}) {
        SCOPED_TRACE(op);
        const std::string attrs = absl::StrCat("exclusive=", exclusive, " reverse=", reverse);
        for (const int32_t axis : {0, 1, -1}) {
          ExpectOpGradient({op, {draw({2, 3}, 0.5, 2), Tensor::Scalar(axis)}, attrs});
        }
        ExpectOpGradient({op, {draw.Complex({3}, 0.5, 1), Tensor::Scalar<int32_t>(0)}, attrs});
        ExpectOpGradient({op, {draw({0, 2}), Tensor::Scalar<int32_t>(0)}, attrs});
      }
    }
  }
}

TEST(ReductionRules, SortedSegments) {
  Draw draw;
  const Tensor ids = Ints({0, 0, 2, 2, 2});
  const Tensor wide_ids = Tensor::Vector<int64_t>({1, 1, 1, 4, 5});
  for (const std::string op :
       {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({5, 2}, 0.5, 2), ids}});
    ExpectOpGradient({op, {draw({5}, 0.5, 2), wide_ids}});
    ExpectOpGradient({op, {draw({5, 2, 2}, 0.5, 2), wide_ids}});
  }
  for (const std::string op : {"SegmentSum", "SegmentMean", "SegmentProd"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw.Complex({5}, 0.5, 1), ids}});
  }
}

TEST(ReductionRules, UnsortedSegments) {
  Draw draw;
  const Tensor n = Tensor::Scalar<int32_t>(4);
  const Tensor ids = Ints({3, 0, 3, -1, 1});
  const Tensor all_kept = Ints({3, 0, 3, 2, 1});
  const Tensor matrix = Tensor::FromValues<int64_t>({0, 3, -1, 2, 0, 2}, Shape::Trusted({2, 3}));
  for (const std::string op :
       {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"}) {
    SCOPED_TRACE(op);
    ExpectOpGradient({op, {draw({5, 2}, 0.5, 2), ids, n}});
    ExpectOpGradient({op, {draw({5}, 0.5, 2), all_kept, n}});
    ExpectOpGradient({op, {draw({2, 3}, 0.5, 2), matrix, n}});
    ExpectOpGradient({op, {draw({2, 3, 2, 2}, 0.5, 2), matrix, n}});
  }
  ExpectOpGradient({"UnsortedSegmentSum", {draw({2}), Tensor::Vector<int16_t>({1, -1}), n}});
  ExpectOpGradient({"UnsortedSegmentSum", {draw.Complex({5, 2}), ids, n}});
}

TEST(ReductionRules, SegmentsWithZeros) {
  const Tensor x = Vector({0, 3, 5, 0, 0, 7});
  const Tensor ids = Ints({0, 0, 0, 1, 1, 1});
  const auto want = ElementsAre(15, 0, 0, 0, 0, 0);
  EXPECT_THAT(Doubles(OpGradients({"SegmentProd", {x, ids}})[0]), want);
  EXPECT_THAT(
      Doubles(OpGradients({"UnsortedSegmentProd", {x, ids, Tensor::Scalar<int32_t>(2)}})[0]), want);
}

TEST(ReductionRules, EqualExtremaOfASegmentShare) {
  const Tensor x = Vector({2, 5, 5, 1, 1, 1});
  const Tensor ids = Ints({0, 0, 0, 1, 1, -1});
  const Tensor n = Tensor::Scalar<int32_t>(3);
  EXPECT_THAT(Doubles(OpGradients({"UnsortedSegmentMax", {x, ids, n}})[0]),
              ElementsAre(0, 0.5, 0.5, 0.5, 0.5, 0));
  EXPECT_THAT(Doubles(OpGradients({"SegmentMin", {Vector({2, 2, 5}), Ints({0, 0, 0})}})[0]),
              ElementsAre(0.5, 0.5, 0));
}

TEST(ReductionRules, SparseSums) {
  const Tensor a = Tensor::FromValues<int64_t>({0, 0, 1, 2}, Shape::Trusted({2, 2}));
  const Tensor b = Tensor::FromValues<int64_t>({0, 0, 1, 1}, Shape::Trusted({2, 2}));
  const Tensor shape = Tensor::Vector<int64_t>({2, 3});
  OpCase c{"SparseAdd", {a, Vector({1, 2}), shape, b, Vector({3, 4}), shape, Tensor::Scalar(0.5)},
           "",          "y:1",
           1,           {6}};
  ExpectOpGradient(c);
  // An element that is left out for being small has no gradient.
  c.inputs[1] = Vector({-3, 2});
  const auto gradients = OpGradients(c);
  EXPECT_THAT(Doubles(gradients[0]), ElementsAre(0, 1));
  EXPECT_THAT(Doubles(gradients[1]), ElementsAre(0, 1));
}

// Products of which factors are zero have derivatives, of any order.
TEST(ReductionRules, ProductsOfZeros) {
  const Tensor factors[] = {Vector({2, 0, 3, -1}), Vector({0, 2, 0, 3}), Vector({0, 0, 0, 2}),
                            Vector({1, 2, 3, 0})};
  for (const Tensor& x : factors) {
    ExpectOpGradient({"Prod", {x, Ints({0})}});
    for (const std::string attrs :
         {"", "exclusive=true", "reverse=true", "exclusive=true reverse=true"}) {
      ExpectOpGradient({"Cumprod", {x, Tensor::Scalar<int32_t>(0)}, attrs});
    }
  }
  EXPECT_THAT(Doubles(OpGradients({"Cumprod", {factors[1], Tensor::Scalar<int32_t>(0)}})[0]),
              ElementsAre(3, 0, 0, 0));
}

TEST(ReductionRules, AffineScan) {
  Draw draw;
  for (const std::string attrs :
       {"", "exclusive=true", "reverse=true", "exclusive=true reverse=true"}) {
    ExpectOpGradient(
        {"_AffineScan", {draw({2, 3}), draw({2, 3}), Tensor::Scalar<int32_t>(1)}, attrs});
  }
  ExpectOpGradient(
      {"_AffineScan", {draw.Complex({3}), draw.Complex({3}), Tensor::Scalar<int32_t>(0)}});
}

}  // namespace
}  // namespace gyre::testing

// Gradient rules of matrix products and their kin.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

using ::testing::ElementsAre;

std::string Flags(const std::string& a, bool is_a, const std::string& b, bool is_b) {
  return absl::StrCat(a, "=", is_a ? "true " : "false ", b, "=", is_b ? "true" : "false");
}

TEST(LinalgRules, MatMul) {
  Draw draw;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const std::string attrs = Flags("transpose_a", a, "transpose_b", b);
      const auto x = [&] { return a ? draw({3, 2}) : draw({2, 3}); };
      const auto y = [&] { return b ? draw({4, 3}) : draw({3, 4}); };
      ExpectOpGradient({"MatMul", {x(), y()}, attrs});
      ExpectOpGradient(OpCase{"MatMul", {x(), y()}, attrs}.Fixed({0}));
      const Tensor z = a ? draw.Complex({3, 2}) : draw.Complex({2, 3});
      const Tensor w = b ? draw.Complex({1, 3}) : draw.Complex({3, 1});
      ExpectOpGradient({"MatMul", {z, w}, attrs});
    }
  }
  ExpectOpGradient({"MatMul", {draw({2, 0}), draw({0, 3})}});
}

TEST(LinalgRules, MatMulAdd) {
  Draw draw;
  ExpectOpGradient({"_MatMulAdd", {draw({2, 3}), draw({3, 4}), draw({2, 4})}});
  ExpectOpGradient({"_MatMulAdd",
                    {draw.Complex({3, 2}), draw.Complex({4, 3}), draw.Complex({2, 4})},
                    Flags("transpose_a", true, "transpose_b", true)});
}

TEST(LinalgRules, BatchMatMul) {
  Draw draw;
  for (const std::string op : {"BatchMatMul", "BatchMatMulV2"}) {
    for (const bool x : {false, true}) {
      for (const bool y : {false, true}) {
        SCOPED_TRACE(op);
        const std::string attrs = Flags("adj_x", x, "adj_y", y);
        const Tensor a = x ? draw.Complex({2, 3, 2}) : draw.Complex({2, 2, 3});
        const Tensor b = y ? draw.Complex({2, 1, 3}) : draw.Complex({2, 3, 1});
        ExpectOpGradient({op, {a, b}, attrs});
      }
    }
    ExpectOpGradient(OpCase{op, {draw({2, 2, 3}), draw({2, 3, 2})}}.Fixed({1}));
  }
}

TEST(LinalgRules, BatchesBroadcast) {
  Draw draw;
  ExpectOpGradient({"BatchMatMulV2", {draw({2, 2, 3}), draw({3, 2})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({2, 3}), draw({2, 3, 2})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({2, 1, 1, 3}), draw({2, 3, 1})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({1, 2, 3}), draw({2, 3, 2})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({1, 1, 1}), draw({1, 2, 1, 1})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({2, 3}), draw({3, 2})}});
  ExpectOpGradient({"BatchMatMulV2", {draw({0, 2, 3}), draw({3, 2})}});
}

TEST(LinalgRules, KnownBatchesCostNothing) {
  const std::string text = R"(graph {
    %x = Placeholder() shape=(?,?,3) : float64
    %w = Placeholder() shape=(3,?) : float64
    %y = BatchMatMulV2(%x, %w)
  })";
  EXPECT_THAT(GradientOps(text, {"x"}, "y"), ElementsAre("OnesLike", "BatchMatMulV2"));
  EXPECT_THAT(GradientOps(text, {"w"}, "y"), ElementsAre("OnesLike", "BatchMatMulV2", "Sum"));
}

struct EinsumCase {
  std::string equation;
  std::vector<Dims> shapes;
};

const EinsumCase kEinsums[] = {
    {"ij,jk->ik", {{2, 3}, {3, 2}}},
    {"ij,jk->ki", {{2, 3}, {3, 2}}},
    {"ij->ji", {{2, 3}}},
    {"ij->i", {{2, 3}}},
    {"ij->", {{2, 3}}},
    {"i,j->ij", {{2}, {3}}},
    {"i,i->", {{3}, {3}}},
    {"ij,kl->il", {{2, 3}, {2, 2}}},
    {"ii->i", {{3, 3}}},
    {"ii->", {{3, 3}}},
    {"iij,j->i", {{2, 2, 3}, {3}}},
    {"i->ii", {{3}}},
    {"ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}},
    {"bij,bjk->bik", {{2, 2, 3}, {2, 3, 1}}},
    {",ij->ij", {{}, {2, 3}}},
    {"...ij,...jk->...ik", {{2, 2, 3}, {2, 3, 2}}},
    {"...ij,...jk->...ik", {{2, 3}, {2, 3, 2}}},
    {"...ij,...jk->...ik", {{2, 1, 1, 3}, {2, 3, 1}}},
    {"...ij,jk->...ik", {{2, 2, 3}, {3, 2}}},
    {"i...,j->...ij", {{2, 2, 2}, {3}}},
    {"i...j,...->i...", {{2, 1, 3}, {2}}},
    {"i...j,k...->...", {{2, 3}, {2, 2, 3}}},
    {"i...j,k...->...", {{2, 1, 1, 3}, {2, 2}}},
    {"...->...", {{2, 3}}},
    {"...,...->...", {{2, 1}, {3}}},
    {"b...i,j->b...", {{2, 3, 2}, {2}}},
};

TEST(LinalgRules, Einsum) {
  Draw draw;
  for (const EinsumCase& c : kEinsums) {
    SCOPED_TRACE(c.equation);
    OpCase real{"Einsum", {}, absl::StrCat("equation=\"", c.equation, "\"")};
    OpCase complex = real;
    for (const auto& shape : c.shapes) {
      real.inputs.push_back(draw(shape));
      complex.inputs.push_back(draw.Complex(shape));
    }
    ExpectOpGradient(real);
    ExpectOpGradient(complex);
  }
}

TEST(LinalgRules, KnownEinsumsCostNothing) {
  const std::string text = R"(graph {
    %x = Placeholder() shape=(5,?,3) : float64
    %w = Placeholder() shape=(3,4) : float64
    %y = Einsum(%x, %w) equation="...ij,jk->...ik"
  })";
  EXPECT_THAT(GradientOps(text, {"x"}, "y"), ElementsAre("OnesLike", "Einsum"));
  EXPECT_THAT(GradientOps(text, {"w"}, "y"), ElementsAre("OnesLike", "Einsum", "Sum"));
}

TEST(LinalgRules, MatrixDiag) {
  Draw draw;
  const auto check = [&](const Tensor& diagonal, const Tensor& k, int rows, int columns,
                         const std::string& align) {
    ExpectOpGradient({"MatrixDiagV3",
                      {diagonal, k, Tensor::Scalar<int32_t>(rows), Tensor::Scalar<int32_t>(columns),
                       Tensor::Scalar(0.7)},
                      absl::StrCat("align=\"", align, "\"")});
  };
  for (const std::string align : {"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"}) {
    SCOPED_TRACE(align);
    check(draw({3}), Tensor::Scalar<int32_t>(0), -1, -1, align);
    check(draw({2, 3}), Tensor::Scalar<int32_t>(1), -1, -1, align);
    check(draw({2, 2, 3}), Tensor::Vector<int32_t>({-1, 0}), 3, 3, align);
    check(draw({3, 3}), Tensor::Vector<int32_t>({-1, 1}), 3, 4, align);
  }
}

TEST(LinalgRules, BandedTriangularSolve) {
  Draw draw;
  for (const std::string attrs : {"", "adjoint=true", "lower=false", "lower=false adjoint=true"}) {
    SCOPED_TRACE(attrs);
    ExpectOpGradient({"BandedTriangularSolve", {draw({1, 3}, 1, 2), draw({3, 2})}, attrs});
    ExpectOpGradient({"BandedTriangularSolve", {draw({2, 2, 3}, 1, 2), draw({3, 1})}, attrs});
    ExpectOpGradient(
        {"BandedTriangularSolve", {draw.Complex({3, 3}, 1, 2), draw.Complex({2, 3, 1})}, attrs});
  }
}

}  // namespace
}  // namespace gyre::testing

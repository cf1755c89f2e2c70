// Gradient rules of decompositions, solvers and forms of matrices.
#include "absl/strings/str_cat.h"
#include "grad/check_gradient.h"
#include "gtest/gtest.h"

namespace gyre::testing {
namespace {

// The gradient where the shapes of the inputs are known: rules that choose by them.
void ExpectKnownGradient(const OpCase& c) {
  ExpectGradient(OpText(c, Known::kAll), OpFeeds(c, Known::kAll), OpXs(c), c.y, c.order);
}

// Matrices that are far from singular.
Tensor Regular(Draw& draw, const Dims& dims, bool complex = false) {
  Tensor x = complex ? draw.Complex(dims, -0.5, 0.5) : draw(dims, -0.5, 0.5);
  const int64_t n = dims.back(), size = n * n;
  for (int64_t at = 0; at < x.num_elements(); at += size) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t place = at + i * (n + 1);
      const double more = 2 + 0.7 * static_cast<double>(i);
      if (complex) {
        x.mutable_values<complex128>()[place] += more;
      } else {
        x.mutable_values<double>()[place] += more;
      }
    }
  }
  return x;
}

// y = op(x x* + 1), or of (x + x*) and more on the diagonal: what changes stays self-adjoint.
std::string OfSelfAdjoint(const std::string& op, const std::string& type,
                          const std::string& attrs) {
  return absl::StrCat("graph {\n  %x = Placeholder() shape=(2,3,3) : ", type,
                      "\n  %d = Placeholder() shape=(2,3,3) : ", type,
                      "\n  %s = BatchMatMulV2(%x, %x) adj_y=true\n  %a = AddV2(%s, %d)\n  %y = ",
                      op, "(%a) ", attrs, "\n}");
}
Tensor Diagonal(bool complex) {
  Draw draw;
  Tensor d = complex ? draw.Complex({2, 3, 3}, 0, 0) : draw({2, 3, 3}, 0, 0);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t place = i / 3 * 9 + i % 3 * 4;
    const double value = 1 + 1.5 * static_cast<double>(i % 3);
    if (complex) {
      d.mutable_values<complex128>()[place] = value;
    } else {
      d.mutable_values<double>()[place] = value;
    }
  }
  return d;
}

TEST(DecompositionRules, Cholesky) {
  Draw draw;
  ExpectGradient(OfSelfAdjoint("Cholesky", "float64", ""),
                 {{"x", draw({2, 3, 3})}, {"d", Diagonal(false)}}, {"x"}, "y");
  ExpectGradient(OfSelfAdjoint("Cholesky", "complex128", ""),
                 {{"x", draw.Complex({2, 3, 3})}, {"d", Diagonal(true)}}, {"x"}, "y");
}

TEST(DecompositionRules, SelfAdjointEigenvalues) {
  Draw draw;
  const Feeds real = {{"x", draw({2, 3, 3})}, {"d", Diagonal(false)}};
  const Feeds complex = {{"x", draw.Complex({2, 3, 3})}, {"d", Diagonal(true)}};
  ExpectGradient(OfSelfAdjoint("SelfAdjointEigV2", "float64", ""), real, {"x"}, "y");
  ExpectGradient(OfSelfAdjoint("SelfAdjointEigV2", "float64", ""), real, {"x"}, "y:1");
  ExpectGradient(OfSelfAdjoint("SelfAdjointEigV2", "float64", "compute_v=false"), real, {"x"}, "y");
  ExpectGradient(OfSelfAdjoint("SelfAdjointEigV2", "complex128", ""), complex, {"x"}, "y", 1);
}

TEST(DecompositionRules, Determinants) {
  Draw draw;
  ExpectOpGradient({"MatrixDeterminant", {Regular(draw, {2, 3, 3})}});
  ExpectOpGradient({"MatrixDeterminant", {Regular(draw, {2, 2}, true)}});
  ExpectOpGradient(OpCase{"LogMatrixDeterminant", {Regular(draw, {2, 3, 3})}}.Y("y:1"));
  ExpectOpGradient(OpCase{"LogMatrixDeterminant", {Regular(draw, {2, 2}, true)}});
  ExpectOpGradient(OpCase{"LogMatrixDeterminant", {Regular(draw, {2, 2}, true)}}.Y("y:1"));
}

TEST(DecompositionRules, InversesAndSolutions) {
  Draw draw;
  for (const bool adjoint : {false, true}) {
    const std::string attrs = absl::StrCat("adjoint=", adjoint ? "true" : "false");
    ExpectOpGradient({"MatrixInverse", {Regular(draw, {2, 3, 3})}, attrs});
    ExpectOpGradient({"MatrixInverse", {Regular(draw, {2, 2}, true)}, attrs});
    ExpectOpGradient({"MatrixSolve", {Regular(draw, {2, 3, 3}), draw({2, 3, 2})}, attrs});
    ExpectOpGradient({"MatrixSolve", {Regular(draw, {2, 2}, true), draw.Complex({2, 1})}, attrs});
    for (const bool lower : {false, true}) {
      const std::string both = absl::StrCat(attrs, " lower=", lower ? "true" : "false");
      ExpectOpGradient({"MatrixTriangularSolve", {Regular(draw, {3, 3}), draw({2, 3, 2})}, both});
      ExpectOpGradient(
          {"MatrixTriangularSolve", {Regular(draw, {2, 2}, true), draw.Complex({2, 1})}, both});
    }
  }
}

TEST(DecompositionRules, LeastSquares) {
  Draw draw;
  const Tensor l2 = Tensor::Scalar(0.3);
  for (const Dims& dims : {Dims{2, 4, 3}, Dims{2, 3, 4}}) {
    const Dims rhs = {2, dims[1], 2};
    ExpectKnownGradient(OpCase{"MatrixSolveLs", {draw(dims), draw(rhs), l2}}.Fixed({2}));
  }
}

TEST(DecompositionRules, Lu) {
  Draw draw;
  ExpectOpGradient({"Lu", {Regular(draw, {2, 3, 3})}});
  ExpectOpGradient(OpCase{"Lu", {Regular(draw, {2, 2}, true)}}.Order(1));
}

TEST(DecompositionRules, Qr) {
  Draw draw;
  for (const Dims& dims : {Dims{2, 3, 3}, Dims{4, 2}, Dims{2, 4}}) {
    ExpectKnownGradient({"Qr", {draw(dims)}});
    ExpectKnownGradient(OpCase{"Qr", {draw(dims)}}.Y("y:1"));
  }
}

TEST(DecompositionRules, Svd) {
  Draw draw;
  for (const Dims& dims : {Dims{2, 3, 3}, Dims{4, 2}, Dims{2, 4}}) {
    const Tensor x = draw(dims);
    ExpectKnownGradient({"Svd", {x}});
    ExpectKnownGradient(OpCase{"Svd", {x}}.Y("y:1").Order(1));
    ExpectKnownGradient(OpCase{"Svd", {x}}.Y("y:2").Order(1));
    ExpectKnownGradient({"Svd", {x}, "compute_uv=false"});
    ExpectOpGradient(OpCase{"Svd", {x}, "compute_uv=false"}.Order(1));
  }
  ExpectKnownGradient(OpCase{"Svd", {draw({2, 3})}, "full_matrices=true"}.Y("y:1").Order(1));
}

TEST(DecompositionRules, Eigenvalues) {
  Draw draw;
  // Eigenvectors have length 1, but any phase: their absolute values are differentiated.
  const std::string vectors = R"(graph {
    %x = Placeholder() shape=(3,3) : float64
    %e = Eig(%x) Tout=complex128
    %y = ComplexAbs(%e:1) Tout=float64
  })";
  ExpectGradient(vectors, {{"x", Regular(draw, {3, 3})}}, {"x"}, "y", 1);
  ExpectOpGradient(OpCase{"Eig", {Regular(draw, {2, 3, 3})}, "Tout=complex128"}.Order(1));
  ExpectOpGradient(
      OpCase{"Eig", {Regular(draw, {2, 2}, true)}, "Tout=complex128 compute_v=false"}.Order(1));
}

TEST(DecompositionRules, Roots) {
  Draw draw;
  ExpectOpGradient({"MatrixSquareRoot", {Regular(draw, {2, 3, 3})}});
  ExpectOpGradient(OpCase{"MatrixSquareRoot", {Regular(draw, {2, 2}, true)}}.Order(1));
}

TEST(DecompositionRules, Tridiagonal) {
  Draw draw;
  const auto row = [&] { return draw({2, 1, 3}); };
  ExpectOpGradient({"TridiagonalMatMul", {row(), row(), row(), draw({2, 3, 2})}});
  ExpectOpGradient(
      {"TridiagonalMatMul",
       {draw.Complex({1, 2}), draw.Complex({1, 2}), draw.Complex({1, 2}), draw.Complex({2, 1})}});
  ExpectOpGradient({"TridiagonalSolve", {draw({2, 3, 3}, 1, 2), draw({2, 3, 2})}});
  ExpectOpGradient({"TridiagonalSolve", {draw.Complex({3, 2}, 1, 2), draw.Complex({2, 1})}});
}

TEST(DecompositionRules, Forms) {
  Draw draw;
  ExpectOpGradient({"MatrixBandPart",
                    {draw({2, 3, 4}), Tensor::Scalar<int64_t>(1), Tensor::Scalar<int64_t>(-1)}});
  ExpectOpGradient({"Cross", {draw({2, 3}), draw({2, 3})}});
  ExpectOpGradient({"Diag", {draw({2, 2})}});
  ExpectOpGradient({"DiagPart", {draw({2, 3, 2, 3})}});
  ExpectOpGradient({"MatrixDiag", {draw({2, 3})}});
  ExpectOpGradient({"MatrixDiagPart", {draw({2, 3, 4})}});
  ExpectOpGradient({"MatrixSetDiag", {draw({2, 3, 4}), draw({2, 3})}});
  const Tensor k = Tensor::Vector<int32_t>({-1, 1});
  ExpectOpGradient({"MatrixDiagPartV3", {draw({2, 3, 4}), k, Tensor::Scalar(0.5)}});
  ExpectOpGradient({"MatrixSetDiagV3", {draw({2, 3, 4}), draw({2, 3, 3}), k}});
}

}  // namespace
}  // namespace gyre::testing

// Parts, factors and inverses of matrices, and solutions of equations.
#include "ops/functions/families.h"

namespace gyre {
namespace {

// Argument 0, which must be matrices as far as is known.
Term Matrices(FormulaContext& f, absl::string_view function, absl::string_view name) {
  const Term x = f.tensor(0);
  if (f.shape(x).has_rank()) f.Rank(x, function, name, 2);
  return x;
}

std::vector<Term> BandPart(FormulaContext& f) {
  const Term x = Matrices(f, "band_part", "input");
  const Term lower = Cast(f.tensor(1), DType::kInt64), upper = Cast(f.tensor(2), DType::kInt64);
  return {f.Last("MatrixBandPart", {x, lower, upper})};
}

std::vector<Term> Cholesky(FormulaContext& f) {
  return {f.Last("Cholesky", {Matrices(f, "cholesky", "input")})};
}

std::vector<Term> TriangularSolve(FormulaContext& f) {
  const Term matrix = Matrices(f, "triangular_solve", "matrix");
  return {f.Last("MatrixTriangularSolve", {matrix, f.tensor(1)},
                 {{"lower", f.plain<bool>(2)}, {"adjoint", f.plain<bool>(3)}})};
}

std::vector<Term> BandedTriangularSolve(FormulaContext& f) {
  return {f.Last("BandedTriangularSolve",
                 {Matrices(f, "banded_triangular_solve", "bands"), f.tensor(1)},
                 {{"lower", f.plain<bool>(2)}, {"adjoint", f.plain<bool>(3)}})};
}

std::vector<Term> CholeskySolve(FormulaContext& f) {
  const Term lower = Matrices(f, "cholesky_solve", "chol");
  const Term known = f.op("MatrixTriangularSolve", {lower, f.tensor(1)}, {{"lower", true}});
  return {f.Last("MatrixTriangularSolve", {lower, known}, {{"lower", true}, {"adjoint", true}})};
}

}  // namespace

void RegisterMatrixFunctions(FunctionRegistry& functions) {
  functions.Add({.signature = "(input: tensor, num_lower: tensor, num_upper: tensor)",
                 .doc = "Matrices of which only so many diagonals below and above the main one "
                        "stay (-1: all).",
                 .api = {"linalg.band_part"},
                 .formula = BandPart});
  functions.Add({.signature = "(input: tensor)",
                 .doc = "The lower triangular matrices l with l l* = input, of positive definite "
                        "matrices: [..., n, n].\n\nOnly the lower halves are read. "
                        "InvalidArgumentError if a matrix is not positive definite.",
                 .api = {"linalg.cholesky", "compat.v1.cholesky"},
                 .formula = Cholesky});
  functions.Add({.signature = "(matrix: T, rhs: T, lower: bool = true, adjoint: bool = false)",
                 .doc =
                     "x of matrix x = rhs, or with `adjoint` of matrix* x = rhs: [..., n, n] and "
                     "[..., n, k].\n\nOnly the lower (or upper) halves of the matrices are read.",
                 .api = {"linalg.triangular_solve", "compat.v1.matrix_triangular_solve"},
                 .formula = TriangularSolve});
  functions.Add({.signature = "(chol: T, rhs: T)",
                 .doc = "x of a x = rhs, where chol = cholesky(a): [..., n, n] and [..., n, k].",
                 .api = {"linalg.cholesky_solve", "compat.v1.cholesky_solve"},
                 .formula = CholeskySolve});
  functions.Add({.signature = "(bands: T, rhs: T, lower: bool = true, adjoint: bool = false)",
                 .doc =
                     "x of a x = rhs, or with `adjoint` of a* x = rhs, for triangular matrices a "
                     "of which bands, [..., k, n], holds the k diagonals: a lower one's main "
                     "diagonal first, an upper one's last.",
                 .api = {"linalg.banded_triangular_solve"},
                 .formula = BandedTriangularSolve});
  functions.Add({.signature = "(input: tensor, adjoint: bool = false)",
                 .api = {"linalg.inv", "compat.v1.matrix_inverse"},
                 .op = "MatrixInverse"});
  functions.Add({.signature = "(matrix: T, rhs: T, adjoint: bool = false)",
                 .api = {"linalg.solve", "compat.v1.matrix_solve"},
                 .op = "MatrixSolve"});
}

}  // namespace gyre

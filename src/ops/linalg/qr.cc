// QR decompositions: an orthogonal (or unitary) matrix times an upper triangular one.

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/QR>
// clang-format on

namespace gyre {
namespace {

struct QrAttrs {
  explicit QrAttrs(const Node& node) : full(NodeAttr<bool>(node, "full_matrices")) {}
  bool full;
};

template <typename T>
struct QrKernel {
  static absl::Status Run(KernelContext& ctx, const QrAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, 0, "input"));
    const int64_t m = batch.rows, n = batch.columns;
    const int64_t p = attrs.full ? m : std::min(m, n);
    GYRE_ASSIGN_OR_RETURN(const Shape q_shape, ShapeLike(ctx.input(0).shape(), 2, {m, p}));
    GYRE_ASSIGN_OR_RETURN(const Shape r_shape, ShapeLike(ctx.input(0).shape(), 2, {p, n}));
    GYRE_ASSIGN_OR_RETURN(Tensor q, ctx.Allocate(DTypeOf<T>, q_shape));
    GYRE_ASSIGN_OR_RETURN(Tensor r, ctx.Allocate(DTypeOf<T>, r_shape));
    const T* from = ctx.input(0).values<T>().data();
    T* to_q = q.mutable_values<T>().data();
    T* to_r = r.mutable_values<T>().data();
    if (q.num_elements() + r.num_elements() > 0) {
      const double work = 4.0 * static_cast<double>(m) * p * std::max<int64_t>(n, 1);
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
        Decompose(MatrixAt(from + i * m * n, m, n), MatrixAt(to_q + i * m * p, m, p),
                  MatrixAt(to_r + i * p * n, p, n));
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(q));
    ctx.set_output(1, std::move(r));
    return absl::OkStatus();
  }

 private:
  using Out = Eigen::Map<EigenMatrix<T>>;

  static void Decompose(const Eigen::Map<const EigenMatrix<T>>& matrix, Out q, Out r) {
    q.setIdentity();
    if (matrix.size() == 0) return;  // q may have columns all the same
    const Eigen::HouseholderQR<EigenMatrix<T>> qr(matrix);
    q.applyOnTheLeft(qr.householderQ());
    r = qr.matrixQR().topRows(r.rows()).template triangularView<Eigen::Upper>();
  }
};

absl::Status QrShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::Matrices(c, 0, "input"));
  if (!a.has_rank()) return absl::OkStatus();
  const int64_t m = a.dim(a.rank() - 2), n = a.dim(a.rank() - 1);
  // -1, which is not known, is the least; but 0 is the least there is.
  const int64_t least = m == 0 || n == 0 ? 0 : std::min(m, n);
  const int64_t p = QrAttrs(c.node()).full ? m : least;
  c.set_output(0, matrix_shape::Like(a, 2, {m, p}));
  c.set_output(1, matrix_shape::Like(a, 2, {p, n}));
  return absl::OkStatus();
}

// Of q r with at least as many rows as columns, given the gradients of both.
Expr TallGradient(MatrixFormulas& m, Expr q, Expr r, Expr dq, Expr dr) {
  const Expr qdq = m.Product(q, dq, true);
  const Expr rdr = m.Product(r, dr, false, true);
  const Expr skew = (qdq - m.Adjoint(qdq)) + (rdr - m.Adjoint(rdr));
  const Expr first = m.Product(q, dr + m.OverAdjoint(m.Lower(skew), r));
  const Expr second = m.OverAdjoint(dq - m.Product(q, qdq), r);
  if (!IsComplex(q.dtype())) return first + second;
  // The phases of r's diagonal are held: Walter, Lehmann and Lamour, On evaluating higher-order
  // derivatives of the QR decomposition (2012).
  const Expr diagonal = m.DiagonalOf(rdr - m.Adjoint(qdq));
  const Expr phases = diagonal - Cast(RealPart(diagonal), q.dtype());
  const Expr correction = m.OverAdjoint(m.Product(q, m.Diagonal(Conj(phases))), r);
  return first + second + correction;
}

void QrGradient(GradientContext& g) {
  const PartialShape& a = g.input_shape(0);
  const int64_t rows = a.has_rank() ? a.dim(a.rank() - 2) : -1;
  const int64_t columns = a.has_rank() ? a.dim(a.rank() - 1) : -1;
  if (rows < 0 || columns < 0) {
    return g.Fail(absl::UnimplementedError(
        "the gradient needs to know the numbers of rows and columns of input"));
  }
  if (rows > columns && QrAttrs(g.node()).full) {
    return g.Fail(absl::UnimplementedError(
        "there is no gradient where full_matrices is true and there are more rows than columns"));
  }
  MatrixFormulas m = MatrixFormulas::OfInput(g);
  const Expr q = g.output(0), r = g.output(1), dq = g.grad(0), dr = g.grad(1);
  if (rows >= columns) return g.Add(0, TallGradient(m, q, r, dq, dr));
  // [x, y] = q [u, v], where x is square.
  const auto split = static_cast<int32_t>(rows);
  if (split == 0) return g.Add(0, g.zero(0));
  const Expr y = m.Columns(g.input(0), split, 0);
  const Expr dv = m.Columns(dr, split, 0);
  const Expr dx = TallGradient(m, q, m.Columns(r, 0, split), dq + m.Product(y, dv, false, true),
                               m.Columns(dr, 0, split));
  g.Add(0, g.op("ConcatV2", {dx, m.Product(q, dv), g.builder().Int(-1)}));
}

}  // namespace

void RegisterQr(OpRegistry& ops) {
  ops.Add({
      .schema = absl::StrCat(
          "Qr(input: T) -> q: T, r: T {full_matrices: bool = false; T: ", kDecomposedTypes, "}"),
      .doc = "Matrices q with orthonormal columns and upper triangular r whose product is input.",
      .shape = QrShape,
      .gradient = {QrGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<QrKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre

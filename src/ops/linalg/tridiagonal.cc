// Products of tridiagonal matrices with others, and solutions of tridiagonal systems of equations.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"

namespace gyre {
namespace {

// y_i = super_i x_(i+1) + main_i x_i + sub_i x_(i-1), for rows x_i.
template <typename T>
struct TridiagonalMatMulKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 3, "rhs"));
    const int64_t m = rhs.rows, n = rhs.columns;
    const Shape& shape = ctx.input(3).shape();
    GYRE_ASSIGN_OR_RETURN(const Shape wanted, ShapeLike(shape, 2, {1, m}));
    constexpr const char* kNames[] = {"superdiag", "maindiag", "subdiag"};
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).shape() == wanted) continue;
      return absl::InvalidArgumentError(absl::StrCat(kNames[i], " must have shape ",
                                                     wanted.ToString(), ", but has ",
                                                     ctx.input(i).shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    const T* super = ctx.input(0).values<T>().data();
    const T* main = ctx.input(1).values<T>().data();
    const T* sub = ctx.input(2).values<T>().data();
    const T* x = ctx.input(3).values<T>().data();
    T* y = out.mutable_values<T>().data();
    if (out.num_elements() > 0) {
      const int64_t grain = std::max<int64_t>(1, (1 << 14) / n);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(rhs.count * m, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r % m;
          const T* row = x + r * n;
          T* to = y + r * n;
          for (int64_t j = 0; j < n; ++j) to[j] = main[r] * row[j];
          if (i + 1 < m) {
            for (int64_t j = 0; j < n; ++j) to[j] += super[r] * row[n + j];
          }
          if (i > 0) {
            for (int64_t j = 0; j < n; ++j) to[j] += sub[r] * row[j - n];
          }
        }
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

struct SolveAttrs {
  explicit SolveAttrs(const Node& node)
      : pivots(NodeAttr<bool>(node, "partial_pivoting")),
        perturbs(NodeAttr<bool>(node, "perturb_singular")) {}
  bool pivots;
  bool perturbs;
};

// One system: diagonals super, main and sub, each of n elements, of which the last of super and the
// first of sub are not read; k right-hand sides.
template <typename T>
class TridiagonalSystem {
 public:
  using Real = decltype(std::abs(T()));

  TridiagonalSystem(const T* diagonals, int64_t n, const T* rhs, int64_t k, T* x)
      : super_(diagonals), main_(diagonals + n), sub_(diagonals + 2 * n), n_(n), k_(k), x_(x) {
    std::copy_n(rhs, n * k, x);
  }

  // Gaussian elimination with row exchanges: a row has up to three elements from its diagonal on.
  const char* SolveWithPivots(bool perturbs) {
    const char* const kSingular = "The matrix is not invertible.";
    const Real least = perturbs ? LeastPivot() : Real(0);
    std::vector<T> rows(3 * n_);
    rows[0] = main_[0];
    rows[1] = n_ > 1 ? super_[0] : T(0);
    for (int64_t i = 0; i + 1 < n_; ++i) {
      T* upper = &rows[3 * i];
      T* lower = upper + 3;
      const T below[3] = {sub_[i + 1], main_[i + 1], i + 2 < n_ ? super_[i + 1] : T(0)};
      if (std::abs(upper[0]) >= std::abs(below[0]) || !(std::abs(below[0]) > 0)) {
        if (perturbs) Perturb(upper[0], least);
        if (upper[0] == T(0)) return kSingular;
        const T factor = below[0] / upper[0];
        lower[0] = below[1] - factor * upper[1];
        lower[1] = below[2];
        for (int64_t j = 0; j < k_; ++j) Row(i + 1)[j] -= factor * Row(i)[j];
      } else {
        const T factor = upper[0] / below[0];
        lower[0] = upper[1] - factor * below[1];
        lower[1] = -(factor * below[2]);
        std::copy_n(below, 3, upper);
        for (int64_t j = 0; j < k_; ++j) {
          const T kept = Row(i)[j];
          Row(i)[j] = Row(i + 1)[j];
          Row(i + 1)[j] = kept - factor * Row(i + 1)[j];
        }
      }
    }
    T& last = rows[3 * (n_ - 1)];
    if (perturbs) Perturb(last, least);
    if (last == T(0)) return n_ == 1 ? kZeroScalar : kSingular;
    for (int64_t i = n_ - 1; i >= 0; --i) {
      for (int64_t j = 0; j < k_; ++j) {
        T value = Row(i)[j];
        if (i + 1 < n_) value -= rows[3 * i + 1] * Row(i + 1)[j];
        if (i + 2 < n_) value -= rows[3 * i + 2] * Row(i + 2)[j];
        Row(i)[j] = value / rows[3 * i];
      }
    }
    return nullptr;
  }

  // Thomas' algorithm: elimination without exchanges.
  const char* SolveWithoutPivots() {
    const char* const kFailed =
        "The matrix is either not invertible, or requires pivoting. Try setting "
        "partial_pivoting = True.";
    if (main_[0] == T(0)) return n_ == 1 ? kZeroScalar : kFailed;
    std::vector<T> above(n_);
    above[0] = n_ > 1 ? super_[0] / main_[0] : T(0);
    for (int64_t j = 0; j < k_; ++j) Row(0)[j] /= main_[0];
    for (int64_t i = 1; i < n_; ++i) {
      const T divisor = main_[i] - sub_[i] * above[i - 1];
      if (divisor == T(0)) return kFailed;
      above[i] = i + 1 < n_ ? super_[i] / divisor : T(0);
      for (int64_t j = 0; j < k_; ++j) Row(i)[j] = (Row(i)[j] - sub_[i] * Row(i - 1)[j]) / divisor;
    }
    for (int64_t i = n_ - 2; i >= 0; --i) {
      for (int64_t j = 0; j < k_; ++j) Row(i)[j] -= above[i] * Row(i + 1)[j];
    }
    return nullptr;
  }

 private:
  static constexpr const char* kZeroScalar =
      "The matrix is not invertible: it is a scalar with value zero.";

  T* Row(int64_t i) { return x_ + i * k_; }

  // What pivots are moved to that are smaller: an epsilon of the largest element.
  Real LeastPivot() const {
    Real most = 0;
    for (int64_t i = 0; i < n_; ++i) {
      most = std::max(most, std::abs(main_[i]));
      if (i + 1 < n_) most = std::max(most, std::abs(super_[i]));
      if (i > 0) most = std::max(most, std::abs(sub_[i]));
    }
    return most == 0 ? std::numeric_limits<Real>::epsilon()
                     : most * std::numeric_limits<Real>::epsilon();
  }
  static void Perturb(T& pivot, Real least) {
    if (std::abs(pivot) < least) pivot = std::real(pivot) < 0 ? T(-least) : T(least);
  }

  const T* super_;
  const T* main_;
  const T* sub_;
  int64_t n_, k_;
  T* x_;
};

template <typename T>
struct TridiagonalSolveKernel {
  static absl::Status Run(KernelContext& ctx, const SolveAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 1, "rhs"));
    const int64_t n = rhs.rows, k = rhs.columns;
    const Shape& shape = ctx.input(1).shape();
    GYRE_ASSIGN_OR_RETURN(const Shape wanted, ShapeLike(shape, 2, {3, n}));
    if (ctx.input(0).shape() != wanted) {
      return absl::InvalidArgumentError(absl::StrCat("Expected diagonals of shape ",
                                                     wanted.ToString(), " got ",
                                                     ctx.input(0).shape().ToString()));
    }
    if (attrs.perturbs && !attrs.pivots) {
      return absl::InvalidArgumentError(
          "Setting perturb_singular requires pivoting. Try setting partial_pivoting = True.");
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const T* diagonals = ctx.input(0).values<T>().data();
      const T* right = ctx.input(1).values<T>().data();
      T* to = out.mutable_values<T>().data();
      const double work = 10.0 * static_cast<double>(n) * k;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, rhs.count, work, [&](int64_t i) {
        TridiagonalSystem<T> system(diagonals + i * 3 * n, n, right + i * n * k, k, to + i * n * k);
        return attrs.pivots ? system.SolveWithPivots(attrs.perturbs) : system.SolveWithoutPivots();
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// `diagonals`: the inputs that hold diagonals, in matrices of so many rows.
absl::Status TridiagonalShape(ShapeContext& c, int diagonals, int64_t rows) {
  GYRE_ASSIGN_OR_RETURN(PartialShape rhs, matrix_shape::Matrices(c, diagonals, "rhs"));
  for (int i = 0; i < diagonals; ++i) {
    GYRE_ASSIGN_OR_RETURN(const PartialShape diagonal, matrix_shape::Matrices(c, i, "diagonals"));
    if (!rhs.has_rank() || !diagonal.has_rank()) continue;
    const int64_t m = rhs.dim(rhs.rank() - 2);
    const absl::StatusOr<PartialShape> both =
        matrix_shape::Like(rhs, 2, {rows, m}).Intersect(diagonal);
    if (!both.ok()) return Annotate(both.status(), "diagonals and rhs do not fit together");
    rhs = matrix_shape::Like(*both, 2, {both->dim(both->rank() - 1), rhs.dim(rhs.rank() - 1)});
  }
  c.set_output(0, std::move(rhs));
  return absl::OkStatus();
}

// Rows of matrices moved up (by 1) or down (-1), with zeros coming in.
Expr Shifted(GradientContext& g, Expr x, int by) {
  ExprBuilder& b = g.builder();
  // [..., 1:, :] or [..., :-1, :]; the ellipsis is bit 0 of its mask.
  const Expr kept =
      g.op("StridedSlice",
           {x, b.Ints({0, by > 0 ? 1 : 0, 0}), b.Ints({0, by > 0 ? 0 : -1, 0}), b.Ints({1, 1, 1})},
           {{"ellipsis_mask", int64_t{1}},
            {"begin_mask", int64_t{by > 0 ? 4 : 6}},
            {"end_mask", int64_t{by > 0 ? 6 : 4}}});
  const Expr first =
      g.op("StridedSlice", {x, b.Ints({0, 0, 0}), b.Ints({0, 1, 0}), b.Ints({1, 1, 1})},
           {{"ellipsis_mask", int64_t{1}}, {"begin_mask", int64_t{6}}, {"end_mask", int64_t{4}}});
  const Expr zeros = ZerosLike(first);
  return by > 0 ? g.op("ConcatV2", {kept, zeros, b.Int(-2)})
                : g.op("ConcatV2", {zeros, kept, b.Int(-2)});
}

// Σ over columns of a conj(b), for each row.
Expr RowProducts(GradientContext& g, Expr a, Expr b) {
  return Sum(a * Conj(b), g.builder().Int(-1));
}

void TridiagonalMatMulGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g, 3);
  const Expr x = g.input(3), grad = g.grad();
  const auto as_column = [&](int i) { return Conj(m.Transpose(g.input(i))); };
  if (g.wants(0)) g.Add(0, m.AsRow(RowProducts(g, grad, Shifted(g, x, 1))));
  if (g.wants(1)) g.Add(1, m.AsRow(RowProducts(g, grad, x)));
  if (g.wants(2)) g.Add(2, m.AsRow(RowProducts(g, grad, Shifted(g, x, -1))));
  if (!g.wants(3)) return;
  const Expr upper = Shifted(g, as_column(0) * grad, -1);
  const Expr lower = Shifted(g, as_column(2) * grad, 1);
  g.Add(3, upper + as_column(1) * grad + lower);
}

void TridiagonalSolveGradient(GradientContext& g) {
  MatrixFormulas m = MatrixFormulas::OfInput(g, 1);
  ExprBuilder& b = g.builder();
  const auto diagonal = [&](int32_t i) {
    return g.op("GatherV2", {g.input(0), b.Int(i), b.Int(-2)});
  };
  const Expr super = m.AsColumn(diagonal(0)), sub = m.AsColumn(diagonal(2));
  // Of the adjoint matrix.
  const auto row = [&](Expr column) { return Conj(m.Transpose(column)); };
  const Expr turned = g.op("ConcatV2", {row(Shifted(g, sub, 1)), Conj(m.AsRow(diagonal(1))),
                                        row(Shifted(g, super, -1)), b.Int(-2)});
  const SolveAttrs attrs(g.node());
  const Expr to_rhs =
      g.op("TridiagonalSolve", {turned, g.grad()},
           {{"partial_pivoting", attrs.pivots}, {"perturb_singular", attrs.perturbs}});
  g.Add(1, to_rhs);
  if (!g.wants(0)) return;
  const Expr x = g.output(0);
  const Expr products =
      g.op("ConcatV2",
           {m.AsRow(RowProducts(g, to_rhs, Shifted(g, x, 1))), m.AsRow(RowProducts(g, to_rhs, x)),
            m.AsRow(RowProducts(g, to_rhs, Shifted(g, x, -1))), b.Int(-2)});
  g.Add(0, -products);
}

}  // namespace

void RegisterTridiagonal(OpRegistry& ops) {
  ops.Add({
      .schema = "TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> output: T "
                "{T: {double, float, complex64, complex128}}",
      .doc = "Tridiagonal matrices times others.",
      .shape = [](ShapeContext& c) { return TridiagonalShape(c, 3, 1); },
      .gradient = {TridiagonalMatMulGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<TridiagonalMatMulKernel, DecomposedTypes>("T"),
  });
  ops.Add({
      .schema = "TridiagonalSolve(diagonals: T, rhs: T) -> output: T {partial_pivoting: bool = "
                "true; perturb_singular: bool = false; T: {double, float, complex64, complex128}}",
      .doc =
          "x of matrix x = rhs for tridiagonal matrices, given as their diagonals from the upper "
          "one down.",
      .shape = [](ShapeContext& c) { return TridiagonalShape(c, 1, 3); },
      .gradient = {TridiagonalSolveGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<TridiagonalSolveKernel, DecomposedTypes>("T"),
  });
}

}  // namespace gyre

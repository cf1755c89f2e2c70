// Singular value decompositions.
#include <limits>

#include "ir/gradient_context.h"
#include "ops/linalg/eigen.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/SVD>
// clang-format on

namespace gyre {
namespace {

struct SvdAttrs {
  explicit SvdAttrs(const Node& node)
      : vectors(NodeAttr<bool>(node, "compute_uv")), full(NodeAttr<bool>(node, "full_matrices")) {}
  bool vectors;
  bool full;
};

template <typename T>
struct SvdKernel {
  static absl::Status Run(KernelContext& ctx, const SvdAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, 0, "input"));
    const int64_t m = batch.rows, n = batch.columns, p = std::min(m, n);
    const Shape& shape = ctx.input(0).shape();
    const int64_t u_columns = attrs.full ? m : p, v_columns = attrs.full ? n : p;
    Shape u_shape = Shape::Vector(0), v_shape = Shape::Vector(0);
    GYRE_ASSIGN_OR_RETURN(const Shape s_shape, ShapeLike(shape, 2, {p}));
    if (attrs.vectors) {
      GYRE_ASSIGN_OR_RETURN(u_shape, ShapeLike(shape, 2, {m, u_columns}));
      GYRE_ASSIGN_OR_RETURN(v_shape, ShapeLike(shape, 2, {n, v_columns}));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor s, ctx.Allocate(DTypeOf<T>, s_shape));
    GYRE_ASSIGN_OR_RETURN(Tensor u, ctx.Allocate(DTypeOf<T>, u_shape));
    GYRE_ASSIGN_OR_RETURN(Tensor v, ctx.Allocate(DTypeOf<T>, v_shape));
    const T* from = ctx.input(0).values<T>().data();
    T* to_s = s.mutable_values<T>().data();
    T* to_u = attrs.vectors ? u.mutable_values<T>().data() : nullptr;
    T* to_v = attrs.vectors ? v.mutable_values<T>().data() : nullptr;
    if (s.num_elements() + u.num_elements() + v.num_elements() > 0) {
      const double work = 20.0 * static_cast<double>(m) * n * p + 1;
      GYRE_RETURN_IF_ERROR(ForEachMatrix(ctx, batch.count, work, [&](int64_t i) -> const char* {
        const auto matrix = MatrixAt(from + i * m * n, m, n);
        if (!attrs.vectors) {
          Values(matrix, to_s + i * p);
        } else {
          Decompose(matrix, attrs.full, to_s + i * p,
                    MatrixAt(to_u + i * m * u_columns, m, u_columns),
                    MatrixAt(to_v + i * n * v_columns, n, v_columns));
        }
        return nullptr;
      }));
    }
    ctx.set_output(0, std::move(s));
    ctx.set_output(1, std::move(u));
    ctx.set_output(2, std::move(v));
    return absl::OkStatus();
  }

 private:
  using In = Eigen::Map<const EigenMatrix<T>>;
  using Out = Eigen::Map<EigenMatrix<T>>;
  using C = SolverType<T>;
  // As the decomposition goes: compiled in two thirds of the time.
  using Columns = Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic>;
  static T Nan() { return T(std::numeric_limits<RealOf<T>>::quiet_NaN()); }

  static void Values(const In& matrix, T* s) {
    const int64_t p = std::min(matrix.rows(), matrix.cols());
    if (p == 0) return;
    if (!matrix.allFinite()) {
      std::fill_n(s, p, Nan());
      return;
    }
    const Eigen::BDCSVD<Columns> svd(matrix.template cast<C>(), 0);
    VectorAt(s, p) = svd.singularValues().template cast<RealOf<T>>().template cast<T>();
  }

  static void Decompose(const In& matrix, bool full, T* s, Out u, Out v) {
    const int64_t p = std::min(matrix.rows(), matrix.cols());
    if (p == 0) {
      u.setIdentity();
      v.setIdentity();
      return;
    }
    if (!matrix.allFinite()) {
      std::fill_n(s, p, Nan());
      u.setConstant(Nan());
      v.setConstant(Nan());
      return;
    }
    const Eigen::BDCSVD<Columns> svd(matrix.template cast<C>(),
                                     full ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                          : Eigen::ComputeThinU | Eigen::ComputeThinV);
    VectorAt(s, p) = svd.singularValues().template cast<RealOf<T>>().template cast<T>();
    u = svd.matrixU().template cast<T>();
    v = svd.matrixV().template cast<T>();
  }
};

absl::Status SvdShape(ShapeContext& c) {
  const SvdAttrs attrs(c.node());
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, matrix_shape::Matrices(c, 0, "input"));
  if (!attrs.vectors) {
    c.set_output(1, PartialShape(Shape::Vector(0)));
    c.set_output(2, PartialShape(Shape::Vector(0)));
  }
  if (!a.has_rank()) return absl::OkStatus();
  const int64_t m = a.dim(a.rank() - 2), n = a.dim(a.rank() - 1);
  const int64_t p = m == 0 || n == 0 ? 0 : std::min(m, n);  // -1 where one is not known
  c.set_output(0, matrix_shape::Like(a, 2, {p}));
  if (!attrs.vectors) return absl::OkStatus();
  c.set_output(1, matrix_shape::Like(a, 2, {m, attrs.full ? m : p}));
  c.set_output(2, matrix_shape::Like(a, 2, {n, attrs.full ? n : p}));
  return absl::OkStatus();
}

// The parts of a decomposition of matrices that have no more rows than columns, and their
// gradients.
struct WideSvd {
  Expr s, u, v, ds, du, dv;
  int64_t m, n;
};

// Giles, An extended collection of matrix derivative results (2008), section 3.2; with what
// TensorFlow adds for complex numbers.
Expr WideGradient(GradientContext& g, MatrixFormulas& f, const WideSvd& d, bool full) {
  const auto m = static_cast<int32_t>(d.m);
  const auto n = static_cast<int32_t>(d.n);
  const Expr v1 = full ? f.Columns(d.v, 0, m) : d.v;
  const Expr dv1 = full ? f.Columns(d.dv, 0, m) : d.dv;
  const Expr differences = f.ReciprocalDifferences(g.op("Square", {d.s}));
  const Expr u_du = f.Product(d.u, d.du, true), v_dv = f.Product(v1, dv1, true);
  const Expr of_u = differences * u_du, of_v = differences * v_dv;
  const Expr inner = f.Diagonal(d.ds) + (of_u + f.Adjoint(of_u)) * f.AsRow(d.s) +
                     f.AsColumn(d.s) * (of_v + f.Adjoint(of_v));
  Expr sum = f.Product(d.u, f.Product(inner, v1, false, true));
  const Expr inverse = f.SafeReciprocal(d.s);
  if (m < n) {
    const Expr turned = f.Adjoint(dv1);
    Expr rest = turned - f.Product(f.Product(turned, v1), v1, false, true);
    if (full) {
      const Expr v2 = f.Columns(d.v, m, n), dv2 = f.Columns(d.dv, m, n);
      rest = rest - f.Product(f.Product(v1, dv2, true), v2, false, true);
    }
    sum = sum + f.Product(d.u * f.AsRow(inverse), rest);
  }
  if (!IsComplex(d.s.dtype())) return sum;
  const Expr phases = f.DiagonalOf(v_dv);
  const Expr turned = f.Diagonal(inverse * (Conj(phases) - phases));
  return sum + 0.5 * f.Product(d.u, f.Product(turned, v1, false, true));
}

void SvdGradient(GradientContext& g) {
  const SvdAttrs attrs(g.node());
  MatrixFormulas f = MatrixFormulas::OfInput(g);
  if (!attrs.vectors) {
    const std::vector<Expr> parts =
        g.builder().Ops("Svd", {g.input(0)}, {{"compute_uv", true}, {"full_matrices", false}}, 3);
    return g.Add(0, f.Product(parts[1] * f.AsRow(g.grad(0)), parts[2], false, true));
  }
  const PartialShape& a = g.input_shape(0);
  const int64_t m = a.has_rank() ? a.dim(a.rank() - 2) : -1;
  const int64_t n = a.has_rank() ? a.dim(a.rank() - 1) : -1;
  if (m < 0 || n < 0) {
    return g.Fail(absl::UnimplementedError(
        "the gradient needs to know the numbers of rows and columns of input"));
  }
  if (m == 0 || n == 0) return g.Add(0, g.zero(0));
  if (attrs.full && std::abs(m - n) > 1) {
    return g.Fail(absl::UnimplementedError(
        "there is no gradient where full_matrices is true and the numbers of rows and columns "
        "differ by more than 1"));
  }
  const Expr s = g.output(0), ds = g.grad(0);
  if (m <= n) {
    const WideSvd d = {s, g.output(1), g.output(2), ds, g.grad(1), g.grad(2), m, n};
    g.Add(0, WideGradient(g, f, d, attrs.full && m < n));
  } else {
    const WideSvd d = {s, g.output(2), g.output(1), ds, g.grad(2), g.grad(1), n, m};
    g.Add(0, f.Adjoint(WideGradient(g, f, d, attrs.full)));
  }
}

// Without vectors the outputs for them are empty, and the same in all rows.
absl::Status SvdBatch(BatchContext& c) {
  if (c.attr<bool>("compute_uv", true)) return c.Emit({c.stacked(0)});
  return c.Emit({c.stacked(0)}, {}, {Rows::kStacked, Rows::kSame, Rows::kSame});
}

void AddSvd(OpRegistry& ops, absl::string_view name, absl::string_view types) {
  ops.Add({
      .schema = absl::StrCat(name,
                             "(input: T) -> s: T, u: T, v: T {compute_uv: bool = true; "
                             "full_matrices: bool = false; T: ",
                             types, "}"),
      .doc = "Singular values in falling order, and u and v with input = u diag(s) v*.",
      .shape = SvdShape,
      .gradient = {SvdGradient},
      .batch = {SvdBatch},
      .kernel = ForTypes<SvdKernel, DecomposedTypes>("T"),
  });
}

}  // namespace

void RegisterSvd(OpRegistry& ops) {
  AddSvd(ops, "Svd", kDecomposedTypes);
  AddSvd(ops, "BatchSvd", "{double, float, complex64, complex128}");
}

}  // namespace gyre

// Systems of linear equations with triangular matrices: what the ops for them share, however they
// hold the matrices. Input 0 is the matrices, input 1 the right-hand sides; their leading
// dimensions are broadcast.
//
// Pure functions; any thread.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/matrix_formulas.h"
#include "ops/math/broadcast.h"

namespace gyre {

struct TriangularAttrs {
  explicit TriangularAttrs(const Node& node)
      : lower(NodeAttr<bool>(node, "lower")), adjoint(NodeAttr<bool>(node, "adjoint")) {}
  bool lower;
  bool adjoint;
};

// A matrix of n columns, k right-hand sides [n, k], and where their solutions [n, k] go.
template <typename T>
struct TriangularSystem {
  const T* matrix;
  const T* rhs;
  T* x;
  int64_t n, k;
};

// Sets output 0 to what solve(TriangularSystem<T>) writes. It returns whether there is a solution.
template <typename T, typename Solve>
absl::Status SolveTriangularSystems(KernelContext& ctx, const MatrixBatch& matrices,
                                    const Solve& solve) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch rhs, MatricesOf(ctx, 1, "rhs"));
  const Shape &a = ctx.input(0).shape(), &b = ctx.input(1).shape();
  const int64_t n = matrices.columns, k = rhs.columns;
  if (rhs.rows != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("In[0] and In[1] do not match: matrix and rhs have shapes ", a.ToString(),
                     " and ", b.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape a_batch, ShapeLike(a, 2, {}));
  GYRE_ASSIGN_OR_RETURN(const Shape b_batch, ShapeLike(b, 2, {}));
  GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast({&a_batch, &b_batch}));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeLike(plan.shape, 0, {n, k}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
  if (out.num_elements() > 0) {
    const T* from = static_cast<const T*>(ctx.input(0).raw_data());
    const T* right = static_cast<const T*>(ctx.input(1).raw_data());
    T* to = static_cast<T*>(out.mutable_raw_data());
    const double work = static_cast<double>(matrices.size()) * static_cast<double>(k);
    GYRE_RETURN_IF_ERROR(
        ForEachMatrix(ctx, plan.shape.num_elements(), work, [&](int64_t i) -> const char* {
          bool is_solved = true;
          ForEachStretch(plan, i, i + 1, [&](const BroadcastPlan::Offsets& at, int64_t, int64_t) {
            is_solved = solve(TriangularSystem<T>{from + at[0] * matrices.size(),
                                                  right + at[1] * n * k, to + i * n * k, n, k});
          });
          return is_solved ? nullptr : "Input matrix is not invertible.";
        }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The rule of shapes, where `a` is that of the matrices, as far as they have been checked.
absl::Status TriangularShape(ShapeContext& c, const PartialShape& a);

// Adds gradients, given that of the right-hand sides; `part` takes what is held of the matrices
// from whole ones.
void AddTriangularGradients(GradientContext& g, Expr to_rhs,
                            absl::FunctionRef<Expr(MatrixFormulas&, Expr)> part);

absl::Status TriangularBatch(BatchContext& c);

}  // namespace gyre

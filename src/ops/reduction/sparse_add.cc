// SparseAdd and its gradient: sums of sparse tensors in coordinate form (indices [n, rank] in
// lexicographic order, values [n], shape [rank]).
#include <algorithm>
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Rows of coordinates.
struct Coordinates {
  const int64_t* data;
  int64_t n;
  int64_t rank;

  const int64_t* row(int64_t i) const { return data + i * rank; }
};

absl::StatusOr<Coordinates> CoordinatesInput(const KernelContext& ctx, int i,
                                             absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a matrix, but its shape is ", t.shape().ToString()));
  }
  return Coordinates{static_cast<const int64_t*>(t.raw_data()), t.dim(0), t.dim(1)};
}

absl::Status CheckVector(const KernelContext& ctx, int i, int64_t size, absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() == 1 && t.dim(0) == size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must be a vector of ", size, " elements, but its shape is ", t.shape().ToString()));
}

// <0, 0, >0 as row x comes before, with, or after row y.
int Compare(const int64_t* x, const int64_t* y, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if (x[d] != y[d]) return x[d] < y[d] ? -1 : 1;
  }
  return 0;
}

template <typename T>
auto Magnitude(T x) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    return x < 0 ? -static_cast<double>(x) : static_cast<double>(x);
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return static_cast<double>(std::abs(x));
  } else if constexpr (kIsSmallFloat<T>) {
    return static_cast<double>(std::fabs(static_cast<float>(x)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(std::fabs(x));
  } else {
    return static_cast<double>(x);
  }
}

absl::StatusOr<double> ThresholdInput(const KernelContext& ctx) {
  const Tensor& thresh = ctx.input(6);
  if (thresh.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("thresh must be a scalar, but its shape is ", thresh.shape().ToString()));
  }
  double value = 0;
  GYRE_RETURN_IF_ERROR(VisitType<RealTypes>(thresh.dtype(), [&](auto tag) {
    using R = typename decltype(tag)::type;
    if constexpr (kIsSmallFloat<R>) {
      value = static_cast<float>(thresh.scalar<R>());
    } else {
      value = static_cast<double>(thresh.scalar<R>());
    }
    return absl::OkStatus();
  }));
  return value;
}

struct Operands {
  Coordinates a;
  Coordinates b;
};

absl::StatusOr<Operands> OperandsInput(const KernelContext& ctx) {
  Operands in;
  GYRE_ASSIGN_OR_RETURN(in.a, CoordinatesInput(ctx, 0, "a_indices"));
  GYRE_ASSIGN_OR_RETURN(in.b, CoordinatesInput(ctx, 3, "b_indices"));
  GYRE_RETURN_IF_ERROR(CheckVector(ctx, 1, in.a.n, "a_values"));
  GYRE_RETURN_IF_ERROR(CheckVector(ctx, 4, in.b.n, "b_values"));
  if (in.a.rank != in.b.rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the operands must have the same rank, but have ", in.a.rank, " and ", in.b.rank));
  }
  GYRE_RETURN_IF_ERROR(CheckVector(ctx, 2, in.a.rank, "a_shape"));
  GYRE_RETURN_IF_ERROR(CheckVector(ctx, 5, in.b.rank, "b_shape"));
  const absl::Span<const int64_t> a_shape = ctx.input(2).values<int64_t>();
  const absl::Span<const int64_t> b_shape = ctx.input(5).values<int64_t>();
  for (int64_t d = 0; d < in.a.rank; ++d) {
    if (a_shape[d] != b_shape[d]) {
      return absl::InvalidArgumentError(absl::StrCat("the operands' shapes do not match: got ",
                                                     a_shape[d], " and ", b_shape[d],
                                                     " for dimension ", d));
    }
  }
  return in;
}

template <typename T>
struct SparseAddKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const Operands in, OperandsInput(ctx));
    GYRE_ASSIGN_OR_RETURN(const double thresh, ThresholdInput(ctx));
    const T* a = static_cast<const T*>(ctx.input(1).raw_data());
    const T* b = static_cast<const T*>(ctx.input(4).raw_data());
    // The merge is walked twice: to count what is kept, then to write it.
    int64_t kept = 0;
    GYRE_RETURN_IF_ERROR(Merge(ctx, in, a, b, thresh, [&](const int64_t*, const T&) { ++kept; }));
    GYRE_ASSIGN_OR_RETURN(const Shape indices_shape, Shape::Make({kept, in.a.rank}));
    GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt64, indices_shape));
    GYRE_ASSIGN_OR_RETURN(Tensor values, ctx.Allocate(DTypeOf<T>, Shape::Vector(kept)));
    auto* next_index = static_cast<int64_t*>(indices.mutable_raw_data());
    T* next_value = static_cast<T*>(values.mutable_raw_data());
    GYRE_RETURN_IF_ERROR(Merge(ctx, in, a, b, thresh, [&](const int64_t* row, const T& value) {
      next_index = std::copy_n(row, in.a.rank, next_index);
      *next_value++ = value;
    }));
    ctx.set_output(0, std::move(indices));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, ctx.TakeInput(2));
    return absl::OkStatus();
  }

 private:
  // Calls emit(row, value) in order for each element that one operand alone has, and for each sum
  // of two that is not below the threshold.
  template <typename Emit>
  static absl::Status Merge(const KernelContext& ctx, const Operands& in, const T* a, const T* b,
                            double thresh, const Emit& emit) {
    int64_t i = 0;
    int64_t j = 0;
    while (i < in.a.n || j < in.b.n) {
      if ((i + j) % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const int order = i == in.a.n   ? 1
                        : j == in.b.n ? -1
                                      : Compare(in.a.row(i), in.b.row(j), in.a.rank);
      const int64_t* row = order <= 0 ? in.a.row(i) : in.b.row(j);
      if (order == 0) {
        const T sum = FromAccumulator<T>(ToAccumulator(a[i++]) + ToAccumulator(b[j++]));
        if (thresh <= Magnitude(sum)) emit(row, sum);
      } else {
        emit(row, order < 0 ? a[i++] : b[j++]);
      }
    }
    return absl::OkStatus();
  }
};

// Gives each element of an operand the gradient of the element of the sum that it went into, or
// zero.
template <typename T>
struct SparseAddGradKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const Coordinates sum, CoordinatesInput(ctx, 3, "sum_indices"));
    GYRE_RETURN_IF_ERROR(CheckVector(ctx, 0, sum.n, "backprop_val_grad"));
    GYRE_ASSIGN_OR_RETURN(const Coordinates a, CoordinatesInput(ctx, 1, "a_indices"));
    GYRE_ASSIGN_OR_RETURN(const Coordinates b, CoordinatesInput(ctx, 2, "b_indices"));
    if (a.rank != sum.rank || b.rank != sum.rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("a_indices, b_indices and sum_indices must have the same rank, but have ",
                       a.rank, ", ", b.rank, " and ", sum.rank));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor a_grad, Pick(ctx, a, sum));
    GYRE_ASSIGN_OR_RETURN(Tensor b_grad, Pick(ctx, b, sum));
    ctx.set_output(0, std::move(a_grad));
    ctx.set_output(1, std::move(b_grad));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> Pick(const KernelContext& ctx, const Coordinates& operand,
                                     const Coordinates& sum) {
    const T* from = static_cast<const T*>(ctx.input(0).raw_data());
    GYRE_ASSIGN_OR_RETURN(Tensor grad, ctx.AllocateZeros(DTypeOf<T>, Shape::Vector(operand.n)));
    T* to = static_cast<T*>(grad.mutable_raw_data());
    int64_t s = 0;
    for (int64_t i = 0; i < operand.n; ++i) {
      if (i % 4096 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      while (s < sum.n && Compare(sum.row(s), operand.row(i), sum.rank) < 0) ++s;
      if (s < sum.n && Compare(sum.row(s), operand.row(i), sum.rank) == 0) to[i] = from[s];
    }
    return grad;
  }
};

absl::Status SparseAddShape(ShapeContext& c) {
  for (const int i : {0, 3}) {
    GYRE_RETURN_IF_ERROR(c.RequireRank(i, 2));
    GYRE_RETURN_IF_ERROR(c.RequireRank(i + 1, 1));
    GYRE_RETURN_IF_ERROR(c.RequireRank(i + 2, 1));
  }
  GYRE_RETURN_IF_ERROR(c.RequireScalar(6));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(2).Intersect(c.input(5)));
  const int64_t rank = shape.has_rank() && shape.rank() == 1 ? shape.dim(0) : -1;
  c.set_output(0, PartialShape(Dims{-1, rank}));
  c.set_output(1, PartialShape::UnknownOfRank(1));
  c.set_output(2, PartialShape(Dims{rank}));
  return absl::OkStatus();
}

absl::Status SparseAddGradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  for (int i = 1; i <= 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireRank(i, 2));
  for (int i = 0; i < 2; ++i) {
    const PartialShape& indices = c.input(i + 1);
    c.set_output(i, PartialShape(Dims{indices.has_rank() ? indices.dim(0) : -1}));
  }
  return absl::OkStatus();
}

void SparseAddGradient(GradientContext& g) {
  if (!g.has_grad(1) || !(g.wants(1) || g.wants(4))) return;
  const std::vector<Expr> grads =
      g.builder().Ops("SparseAddGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)}, {}, 2);
  if (g.wants(1)) g.Add(1, grads[0]);
  if (g.wants(4)) g.Add(4, grads[1]);
}

}  // namespace

void RegisterSparseAdd(OpRegistry& ops) {
  ops.Add({
      .schema = "SparseAdd(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, "
                "b_values: T, b_shape: int64, thresh: Treal) -> sum_indices: int64, sum_values: T, "
                "sum_shape: int64 {T: numbertype; Treal: realnumbertype}",
      .doc = "Adds two sparse tensors; sums of two elements smaller than thresh in magnitude are "
             "left out.",
      .shape = SparseAddShape,
      .gradient = {SparseAddGradient},
      .kernel = ForTypes<SparseAddKernel, NumberTypes>("T"),
  });
  ops.Add({
      .schema = "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, "
                "sum_indices: int64) -> a_val_grad: T, b_val_grad: T {T: numbertype}",
      .doc = "Distributes the gradient of SparseAdd's values to the values of both operands.",
      .shape = SparseAddGradShape,
      .gradient = RefusesGradient("sums that were left out cannot be told from sums there were"),
      .kernel = ForTypes<SparseAddGradKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre

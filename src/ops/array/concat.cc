// Concat, ConcatV2, ConcatOffset: joining tensors along an axis.
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Which inputs are joined, and which one names the axis: the two ops differ in their order.
struct ConcatInputs {
  int first;
  int count;
  int axis;
};
constexpr ConcatInputs AxisFirst(int num_inputs) { return {1, num_inputs - 1, 0}; }
constexpr ConcatInputs AxisLast(int num_inputs) { return {0, num_inputs - 1, num_inputs - 1}; }

absl::Status UnlikeShapes(int i, const PartialShape& first, const PartialShape& other,
                          absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("ConcatOp : ", what,
                                                 ": shape[0] = ", first.ToString(), " vs. shape[",
                                                 i, "] = ", other.ToString()));
}

// Grows `joined` by a tensor of shape `next` (input i) along `axis`.
absl::Status JoinShape(PartialShape& joined, const PartialShape& first, const PartialShape& next,
                       int i, int axis) {
  if (next.rank() != joined.rank()) {
    return UnlikeShapes(i, first, next, "Ranks of all input tensors should match");
  }
  for (int d = 0; d < joined.rank(); ++d) {
    const int64_t a = joined.dim(d);
    const int64_t b = next.dim(d);
    if (d == axis) {
      const auto sum = a < 0 || b < 0 ? std::optional<int64_t>(-1) : CheckedAdd(a, b);
      if (!sum) return UnlikeShapes(i, first, next, "Dimensions do not fit 64 bits");
      joined.set_dim(d, *sum);
    } else if (a < 0) {
      joined.set_dim(d, b);
    } else if (b >= 0 && a != b) {
      return UnlikeShapes(i, first, next,
                          absl::StrCat("Dimension ", d, " in both shapes must be equal"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> ConcatAxis(int64_t axis, int rank) {
  return ResolveAxis(axis, rank, "concatenating dimension");
}

absl::Status ComputeConcat(KernelContext& ctx, ConcatInputs in) {
  GYRE_ASSIGN_OR_RETURN(const int64_t wanted, IntegerScalar(ctx.input(in.axis), "concat axis"));
  const PartialShape first = ctx.input(in.first).shape();
  GYRE_ASSIGN_OR_RETURN(const int axis, ConcatAxis(wanted, first.rank()));
  PartialShape joined = first;
  for (int i = 1; i < in.count; ++i) {
    GYRE_RETURN_IF_ERROR(JoinShape(joined, first, ctx.input(in.first + i).shape(), i, axis));
  }
  for (int i = 0; i < in.count; ++i) {
    if (ctx.input(in.first + i).dim(axis) == joined.dim(axis)) {  // the others are empty
      ctx.set_output(0, ctx.TakeInput(in.first + i));
      return absl::OkStatus();
    }
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(joined.dims()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  // Seen as matrices: a row is everything from `axis` on.
  int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
  const int64_t out_row = shape.dim(axis) * inner;
  const int64_t rows = out_row == 0 ? 0 : shape.num_elements() / out_row;
  int64_t offset = 0;
  for (int i = 0; i < in.count; ++i) {
    const Tensor& value = ctx.input(in.first + i);
    const int64_t row = value.dim(axis) * inner;
    GYRE_RETURN_IF_ERROR(
        CopyStrided(ctx, value, 0, out, offset, {{rows, row, out_row}, {row, 1, 1}}));
    offset += row;
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeConcatV1(KernelContext& ctx) {
  return ComputeConcat(ctx, AxisFirst(ctx.num_inputs()));
}
absl::Status ComputeConcatV2(KernelContext& ctx) {
  return ComputeConcat(ctx, AxisLast(ctx.num_inputs()));
}

// The joined list when the inputs are vectors used as shapes.
void JoinDims(ShapeContext& ctx, ConcatInputs in) {
  Dims all;
  for (int i = 0; i < in.count; ++i) {
    const auto dims = KnownDims(ctx, in.first + i);
    if (!dims) return;
    all.insert(all.end(), dims->dims().begin(), dims->dims().end());
  }
  SetDims(ctx, 0, PartialShape(std::move(all)));
}

absl::Status ConcatRule(ShapeContext& ctx, ConcatInputs in) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(in.axis));
  int rank = -1;
  for (int i = 0; i < in.count; ++i) {
    const PartialShape& shape = ctx.input(in.first + i);
    if (!shape.has_rank()) continue;
    if (rank >= 0 && shape.rank() != rank) {
      return UnlikeShapes(i, ctx.input(in.first), shape, "Ranks of all input tensors should match");
    }
    rank = shape.rank();
  }
  if (rank < 0) return absl::OkStatus();
  const auto wanted = ctx.input_int(in.axis);
  if (!wanted) {
    if (rank == 0) return ConcatAxis(0, 0).status();
    ctx.set_output(0, PartialShape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const int axis, ConcatAxis(*wanted, rank));
  const auto ranked = [&](int i) {
    const PartialShape& shape = ctx.input(in.first + i);
    return shape.has_rank() ? shape : PartialShape::UnknownOfRank(rank);
  };
  const PartialShape first = ranked(0);
  PartialShape joined = first;
  for (int i = 1; i < in.count; ++i) {
    GYRE_RETURN_IF_ERROR(JoinShape(joined, first, ranked(i), i, axis));
  }
  ctx.set_output(0, std::move(joined));
  if (rank == 1) JoinDims(ctx, in);
  return absl::OkStatus();
}

absl::Status ConcatV1Rule(ShapeContext& ctx) {
  return ConcatRule(ctx, AxisFirst(ctx.num_inputs()));
}
absl::Status ConcatV2Rule(ShapeContext& ctx) { return ConcatRule(ctx, AxisLast(ctx.num_inputs())); }

// Where each of the shapes (inputs 1 …) begins in their concatenation.
template <typename T>
absl::Status ComputeOffsets(KernelContext& ctx, int axis) {
  const auto first = ctx.input(1).values<T>();
  T offset = 0;
  for (int i = 0; i + 1 < ctx.num_inputs(); ++i) {
    const Tensor& shape = ctx.input(i + 1);
    const auto dims = shape.values<T>();
    for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
      if (d != axis && dims[d] != first[d]) {
        const Dims mine(dims.begin(), dims.end());
        const Dims theirs(first.begin(), first.end());
        return absl::InvalidArgumentError(absl::StrCat(
            "All dimensions except ", axis, " must match. Input ", i, " has shape ",
            ListToString(mine), " and doesn't match input 0 with shape ", ListToString(theirs)));
      }
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateZeros(shape.dtype(), shape.shape()));
    out.mutable_values<T>()[axis] = offset;
    ctx.set_output(i, std::move(out));
    if (__builtin_add_overflow(offset, dims[axis], &offset)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the concatenation is too long for ", DTypeName(shape.dtype())));
    }
  }
  return absl::OkStatus();
}

absl::Status ComputeConcatOffset(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t wanted, IntegerScalar(ctx.input(0), "Concat dim"));
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i - 1, " should be a vector, but has shape ", shape.ToString()));
    }
    if (shape.dim(0) != ctx.input(1).dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i - 1, " should contain ",
                                                     ctx.input(1).dim(0), " elements, but got ",
                                                     shape.dim(0)));
    }
  }
  const int64_t rank = ctx.input(1).dim(0);
  if (wanted < -rank || wanted >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Concat dim is out of range: ", wanted, " vs. ", rank));
  }
  const int axis = static_cast<int>(wanted < 0 ? wanted + rank : wanted);
  return VisitType<IndexTypes>(ctx.input_dtype(1), [&](auto tag) {
    return ComputeOffsets<typename decltype(tag)::type>(ctx, axis);
  });
}

absl::Status ConcatOffsetRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireScalar(0));
  PartialShape length = PartialShape::UnknownOfRank(1);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(length, length.Intersect(ctx.input(i)));
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, length);
  return absl::OkStatus();
}

// `in`: of the node that is differentiated. Pieces of the gradient, cut where the inputs met.
void ConcatGradient(GradientContext& g, ConcatInputs in) {
  const Expr axis = Cast(g.input(in.axis), DType::kInt32);
  const auto at = KnownInteger(g, in.axis);
  std::vector<int32_t> sizes;
  for (int i = in.first; at && i < in.first + in.count && g.wants(i); ++i) {
    const int d = static_cast<int>(*at);
    const auto size = RuleDims::OfInput(g, i).Known(d, d == -1 ? RuleDims::kEnd : d + 1);
    if (size && size->size() == 1) sizes.push_back((*size)[0]);
  }
  if (static_cast<int>(sizes.size()) == in.count) {
    const std::vector<Expr> pieces =
        g.builder().Ops("SplitV", {g.grad(), g.builder().Ints(sizes), axis},
                        {{"num_split", int64_t{in.count}}}, in.count);
    for (int i = 0; i < in.count; ++i) g.Add(in.first + i, pieces[i]);
    return;
  }
  std::vector<Expr> dims{axis};
  for (int i = in.first; i < in.first + in.count; ++i) dims.push_back(g.input_dims(i));
  const std::vector<Expr> begins = g.builder().Ops("ConcatOffset", dims, {}, in.count);
  for (int i = 0; i < in.count; ++i) {
    if (!g.wants(in.first + i)) continue;
    g.Add(in.first + i, g.op("Slice", {g.grad(), begins[i], dims[i + 1]}));
  }
}

void ConcatV1Gradient(GradientContext& g) { ConcatGradient(g, AxisFirst(g.num_inputs())); }
void ConcatV2Gradient(GradientContext& g) { ConcatGradient(g, AxisLast(g.num_inputs())); }

absl::Status ConcatV2Batch(BatchContext& c) {
  const int axis = c.num_inputs() - 1;
  GYRE_RETURN_IF_ERROR(c.NeedSame(axis));
  std::vector<Expr> inputs = c.stacked_inputs(0, axis);
  inputs.push_back(c.shifted_axes(axis));
  return c.Emit(inputs);
}

absl::Status ConcatBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(0));
  std::vector<Expr> inputs = c.stacked_inputs(1, c.num_inputs());
  inputs.insert(inputs.begin(), c.shifted_axes(0));
  return c.Emit(inputs);
}

}  // namespace

void RegisterConcat(OpRegistry& ops) {
  ops.Add({
      .schema = "Concat(concat_dim: int32, values: N * T) -> output: T {N: int >= 2; T: type}",
      .doc = "Joins tensors along an axis (older form, axis first).",
      .traits = {.moves_elements = true},
      .shape = ConcatV1Rule,
      .gradient = {ConcatV1Gradient},
      .batch = {ConcatBatch},
      .kernel = Compute<ComputeConcatV1>(),
  });
  ops.Add({
      .schema = "ConcatV2(values: N * T, axis: Tidx) -> output: T {N: int >= 2; T: type; "
                "Tidx: {int32, int64} = int32}",
      .doc = "Joins tensors along an axis.",
      .traits = {.moves_elements = true},
      .shape = ConcatV2Rule,
      .gradient = {ConcatV2Gradient},
      .batch = {ConcatV2Batch},
      .kernel = Compute<ComputeConcatV2>(),
  });
  ops.Add({
      .schema = "ConcatOffset(concat_dim: int32, shape: N * shape_type) -> offset: N * shape_type "
                "{N: int >= 2; shape_type: {int32, int64} = int32}",
      .doc = "Where each of the shapes begins in their concatenation.",
      .traits = {.computes_shapes = true},
      .shape = ConcatOffsetRule,
      .gradient = NotDifferentiable("offsets are integers"),
      .kernel = Compute<ComputeConcatOffset>(),
  });
}

}  // namespace gyre

// Slice: a box of elements.
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ops/array/gather_gradient.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status OutOfBounds(absl::string_view which, int axis, int64_t limit, int64_t value) {
  return absl::InvalidArgumentError(
      absl::StrCat("Expected ", which, "[", axis, "] in [0, ", limit, "], but got ", value));
}

// The size of the box along an axis of size `dim`, where -1 asks for all the rest.
absl::StatusOr<int64_t> BoxSize(int axis, int64_t dim, int64_t begin, int64_t size) {
  if (begin < 0 || begin > dim) return OutOfBounds("begin", axis, dim, begin);
  if (size == -1) return dim - begin;
  if (size < 0 || size > dim - begin) return OutOfBounds("size", axis, dim - begin, size);
  return size;
}

absl::Status ComputeSlice(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  for (int i = 1; i <= 2; ++i) {
    if (ctx.input(i).rank() != 1 || ctx.input(i).dim(0) != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected begin and size arguments to be 1-D tensors of size ", rank, ", but got shapes ",
          ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString(), " instead."));
    }
  }
  GYRE_ASSIGN_OR_RETURN(const Dims begin, IntegerList(ctx.input(1), "begin"));
  GYRE_ASSIGN_OR_RETURN(Dims size, IntegerList(ctx.input(2), "size"));
  bool whole_rows = true;  // only dimension 0 is cut
  for (int d = 0; d < rank; ++d) {
    GYRE_ASSIGN_OR_RETURN(size[d], BoxSize(d, input.dim(d), begin[d], size[d]));
    whole_rows &= d == 0 || size[d] == input.dim(d);
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(size));
  if (rank == 0) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  if (whole_rows) {
    GYRE_ASSIGN_OR_RETURN(Tensor rows, TakeRows(ctx, input, begin[0], size[0], shape));
    ctx.set_output(0, std::move(rows));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  const Dims from = RowMajorStrides(input.shape());
  const Dims to = RowMajorStrides(shape);
  StridedAxes axes;
  int64_t offset = 0;
  for (int d = 0; d < rank; ++d) {
    offset += begin[d] * from[d];
    axes.push_back({size[d], from[d], to[d]});
  }
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, offset, out, 0, std::move(axes)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The rank that the three inputs agree on; -1 when none of them says.
absl::StatusOr<int> AgreedRank(const ShapeContext& ctx) {
  int rank = ctx.input(0).has_rank() ? ctx.input(0).rank() : -1;
  for (int i = 1; i <= 2; ++i) {
    GYRE_RETURN_IF_ERROR(ctx.RequireRank(i, 1));
    if (!ctx.input(i).has_rank() || ctx.input(i).dim(0) < 0) continue;
    const int64_t length = ctx.input(i).dim(0);
    if (length > Shape::kMaxRank || (rank >= 0 && length != rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat(i == 1 ? "begin" : "size", " has ", length, " elements for an input of ",
                       rank < 0 ? "unknown" : absl::StrCat(rank), " dimensions"));
    }
    rank = static_cast<int>(length);
  }
  return rank;
}

absl::Status SliceRule(ShapeContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int rank, AgreedRank(ctx));
  if (rank < 0) return absl::OkStatus();
  PartialShape out = PartialShape::UnknownOfRank(rank);
  const PartialShape in = ctx.input(0).has_rank() ? ctx.input(0) : out;
  const auto begins = ctx.input_ints(1);
  const auto sizes = ctx.input_ints(2);
  for (int d = 0; d < rank && sizes; ++d) {
    const int64_t size = (*sizes)[d];
    if (begins && in.dim(d) >= 0) {
      GYRE_ASSIGN_OR_RETURN(const int64_t known, BoxSize(d, in.dim(d), (*begins)[d], size));
      out.set_dim(d, known);
    } else if (size >= 0) {
      out.set_dim(d, size);
    } else if (size < -1) {
      return absl::InvalidArgumentError(absl::StrCat("size[", d, "] must be >= -1, but is ", size));
    }
  }
  ctx.set_output(0, out);
  const auto dims = KnownDims(ctx, 0);
  if (dims && begins && out.dim(0) >= 0) {
    const auto part = dims->dims().subspan((*begins)[0], out.dim(0));
    SetDims(ctx, 0, PartialShape(Dims(part.begin(), part.end())));
  }
  return absl::OkStatus();
}

// Whether whole rows of axis 0 are taken from where it is not known before the program runs: in a
// loop, others on each iteration.
bool TakesRowsSomewhere(const GradientContext& g) {
  const PartialShape& in = g.input_shape(0);
  const PartialShape& out = g.output_shape(0);
  if (!out.has_rank() || out.rank() == 0 || g.input_constant(1) != nullptr) return false;
  const std::optional<PartialShape>& begin = g.input_info(1).as_shape;
  const auto size = KnownIntegers(g, 2);
  for (int d = 1; d < out.rank(); ++d) {
    const bool keeps_size = in.has_rank() && in.dim(d) >= 0 && in.dim(d) == out.dim(d);
    const bool is_all =
        begin && begin->has_rank() && begin->dim(d) == 0 && size && (*size)[d] == -1;
    if (!keeps_size && !is_all) return false;
  }
  return true;
}

void SliceGradient(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const Expr begin = Cast(g.input(1), DType::kInt32);
  if (TakesRowsSomewhere(g))
    return AddRowsFrom(g, g.op("Slice", {begin, b.Ints({0}), b.Ints({1})}));
  const Expr behind = g.input_dims(0) - begin - g.output_dims(0);
  const Expr paddings = g.op("Pack", {begin, behind}, {{"axis", int64_t{1}}});
  g.Add(0, g.op("Pad", {g.grad(), paddings}));
}

absl::Status SliceBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit({c.input(0), c.input_behind(0, 1), c.input_behind(-1, 2)});
}

}  // namespace

void RegisterSlice(OpRegistry& ops) {
  ops.Add({
      .schema = "Slice(input: T, begin: Index, size: Index) -> output: T {T: type; "
                "Index: {int32, int64}}",
      .doc = "The box of elements that starts at `begin`; a size of -1 means up to the end.",
      .traits = {.moves_elements = true},
      .shape = SliceRule,
      .gradient = {SliceGradient},
      .batch = {SliceBatch},
      .kernel = Compute<ComputeSlice>(),
  });
}

}  // namespace gyre

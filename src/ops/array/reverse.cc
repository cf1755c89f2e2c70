// ReverseV2, ReverseSequence: dimensions walked backwards.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Which of `rank` dimensions are reversed.
absl::StatusOr<absl::InlinedVector<bool, 8>> ReversedAxes(absl::Span<const int64_t> axes,
                                                          int rank) {
  absl::InlinedVector<bool, 8> reversed(rank, false);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'axis'[", i, "] = ", axes[i], " is out of valid range [", -rank, ", ", rank - 1));
    }
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (reversed[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " specified more than once."));
    }
    reversed[axis] = true;
  }
  return reversed;
}

absl::Status ComputeReverse(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (ctx.input(1).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'dims' must be 1-dimension, not ", ctx.input(1).rank()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims wanted, IntegerList(ctx.input(1), "'axis'"));
  GYRE_ASSIGN_OR_RETURN(const auto reversed, ReversedAxes(wanted, input.rank()));
  if (wanted.empty() || input.num_elements() <= 1) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), input.shape()));
  const Dims strides = RowMajorStrides(input.shape());
  StridedAxes axes;
  int64_t offset = 0;
  for (int d = 0; d < input.rank(); ++d) {
    if (reversed[d]) offset += (input.dim(d) - 1) * strides[d];
    axes.push_back({input.dim(d), reversed[d] ? -strides[d] : strides[d], strides[d]});
  }
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, offset, out, 0, std::move(axes)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ReverseRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  ctx.set_output(0, ctx.input(0));
  const auto axes = ctx.input_ints(1);
  if (!axes || !ctx.input(0).has_rank()) return absl::OkStatus();
  GYRE_RETURN_IF_ERROR(ReversedAxes(*axes, ctx.input(0).rank()).status());
  const auto dims = KnownDims(ctx, 0);
  if (dims && axes->size() == 1) {
    SetDims(ctx, 0, PartialShape(Dims(dims->dims().rbegin(), dims->dims().rend())));
  }
  return absl::OkStatus();
}

struct SequenceAttrs {
  explicit SequenceAttrs(const Node& node)
      : seq_dim(NodeAttr<int64_t>(node, "seq_dim")),
        batch_dim(NodeAttr<int64_t>(node, "batch_dim")) {}
  int64_t seq_dim;
  int64_t batch_dim;
};

struct SequenceAxes {
  int seq;
  int batch;
};

absl::StatusOr<SequenceAxes> ResolveSequenceAxes(const SequenceAttrs& attrs, int rank) {
  GYRE_ASSIGN_OR_RETURN(const int seq, ResolveAxis(attrs.seq_dim, rank, "seq_dim"));
  GYRE_ASSIGN_OR_RETURN(const int batch, ResolveAxis(attrs.batch_dim, rank, "batch_dim"));
  if (seq == batch) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dim == seq_dim == ", seq));
  }
  return SequenceAxes{seq, batch};
}

absl::Status UnlikeBatches(int64_t lengths, int64_t batches, SequenceAxes axes) {
  return absl::InvalidArgumentError(absl::StrCat("Length of seq_lengths != input.dims(", axes.batch,
                                                 "), (", lengths, " vs. ", batches, ")"));
}

absl::StatusOr<int64_t> LengthOf(const Tensor& lengths, int64_t b, int64_t limit, int seq_dim) {
  const int64_t length = lengths.dtype() == DType::kInt32 ? lengths.values<int32_t>()[b]
                                                          : lengths.values<int64_t>()[b];
  if (length < 0) return absl::InvalidArgumentError(absl::StrCat("seq_lens(", b, ") < 0"));
  if (length > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("seq_lens(", b, ") > input.dims(", seq_dim, ")"));
  }
  return length;
}

absl::Status ComputeReverseSequence(KernelContext& ctx, const SequenceAttrs& attrs) {
  const Tensor& input = ctx.input(0);
  const Shape& shape = input.shape();
  GYRE_ASSIGN_OR_RETURN(const SequenceAxes dims, ResolveSequenceAxes(attrs, shape.rank()));
  if (ctx.input(1).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("seq_lengths must be 1-dim, not ", ctx.input(1).rank()));
  }
  const Tensor& lengths = ctx.input(1);
  const int64_t batches = shape.dim(dims.batch);
  if (lengths.dim(0) != batches) return UnlikeBatches(lengths.dim(0), batches, dims);
  const int64_t limit = shape.dim(dims.seq);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), shape));
  const Dims strides = RowMajorStrides(shape);
  StridedAxes axes;
  for (int d = 0; d < shape.rank(); ++d) axes.push_back({shape.dim(d), strides[d], strides[d]});
  axes[dims.batch].size = 1;
  const int64_t step = strides[dims.seq];
  for (int64_t b = 0; b < batches; ++b) {
    if (b % 1024 == 1023) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(const int64_t length, LengthOf(lengths, b, limit, dims.seq));
    const int64_t start = b * strides[dims.batch];
    axes[dims.seq] = {length, -step, step};
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, start + (length - 1) * step, out, start, axes));
    axes[dims.seq] = {limit - length, step, step};
    const int64_t rest = start + length * step;
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, rest, out, rest, axes));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ReverseSequenceRule(ShapeContext& ctx) {
  GYRE_RETURN_IF_ERROR(ctx.RequireRank(1, 1));
  PartialShape shape = ctx.input(0);
  if (shape.has_rank()) {
    GYRE_ASSIGN_OR_RETURN(const SequenceAxes axes,
                          ResolveSequenceAxes(SequenceAttrs(ctx.node()), shape.rank()));
    if (ctx.input(1).has_rank()) {
      const int64_t length = ctx.input(1).dim(0);
      const int64_t batches = shape.dim(axes.batch);
      if (length >= 0 && batches >= 0 && length != batches) {
        return UnlikeBatches(length, batches, axes);
      }
      shape.set_dim(axes.batch, std::max(length, batches));
    }
  }
  ctx.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void ReverseGradient(GradientContext& g) { g.Add(0, g.op("ReverseV2", {g.grad(), g.input(1)})); }

void ReverseSequenceGradient(GradientContext& g) {
  g.Add(0, g.op("ReverseSequence", {g.grad(), g.input(1)},
                {{"seq_dim", g.attr<int64_t>("seq_dim", 0)},
                 {"batch_dim", g.attr<int64_t>("batch_dim", 0)}}));
}

absl::Status ReverseV2Batch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

}  // namespace

void RegisterReverse(OpRegistry& ops) {
  ops.Add({
      .schema = "ReverseV2(tensor: T, axis: Tidx) -> output: T {Tidx: {int32, int64} = int32; "
                "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, "
                "half, float, double, complex64, complex128, string}}",
      .doc = "A tensor with some of its dimensions reversed.",
      .traits = {.moves_elements = true},
      .shape = ReverseRule,
      .gradient = {ReverseGradient},
      .batch = {ReverseV2Batch},
      .kernel = Compute<ComputeReverse>(),
  });
  ops.Add({
      .schema = "ReverseSequence(input: T, seq_lengths: Tlen) -> output: T {seq_dim: int; "
                "batch_dim: int = 0; T: type; Tlen: {int32, int64} = int64}",
      .doc = "Each batch element with the beginning of its sequence reversed.",
      .shape = ReverseSequenceRule,
      .gradient = {ReverseSequenceGradient},
      .kernel = Compute<ComputeReverseSequence>(),
  });
}

}  // namespace gyre

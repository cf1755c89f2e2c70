// Pad, PadV2, MirrorPad: a tensor with a border; MirrorPadGrad.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/batch_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/array/rule_dims.h"
#include "ops/dispatch.h"
#include "ops/reduction/axis_view.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Elements before and after each dimension.
struct Padding {
  int64_t before;
  int64_t after;
};
using Paddings = absl::InlinedVector<Padding, 4>;

absl::StatusOr<Paddings> ReadPaddings(const Tensor& t, int rank) {
  if (t.rank() != 2 || t.dim(1) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings must be a matrix with 2 columns: ", t.shape().ToString()));
  }
  if (t.dim(0) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("The first dimension of paddings must be the rank of inputs, ", rank,
                     ", but its shape is ", t.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Dims values, IntegerElements(t, "paddings"));
  Paddings paddings;
  for (int d = 0; d < rank; ++d) {
    const Padding padding{values[2 * d], values[2 * d + 1]};
    if (padding.before < 0 || padding.after < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Paddings must be non-negative: ", padding.before, " ", padding.after));
    }
    paddings.push_back(padding);
  }
  return paddings;
}

absl::StatusOr<int64_t> PaddedSize(int64_t dim, Padding padding) {
  const auto border = CheckedAdd(padding.before, padding.after);
  const auto size = border ? CheckedAdd(dim, *border) : std::nullopt;
  if (size) return *size;
  return absl::InvalidArgumentError(absl::StrCat("a dimension of size ", dim, " padded by ",
                                                 padding.before, " and ", padding.after,
                                                 " does not fit 64 bits"));
}

// What PaddedSize made of it.
absl::StatusOr<int64_t> InnerSize(int64_t dim, Padding padding) {
  if (padding.before <= dim && padding.after <= dim - padding.before)
    return dim - padding.before - padding.after;
  return absl::InvalidArgumentError(absl::StrCat("a dimension of size ", dim, " has no padding of ",
                                                 padding.before, " and ", padding.after));
}

// A shape whose dimensions become what PaddedSize, or InnerSize, says.
using SizeFn = absl::StatusOr<int64_t> (*)(int64_t dim, Padding padding);
absl::StatusOr<Shape> ShapeBySizes(const Shape& shape, const Paddings& paddings, SizeFn size_of) {
  Dims dims;
  for (int d = 0; d < shape.rank(); ++d) {
    GYRE_ASSIGN_OR_RETURN(const int64_t size, size_of(shape.dim(d), paddings[d]));
    dims.push_back(size);
  }
  return Shape::Make(dims);
}

// `border` is null for zeros.
absl::Status PadWith(KernelContext& ctx, const Tensor* border) {
  const Tensor& input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), input.rank()));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeBySizes(input.shape(), paddings, &PaddedSize));
  if (shape == input.shape()) {
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
  Tensor out;
  if (border == nullptr) {
    GYRE_ASSIGN_OR_RETURN(out, ctx.AllocateZeros(input.dtype(), shape));
  } else {
    GYRE_ASSIGN_OR_RETURN(out, ctx.Allocate(input.dtype(), shape));
    GYRE_RETURN_IF_ERROR(FillWith(ctx, *border, out));
  }
  if (input.num_elements() > 0) {
    const Dims from = RowMajorStrides(input.shape());
    const Dims to = RowMajorStrides(shape);
    StridedAxes axes;
    int64_t offset = 0;
    for (int d = 0; d < input.rank(); ++d) {
      offset += paddings[d].before * to[d];
      axes.push_back({input.dim(d), from[d], to[d]});
    }
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, input, 0, out, offset, std::move(axes)));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputePad(KernelContext& ctx) { return PadWith(ctx, nullptr); }

absl::Status ComputePadV2(KernelContext& ctx) {
  if (ctx.input(2).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("constant_values must be a scalar. Found: ", ctx.input(2).shape().ToString()));
  }
  return PadWith(ctx, &ctx.input(2));
}

struct MirrorMode {
  explicit MirrorMode(const Node& node)
      : edge(NodeAttr<std::string>(node, "mode") == "SYMMETRIC" ? 0 : 1) {}
  // How far from the edge the first mirrored element stands: SYMMETRIC repeats the edge itself.
  int64_t edge;
};

absl::Status CheckMirror(const Shape& shape, const Paddings& paddings, MirrorMode mode) {
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t most = shape.dim(d) - mode.edge;
    const Padding& padding = paddings[d];
    if (std::max(padding.before, padding.after) <= std::max<int64_t>(most, 0)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(mode.edge == 1 ? "paddings must be less than the dimension size: "
                                    : "paddings must be no greater than the dimension size: ",
                     padding.before, ", ", padding.after,
                     mode.edge == 1 ? " not less than " : " greater than ", shape.dim(d)));
  }
  return absl::OkStatus();
}

// Fills the borders of dimension d of `out` from what lies between them. Called for one dimension
// after another: each mirrors the borders that the earlier ones have made.
absl::Status MirrorDimension(const KernelContext& ctx, Tensor& out, int d, int64_t dim,
                             Padding padding, MirrorMode mode) {
  const Dims strides = RowMajorStrides(out.shape());
  StridedAxes axes;
  for (int k = 0; k < out.rank(); ++k) axes.push_back({out.dim(k), strides[k], strides[k]});
  const int64_t step = strides[d];
  const int64_t first = padding.before;           // first inner element
  const int64_t last = padding.before + dim - 1;  // last inner element
  // Both walk away from the edge: the source inwards, the border outwards.
  axes[d] = {padding.before, step, -step};
  GYRE_RETURN_IF_ERROR(
      CopyStrided(ctx, out, (first + mode.edge) * step, out, (first - 1) * step, axes));
  axes[d] = {padding.after, -step, step};
  return CopyStrided(ctx, out, (last - mode.edge) * step, out, (last + 1) * step, axes);
}

absl::Status ComputeMirrorPad(KernelContext& ctx, const MirrorMode& mode) {
  const Shape inner = ctx.input(0).shape();
  GYRE_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), inner.rank()));
  GYRE_RETURN_IF_ERROR(CheckMirror(inner, paddings, mode));
  GYRE_RETURN_IF_ERROR(PadWith(ctx, nullptr));
  if (inner.num_elements() == 0 || ctx.output(0).shape() == inner) return absl::OkStatus();
  Tensor out = ctx.output(0);
  for (int d = 0; d < inner.rank(); ++d) {
    GYRE_RETURN_IF_ERROR(MirrorDimension(ctx, out, d, inner.dim(d), paddings[d], mode));
  }
  return absl::OkStatus();
}

// Adds the borders of dimension d to what they mirror. `t` is padded, of this shape.
template <typename T>
absl::Status FoldDimension(const KernelContext& ctx, T* t, const Shape& shape, int d,
                           Padding padding, MirrorMode mode) {
  const AxisView view(shape, d);
  const int64_t last = view.size - padding.after - 1;  // inner element
  const int64_t rows = padding.before + padding.after;
  if (rows == 0) return absl::OkStatus();
  constexpr int64_t kTile = 1 << 12;
  const int64_t tiles = (view.inner + kTile - 1) / kTile;
  const int64_t work = std::min(rows, kTile) * std::min(view.inner, kTile);
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / work);
  const auto add = [&](T* image, int64_t from, int64_t to, int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      T& sum = image[to * view.inner + j];
      sum = FromAccumulator<T>(ToAccumulator(sum) + ToAccumulator(image[from * view.inner + j]));
    }
  };
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(view.outer * tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      T* const image = t + unit / tiles * view.size * view.inner;
      const int64_t from = unit % tiles * kTile, to = std::min(view.inner, from + kTile);
      for (int64_t k = 0; k < rows; ++k) {
        if (k % kTile == kTile - 1 && !ctx.Poll().ok()) return;
        if (k < padding.before) {
          add(image, padding.before - 1 - k, padding.before + mode.edge + k, from, to);
        } else {
          const int64_t i = k - padding.before;
          add(image, last + 1 + i, last - mode.edge - i, from, to);
        }
      }
    }
  }));
  return ctx.Poll();
}

template <typename T>
struct MirrorPadGradKernel {
  static absl::Status Run(KernelContext& ctx, const MirrorMode& mode) {
    const Shape padded = ctx.input(0).shape();
    GYRE_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(ctx.input(1), padded.rank()));
    GYRE_ASSIGN_OR_RETURN(const Shape inner, ShapeBySizes(padded, paddings, &InnerSize));
    GYRE_RETURN_IF_ERROR(CheckMirror(inner, paddings, mode));
    if (inner == padded) {
      ctx.set_output(0, ctx.TakeInput(0));
      return absl::OkStatus();
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, inner));
    if (inner.num_elements() > 0) {
      GYRE_ASSIGN_OR_RETURN(Tensor sums, ctx.ReuseOrAllocate(0, DTypeOf<T>, padded));
      T* const data = static_cast<T*>(sums.mutable_raw_data());
      const T* const from = static_cast<const T*>(ctx.input(0).raw_data());
      if (data != from) {
        GYRE_RETURN_IF_ERROR(
            ctx.ParallelRun(padded.num_elements(), 1 << 15, [&](int64_t begin, int64_t end) {
              std::copy(from + begin, from + end, data + begin);
            }));
      }
      const Dims strides = RowMajorStrides(padded);
      const Dims to = RowMajorStrides(inner);
      StridedAxes axes;
      int64_t offset = 0;
      for (int d = 0; d < padded.rank(); ++d) {
        GYRE_RETURN_IF_ERROR(FoldDimension(ctx, data, padded, d, paddings[d], mode));
        offset += paddings[d].before * strides[d];
        axes.push_back({inner.dim(d), strides[d], to[d]});
      }
      GYRE_RETURN_IF_ERROR(CopyStrided(ctx, sums, offset, out, 0, std::move(axes)));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// The rule of ops whose output has the rank of input 0, by paddings at input 1; `size_of` says what
// becomes of a dimension.
absl::Status RuleBySizes(ShapeContext& ctx, SizeFn size_of) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape matrix,
                        ctx.input(1).Intersect(PartialShape(Dims{-1, 2})));
  const PartialShape& in = ctx.input(0);
  const int64_t rows = matrix.dim(0);
  if (!in.has_rank()) {
    if (rows >= 0 && rows <= Shape::kMaxRank) {
      ctx.set_output(0, PartialShape::UnknownOfRank(static_cast<int>(rows)));
    }
    return absl::OkStatus();
  }
  if (rows >= 0 && rows != in.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The first dimension of paddings must be the rank of inputs, ", in.rank(),
                     ", but its shape is ", matrix.ToString()));
  }
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  if (const Tensor* constant = ctx.input_constant(1)) {
    GYRE_ASSIGN_OR_RETURN(const Paddings paddings, ReadPaddings(*constant, in.rank()));
    for (int d = 0; d < in.rank(); ++d) {
      if (in.dim(d) < 0) continue;
      GYRE_ASSIGN_OR_RETURN(const int64_t size, size_of(in.dim(d), paddings[d]));
      out.set_dim(d, size);
    }
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status PadRule(ShapeContext& ctx) {
  if (ctx.num_inputs() > 2) GYRE_RETURN_IF_ERROR(ctx.RequireScalar(2));
  return RuleBySizes(ctx, &PaddedSize);
}

absl::Status MirrorPadGradRule(ShapeContext& ctx) { return RuleBySizes(ctx, &InnerSize); }

// The part of the gradient that does not belong to the border.
Expr WithoutBorder(GradientContext& g) {
  const Expr begin =
      g.builder().Ops("Unpack", {g.input(1)}, {{"num", int64_t{2}}, {"axis", int64_t{1}}}, 2)[0];
  return g.op("Slice", {g.grad(), Cast(begin, DType::kInt32), g.input_dims(0)});
}

void PadGradient(GradientContext& g) { g.Add(0, WithoutBorder(g)); }

void PadV2Gradient(GradientContext& g) {
  const Expr inside = WithoutBorder(g);
  g.Add(0, inside);
  if (g.wants(2)) g.Add(2, SumAll(g.grad()) - SumAll(inside));
}

// MirrorPad and MirrorPadGrad are the adjoints of each other.
void MirrorPadGradient(GradientContext& g) {
  const bool pads = g.node().op_name == "MirrorPad";
  g.Add(0, g.op(pads ? "MirrorPadGrad" : "MirrorPad", {g.grad(), g.input(1)},
                {{"mode", g.attr<std::string>("mode", "")}}));
}

// Paddings, and a value to pad with.
absl::Status PadBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr none = c.op("Reshape", {c.builder().Ints({0, 0}), c.builder().Ints({1, 2})});
  std::vector<Expr> inputs = {c.input(0),
                              batch::Joined({Cast(none, c.input_dtype(1)), c.input(1)})};
  if (c.num_inputs() > 2) inputs.push_back(c.input(2));
  return c.Emit(inputs);
}

}  // namespace

void RegisterPad(OpRegistry& ops) {
  ops.Add({
      .schema = "Pad(input: T, paddings: Tpaddings) -> output: T {T: type; "
                "Tpaddings: {int32, int64} = int32}",
      .doc = "A tensor with a border of zeros.",
      .traits = {.moves_elements = true},
      .shape = PadRule,
      .gradient = {PadGradient},
      .batch = {PadBatch},
      .kernel = Compute<ComputePad>(),
  });
  ops.Add({
      .schema = "PadV2(input: T, paddings: Tpaddings, constant_values: T) -> output: T {T: type; "
                "Tpaddings: {int32, int64} = int32}",
      .doc = "A tensor with a border of one value.",
      .traits = {.moves_elements = true},
      .shape = PadRule,
      .gradient = {PadV2Gradient},
      .batch = {PadBatch},
      .kernel = Compute<ComputePadV2>(),
  });
  ops.Add({
      .schema = "MirrorPad(input: T, paddings: Tpaddings) -> output: T {T: type; "
                "Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}}",
      .doc = "A tensor with a border that mirrors what lies inside.",
      .shape = PadRule,
      .gradient = {MirrorPadGradient},
      .batch = {PadBatch},
      .kernel = Compute<ComputeMirrorPad>(),
  });
  ops.Add({
      .schema = "MirrorPadGrad(input: T, paddings: Tpaddings) -> output: T {T: type; "
                "Tpaddings: {int32, int64} = int32; mode: {'REFLECT', 'SYMMETRIC'}}",
      .doc = "The gradient of MirrorPad: the inside, with the border added to what it mirrors.",
      .shape = MirrorPadGradRule,
      .gradient = {MirrorPadGradient},
      .batch = {PadBatch},
      .kernel = ForTypes<MirrorPadGradKernel, NumberTypes>("T"),
  });
}

}  // namespace gyre

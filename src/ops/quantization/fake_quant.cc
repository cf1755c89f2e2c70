// FakeQuantWithMinMaxArgs, …Vars, …VarsPerChannel, and their gradients: numbers moved to the
// nearest of 2^num_bits that are evenly spaced over a range, which is moved so that 0 is among
// them. Source: Jacob et al., Quantization and training of neural networks for efficient
// integer-arithmetic-only inference (2018).
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/nn/channel_sums.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The places of numbers: steps of `scale` from min to max.
struct Grid {
  float min = 0, max = 0, scale = 1, zero = 0;
  bool is_none = false;  // the range is empty at 0

  float Nearest(float x) const {
    if (is_none) return 0;
    const float inside = std::max(min, std::min(max, x));
    return std::floor((inside - min) / scale - zero + 0.5f) * scale;
  }
  bool Holds(float x) const { return is_none || (x >= min && x <= max); }
};

struct Bits {
  static absl::StatusOr<Bits> Make(const Node& node) {
    const int64_t bits = NodeAttr<int64_t>(node, "num_bits");
    if (bits < 2 || bits > 16) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_bits must be between 2 and 16, but is ", bits));
    }
    return Bits{NodeAttr<bool>(node, "narrow_range") ? 1.0f : 0.0f,
                static_cast<float>((1 << bits) - 1)};
  }
  Grid Over(float from, float to) const {
    if (from == 0 && to == 0) return Grid{.is_none = true};
    Grid grid;
    grid.scale = (to - from) / (highest - lowest);
    const float zero = lowest - from / grid.scale;
    const float nudged = zero < lowest ? lowest : zero > highest ? highest : std::round(zero);
    grid.min = (lowest - nudged) * grid.scale;
    grid.max = (highest - nudged) * grid.scale;
    grid.zero = std::floor(-grid.min / grid.scale + 0.5f);
    return grid;
  }

  float lowest, highest;
};

struct Args {
  static absl::StatusOr<Args> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const Bits bits, Bits::Make(node));
    const float min = NodeAttr<float>(node, "min"), max = NodeAttr<float>(node, "max");
    if (!(min < max)) {
      return absl::InvalidArgumentError(
          absl::StrCat("min must be smaller than max, but they are ", min, " and ", max));
    }
    return Args{bits.Over(min, max)};
  }
  Grid grid;
};

// How many numbers the range has.
enum class Ranges { kOne, kPerChannel };

// The grids that inputs `i` and `i + 1` say; one for each of `channels`.
absl::StatusOr<std::vector<Grid>> ReadGrids(const KernelContext& ctx, const Bits& bits, int i,
                                            Ranges ranges, int64_t channels) {
  const Tensor &min = ctx.input(i), &max = ctx.input(i + 1);
  const Shape expected = ranges == Ranges::kOne ? Shape() : Shape::Vector(channels);
  if (min.shape() != expected || max.shape() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("min and max must have shape ", expected.ToString(), ", but have ",
                     min.shape().ToString(), " and ", max.shape().ToString()));
  }
  std::vector<Grid> grids(channels);
  for (int64_t c = 0; c < channels; ++c) {
    grids[c] = bits.Over(min.values<float>()[c], max.values<float>()[c]);
  }
  return grids;
}

// The values with their channels, of which there is one if there is one range.
absl::StatusOr<AxisView> ViewOf(const Tensor& x, Ranges ranges) {
  if (ranges == Ranges::kOne) {
    AxisView view(Shape::Vector(1), 0);
    view.outer = x.num_elements();
    return view;
  }
  if (x.rank() < 1) {
    return absl::InvalidArgumentError("inputs must have channels, but are a scalar");
  }
  return AxisView(x.shape(), x.rank() - 1);
}

absl::Status Quantize(KernelContext& ctx, const AxisView& view, const std::vector<Grid>& grids) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, DType::kFloat, ctx.input(0).shape()));
  const float* from = static_cast<const float*>(ctx.input(0).raw_data());
  float* to = static_cast<float*>(out.mutable_raw_data());
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(
        ForChannels(ctx, view, [&](int64_t i, int64_t c) { to[i] = grids[c].Nearest(from[i]); }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status RequireSameShape(const KernelContext& ctx) {
  if (ctx.input(0).shape() == ctx.input(1).shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("gradients and inputs must have the same shape, but have ",
                   ctx.input(0).shape().ToString(), " and ", ctx.input(1).shape().ToString()));
}

// Output 0: the gradients of those inputs that are in range.
absl::Status KeepInside(KernelContext& ctx, const AxisView& view, const std::vector<Grid>& grids) {
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, ctx.input(0).shape()));
  const float* grad = static_cast<const float*>(ctx.input(0).raw_data());
  const float* x = static_cast<const float*>(ctx.input(1).raw_data());
  float* to = static_cast<float*>(out.mutable_raw_data());
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(ForChannels(ctx, view, [&](int64_t i, int64_t c) {
      to[i] = grad[i] * (grids[c].Holds(x[i]) ? 1.0f : 0.0f);
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status WithArgs(KernelContext& ctx, const Args& args) {
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx.input(0), Ranges::kOne));
  return Quantize(ctx, view, {args.grid});
}
absl::Status WithArgsGrad(KernelContext& ctx, const Args& args) {
  GYRE_RETURN_IF_ERROR(RequireSameShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx.input(1), Ranges::kOne));
  return KeepInside(ctx, view, {args.grid});
}

template <Ranges kRanges>
absl::Status WithVars(KernelContext& ctx, const Bits& bits) {
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx.input(0), kRanges));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Grid> grids, ReadGrids(ctx, bits, 1, kRanges, view.size));
  return Quantize(ctx, view, grids);
}

// The ends of a range have the gradients of what lies beyond them.
template <Ranges kRanges>
absl::Status WithVarsGrad(KernelContext& ctx, const Bits& bits) {
  GYRE_RETURN_IF_ERROR(RequireSameShape(ctx));
  GYRE_ASSIGN_OR_RETURN(const AxisView view, ViewOf(ctx.input(1), kRanges));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Grid> grids, ReadGrids(ctx, bits, 2, kRanges, view.size));
  GYRE_RETURN_IF_ERROR(KeepInside(ctx, view, grids));
  const float* grad = static_cast<const float*>(ctx.input(0).raw_data());
  const float* x = static_cast<const float*>(ctx.input(1).raw_data());
  std::vector<double> sums(2 * view.size, 0.0);
  if (ctx.input(0).num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(SumChannels<2>(
        ctx, view,
        [&](int64_t i, int64_t c, float* numbers) {
          const Grid& grid = grids[c];
          numbers[0] = !grid.is_none && x[i] < grid.min ? grad[i] : 0;
          numbers[1] = !grid.is_none && x[i] > grid.max ? grad[i] : 0;
        },
        sums));
  }
  for (int end = 0; end < 2; ++end) {
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, ctx.input(2).shape()));
    for (int64_t c = 0; c < view.size; ++c) {
      static_cast<float*>(out.mutable_raw_data())[c] =
          static_cast<float>(sums[end * view.size + c]);
    }
    ctx.set_output(1 + end, std::move(out));
  }
  return absl::OkStatus();
}

// Outputs: as the values, and for the ends of the ranges. `first`: the input with the values.
template <Ranges kRanges, int kFirst>
absl::Status VarsShape(ShapeContext& c) {
  PartialShape values = c.input(0);
  for (int i = 1; i <= kFirst; ++i) {
    GYRE_ASSIGN_OR_RETURN(values, values.Intersect(c.input(i)));
  }
  PartialShape ends =
      kRanges == Ranges::kOne ? PartialShape::Scalar() : PartialShape::UnknownOfRank(1);
  for (int i = kFirst + 1; i < kFirst + 3; ++i) {
    GYRE_ASSIGN_OR_RETURN(ends, ends.Intersect(c.input(i)));
  }
  if (kRanges == Ranges::kPerChannel && values.has_rank()) {
    if (values.rank() < 1)
      return absl::InvalidArgumentError("inputs must have channels, but are a scalar");
    const int last = values.rank() - 1;
    GYRE_ASSIGN_OR_RETURN(ends, ends.Intersect(PartialShape(Dims{values.dim(last)})));
    values.set_dim(last, ends.dim(0));
  }
  c.set_output(0, std::move(values));
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, ends);
  return absl::OkStatus();
}

AttrMap BitsOf(GradientContext& g) {
  return AttrsOf(g.node(), {"min", "max", "num_bits", "narrow_range"});
}

void ArgsGradient(GradientContext& g) {
  g.Add(0, g.op("FakeQuantWithMinMaxArgsGradient", {g.grad(), g.input(0)}, BitsOf(g)));
}

template <Ranges kRanges>
void VarsGradient(GradientContext& g) {
  const std::vector<Expr> grads =
      g.builder().Ops(kRanges == Ranges::kOne ? "FakeQuantWithMinMaxVarsGradient"
                                              : "FakeQuantWithMinMaxVarsPerChannelGradient",
                      {g.grad(), g.input(0), g.input(1), g.input(2)}, BitsOf(g), 3);
  for (int i = 0; i < 3; ++i) {
    if (g.wants(i)) g.Add(i, grads[i]);
  }
}

}  // namespace

void RegisterFakeQuant(OpRegistry& ops) {
  // As in TensorFlow.
  const Gradient no_second = NotDifferentiable("second derivatives of rounding are not defined");
#define GYRE_BITS "num_bits: int = 8; narrow_range: bool = false}"
  ops.Add({
      .schema = "FakeQuantWithMinMaxArgs(inputs: float) -> outputs: float {min: float = -6.0; max: "
                "float = 6.0; " GYRE_BITS,
      .doc = "Each number moved to the nearest of 2^num_bits that are evenly spaced over the range "
             "[min, max].",
      .traits = {.elementwise = true},
      .shape = shape::SameAsInput,
      .gradient = {ArgsGradient},
      .kernel = Compute<&WithArgs>(),
  });
  ops.Add({
      .schema = "FakeQuantWithMinMaxArgsGradient(gradients: float, inputs: float) -> backprops: "
                "float {min: float = -6.0; max: float = 6.0; " GYRE_BITS,
      .doc = "The gradient of FakeQuantWithMinMaxArgs: that of what comes out, where inputs are in "
             "range.",
      .shape = shape::SameForAll,
      .gradient = no_second,
      .kernel = Compute<&WithArgsGrad>(),
  });
  ops.Add({
      .schema = "FakeQuantWithMinMaxVars(inputs: float, min: float, max: float) -> outputs: float "
                "{" GYRE_BITS,
      .doc = "FakeQuantWithMinMaxArgs with a range that is known when it runs.",
      .shape = VarsShape<Ranges::kOne, 0>,
      .gradient = {VarsGradient<Ranges::kOne>},
      .kernel = Compute<&WithVars<Ranges::kOne>>(),
  });
  ops.Add({
      .schema = "FakeQuantWithMinMaxVarsGradient(gradients: float, inputs: float, min: float, max: "
                "float) -> backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: "
                "float {" GYRE_BITS,
      .doc = "The gradients of FakeQuantWithMinMaxVars.",
      .shape = VarsShape<Ranges::kOne, 1>,
      .gradient = no_second,
      .kernel = Compute<&WithVarsGrad<Ranges::kOne>>(),
  });
  ops.Add({
      .schema = "FakeQuantWithMinMaxVarsPerChannel(inputs: float, min: float, max: float) -> "
                "outputs: float {" GYRE_BITS,
      .doc = "FakeQuantWithMinMaxVars with a range for each channel, along the last dimension.",
      .shape = VarsShape<Ranges::kPerChannel, 0>,
      .gradient = {VarsGradient<Ranges::kPerChannel>},
      .kernel = Compute<&WithVars<Ranges::kPerChannel>>(),
  });
  ops.Add({
      .schema = "FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float, inputs: float, min: "
                "float, max: float) -> backprops_wrt_input: float, backprop_wrt_min: float, "
                "backprop_wrt_max: float {" GYRE_BITS,
      .doc = "The gradients of FakeQuantWithMinMaxVarsPerChannel.",
      .shape = VarsShape<Ranges::kPerChannel, 1>,
      .gradient = no_second,
      .kernel = Compute<&WithVarsGrad<Ranges::kPerChannel>>(),
  });
}

}  // namespace gyre

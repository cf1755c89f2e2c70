#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dense_code.h"
#include "ops/dispatch.h"
#include "ops/math/elementwise.h"
#include "ops/reduction/axis_view.h"
#include "ops/reduction/sum.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct BiasAttrs {
  explicit BiasAttrs(const Node& node)
      : channels_first(NodeAttr<std::string>(node, "data_format") == "NCHW") {}
  bool channels_first;
};

// The dimension along which the bias varies. INVALID_ARGUMENT for less than two dimensions.
absl::StatusOr<int> ChannelDim(int rank, const BiasAttrs& attrs) {
  if (rank < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the values must have at least two dimensions (batch and channels), but have ", rank));
  }
  return attrs.channels_first ? 1 : rank - 1;
}

template <typename T>
struct BiasAddKernel {
  static absl::Status Run(KernelContext& ctx, const BiasAttrs& attrs) {
    const Tensor& value = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    GYRE_ASSIGN_OR_RETURN(const int channel, ChannelDim(value.rank(), attrs));
    if (bias.rank() != 1 || bias.dim(0) != value.dim(channel)) {
      return absl::InvalidArgumentError(
          absl::StrCat("bias must be a vector with an element for each of the ", value.dim(channel),
                       " channels of a value of shape ", value.shape().ToString(),
                       ", but its shape is ", bias.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.ReuseOrAllocate(0, value.dtype(), value.shape()));
    if (out.num_elements() > 0) {
      // One row per element of bias where something follows the channel, else one per whole bias.
      const AxisView view(value.shape(), channel);
      const bool one_each = view.inner > 1;
      const int64_t width = one_each ? view.inner : view.size;
      const BinaryRow add = AddRow(DTypeOf<T>);
      const Operands operands = one_each ? Operands::kScalarY : Operands::kVectors;
      const T* x = static_cast<const T*>(value.raw_data());
      const T* b = static_cast<const T*>(bias.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / width);
      GYRE_RETURN_IF_ERROR(
          ctx.ParallelRun(out.num_elements() / width, grain, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
              add(x + row * width, one_each ? b + row % view.size : b, to + row * width, width,
                  operands);
            }
          }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  // Of channels that come last.
  struct Rows {
    int64_t count, size;
  };
  static void AddToRows(const void* plan, const void* const* inputs, void* const* outputs) {
    const auto [count, size] = *static_cast<const Rows*>(plan);
    static const BinaryRow add = AddRow(DTypeOf<T>);
    for (int64_t row = 0; row < count; ++row)
      add(static_cast<const T*>(inputs[0]) + row * size, inputs[1],
          static_cast<T*>(outputs[0]) + row * size, size, Operands::kVectors);
  }
  static std::optional<DenseCode> Dense(const Node& node, absl::Span<const DenseOperand> inputs,
                                        absl::Span<const Shape> outputs) {
    const std::optional<Shape>&value = inputs[0].shape, &bias = inputs[1].shape;
    if (BiasAttrs(node).channels_first || !value || !bias || value->rank() < 2 ||
        bias->rank() != 1 || bias->dim(0) != value->dim(value->rank() - 1) ||
        *value != outputs[0] || value->num_elements() == 0 || value->num_elements() > kMaxDenseWork)
      return std::nullopt;
    return DenseCode{
        .function = &AddToRows,
        .plan = std::make_shared<Rows>(Rows{value->num_elements() / bias->dim(0), bias->dim(0)}),
        .num_operands = 2,
        .work = value->num_elements()};
  }
};

// All dimensions but the channels.
absl::StatusOr<ReducedDims> AllButChannels(int rank, const BiasAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const int channel, ChannelDim(rank, attrs));
  ReducedDims reduced(rank, true);
  reduced[channel] = false;
  return reduced;
}

absl::Status BiasAddGrad(KernelContext& ctx, const BiasAttrs& attrs) {
  const Tensor& out_backprop = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const ReducedDims reduced, AllButChannels(out_backprop.rank(), attrs));
  GYRE_ASSIGN_OR_RETURN(Tensor sum, SumOver(ctx, out_backprop, reduced, /*keep_dims=*/false));
  ctx.set_output(0, std::move(sum));
  return absl::OkStatus();
}

std::optional<DenseCode> BiasAddGradDense(const Node& node, absl::Span<const DenseOperand> inputs,
                                          absl::Span<const Shape> outputs) {
  if (!inputs[0].shape) return std::nullopt;
  const Shape& shape = *inputs[0].shape;
  const absl::StatusOr<ReducedDims> reduced = AllButChannels(shape.rank(), BiasAttrs(node));
  if (!reduced.ok() || ReducedShape(shape, *reduced, /*keep_dims=*/false) != outputs[0])
    return std::nullopt;
  return DenseSumOver(node.signature.inputs[0].dtype, shape, *reduced);
}

absl::Status BiasAddShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  PartialShape value = c.input(0);
  if (value.has_rank()) {
    GYRE_ASSIGN_OR_RETURN(const int channel, ChannelDim(value.rank(), BiasAttrs(c.node())));
    GYRE_ASSIGN_OR_RETURN(const PartialShape bias,
                          PartialShape(Dims{value.dim(channel)}).Intersect(c.input(1)));
    value.set_dim(channel, bias.dim(0));
  }
  c.set_output(0, std::move(value));
  return absl::OkStatus();
}

absl::Status BiasAddGradShape(ShapeContext& c) {
  const PartialShape& value = c.input(0);
  if (!value.has_rank()) {
    c.set_output(0, PartialShape::UnknownOfRank(1));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const int channel, ChannelDim(value.rank(), BiasAttrs(c.node())));
  c.set_output(0, PartialShape(Dims{value.dim(channel)}));
  return absl::OkStatus();
}

void BiasAddGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.grad());
  if (!g.wants(1)) return;
  const std::string format = g.attr<std::string>("data_format", "");
  g.Add(1, g.op("BiasAddGrad", {g.grad()}, {{"data_format", format}}));
}

// One bias for all elements of a channel.
void BiasAddGradGradient(GradientContext& g) {
  Expr grad = g.grad();
  if (BiasAttrs(g.node()).channels_first) {
    grad = gradient::AppendOnes(g, grad, g.output_shape(0), 0, /*fewer=*/1);
  }
  g.Add(0, g.op("BroadcastTo", {grad, g.input_dims(0)}));
}

absl::Status BiasAddBatch(BatchContext& c) {
  if (c.attr<std::string>("data_format", "NHWC") != "NHWC")
    return batch::Refuse("its data_format is not NHWC");
  if (!c.is_stacked(1)) return c.Emit({c.input(0), c.input(1)});
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
  return c.EmitAs("AddV2", {c.input(0), c.stacked(1, rank)});
}

absl::Status BiasAddGradBatch(BatchContext& c) {
  if (c.attr<std::string>("data_format", "NHWC") != "NHWC")
    return batch::Refuse("its data_format is not NHWC");
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(0));
  std::vector<int32_t> axes(rank - 1);
  std::iota(axes.begin(), axes.end(), 1);
  return c.EmitAs("Sum", {c.input(0), c.builder().Ints(axes)});
}

}  // namespace

void RegisterBiasAdd(OpRegistry& ops) {
  ops.Add({
      .schema = "BiasAdd(value: T, bias: T) -> output: T "
                "{T: numbertype; data_format: {'NHWC', 'NCHW'} = 'NHWC'}",
      .doc = "Adds an element of bias to each channel: the last dimension, or (NCHW) the second.",
      .shape = BiasAddShape,
      .gradient = {BiasAddGradient},
      .batch = {BiasAddBatch},
      .kernel = ForTypes<BiasAddKernel, NumberTypes>("T"),
  });
  ops.Add({
      .schema = "BiasAddGrad(out_backprop: T) -> output: T "
                "{T: numbertype; data_format: {'NHWC', 'NCHW'} = 'NHWC'}",
      .doc = "The gradient of BiasAdd by its bias: the sum over all dimensions but the channels.",
      .shape = BiasAddGradShape,
      .gradient = {BiasAddGradGradient},
      .batch = {BiasAddGradBatch},
      .kernel = WithDenseCode<&BiasAddGradDense>(Compute<&BiasAddGrad>()),
  });
}

}  // namespace gyre

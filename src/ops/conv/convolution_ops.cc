// Conv2D, Conv3D, DepthwiseConv2dNative, and their gradients by images and by filters.
//
// A convolution y = f(x, w) is linear in both, and so are its gradients: those of each of the three
// are the other two.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/batch_images.h"
#include "ops/conv/convolution.h"
#include "ops/conv/node_attrs.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// How sizes or tensors are given whose gradient an op computes.
enum class Given { kSizes, kTensor };

// The three ops of one kind.
struct Kind {
  int spatial;
  bool is_depthwise;
  absl::string_view forward, by_input, by_filter;
};
constexpr Kind k2D = {2, false, "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr Kind k3D = {3, false, "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"};
constexpr Kind kDepthwise = {2, true, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                             "DepthwiseConv2dNativeBackpropFilter"};

template <const Kind& kKind>
struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(WindowAttrs window, WindowAttrs::Read(node, kKind.spatial));
    if (window.channel_stride != 1) {
      return absl::UnimplementedError("strides must be 1 for channels, but is " +
                                      std::to_string(window.channel_stride));
    }
    return Attrs{std::move(window)};
  }
  WindowAttrs window;
};

template <const Kind& kKind>
absl::Status Forward(KernelContext& ctx, const Attrs<kKind>& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Convolution sizes,
                        Convolution::Make(attrs.window, ctx.input(0).shape(), ctx.input(1).shape(),
                                          kKind.is_depthwise));
  GYRE_ASSIGN_OR_RETURN(Tensor out, Convolve(ctx, attrs.window, sizes, ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// The shape of images that input 0 says: all dimensions, or the spatial ones alone.
absl::StatusOr<Shape> ImagesInput(const KernelContext& ctx, const WindowAttrs& window,
                                  bool is_depthwise) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.IntVector(0, "input_sizes"));
  if (static_cast<int>(given.size()) == window.rank()) return Shape::Make(given);
  const Tensor &filter = ctx.input(1), &grad = ctx.input(2);
  if (static_cast<int>(given.size()) != window.spatial || is_depthwise || window.spatial != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_sizes must have ", window.rank(), " elements, but has ", given.size()));
  }
  GYRE_RETURN_IF_ERROR(RequireImages(filter.shape(), window.rank(), "filter"));
  GYRE_RETURN_IF_ERROR(RequireImages(grad.shape(), window.rank(), "out_backprop"));
  Dims dims(window.rank());
  dims[0] = grad.dim(0);
  dims[window.channel_dim()] = filter.dim(window.spatial);
  for (int i = 0; i < window.spatial; ++i) dims[window.spatial_dim(i)] = given[i];
  return Shape::Make(dims);
}

template <const Kind& kKind, Given kGiven>
absl::Status ByInput(KernelContext& ctx, const Attrs<kKind>& attrs) {
  const WindowAttrs& window = attrs.window;
  Shape images;
  if (kGiven == Given::kTensor) {
    images = ctx.input(0).shape();
  } else {
    GYRE_ASSIGN_OR_RETURN(images, ImagesInput(ctx, window, kKind.is_depthwise));
  }
  GYRE_ASSIGN_OR_RETURN(
      const Convolution sizes,
      Convolution::Make(window, images, ctx.input(1).shape(), kKind.is_depthwise));
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, ConvolutionInputGradient(ctx, window, sizes, images, ctx.input(1), ctx.input(2)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <const Kind& kKind, Given kGiven>
absl::Status ByFilter(KernelContext& ctx, const Attrs<kKind>& attrs) {
  Shape filter;
  if (kGiven == Given::kTensor) {
    filter = ctx.input(1).shape();
  } else {
    GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> given, ctx.IntVector(1, "filter_sizes"));
    GYRE_ASSIGN_OR_RETURN(filter, Shape::Make(given));
  }
  GYRE_ASSIGN_OR_RETURN(
      const Convolution sizes,
      Convolution::Make(attrs.window, ctx.input(0).shape(), filter, kKind.is_depthwise));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ConvolutionFilterGradient(ctx, attrs.window, sizes,
                                                              ctx.input(0), filter, ctx.input(2)));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <const Kind& kKind>
absl::Status ForwardShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs<kKind> attrs, Attrs<kKind>::Make(c.node()));
  const WindowAttrs& window = attrs.window;
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, window.rank()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, window.rank()));
  const std::optional<Shape> images = c.input(0).ToShape(), whole_filter = c.input(1).ToShape();
  if (images && whole_filter) {
    GYRE_ASSIGN_OR_RETURN(const Convolution sizes,
                          Convolution::Make(window, *images, *whole_filter, kKind.is_depthwise));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, sizes.OutputShape(window));
    c.set_output(0, shape);
    return absl::OkStatus();
  }
  const PartialShape filter =
      c.input(1).has_rank() ? c.input(1) : PartialShape::UnknownOfRank(window.rank());
  int64_t channels = filter.dim(window.rank() - 1);
  if (kKind.is_depthwise) {
    const int64_t in = filter.dim(2);
    channels = channels < 0 || in < 0 || (in > 0 && channels > INT64_MAX / in) ? -1 : channels * in;
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape shape,
                        window.OutputShape(c.input(0), channels, filter.dims()));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// As input `kInput` says.
template <const Kind& kKind, Given kGiven, int kInput>
absl::Status GradientShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs<kKind> attrs, Attrs<kKind>::Make(c.node()));
  const WindowAttrs& window = attrs.window;
  PartialShape shape = PartialShape::UnknownOfRank(window.rank());
  for (int i = 0; i < 3; ++i) {
    if (kGiven == Given::kTensor || i != kInput)
      GYRE_RETURN_IF_ERROR(c.RequireRank(i, window.rank()));
  }
  if (kGiven == Given::kTensor) {
    GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(c.input(kInput)));
  } else {
    GYRE_ASSIGN_OR_RETURN(PartialShape given, c.InputAsShape(kInput));
    const bool is_whole = given.has_rank() && given.rank() == window.rank();
    if (is_whole) shape = std::move(given);
    if (!is_whole && given.has_rank() && (kInput == 1 || given.rank() != window.spatial)) {
      return absl::InvalidArgumentError(absl::StrCat("the sizes must have ", window.rank(),
                                                     " elements, but have ", given.rank()));
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Their gradients, which have the same attributes.
template <const Kind& kKind>
void ForwardGradient(GradientContext& g) {
  const AttrMap attrs = WindowAttrsOf(g.node());
  if (g.wants(0)) g.Add(0, g.op(kKind.by_input, {g.input_dims(0), g.input(1), g.grad()}, attrs));
  if (g.wants(1)) g.Add(1, g.op(kKind.by_filter, {g.input(0), g.input_dims(1), g.grad()}, attrs));
}

template <const Kind& kKind>
void ByInputGradient(GradientContext& g) {
  const AttrMap attrs = WindowAttrsOf(g.node());
  if (g.wants(1)) g.Add(1, g.op(kKind.by_filter, {g.grad(), g.input_dims(1), g.input(2)}, attrs));
  if (g.wants(2)) g.Add(2, g.op(kKind.forward, {g.grad(), g.input(1)}, attrs));
}

template <const Kind& kKind>
void ByFilterGradient(GradientContext& g) {
  const AttrMap attrs = WindowAttrsOf(g.node());
  if (g.wants(0)) g.Add(0, g.op(kKind.by_input, {g.input_dims(0), g.grad(), g.input(2)}, attrs));
  if (g.wants(2)) g.Add(2, g.op(kKind.forward, {g.input(0), g.grad()}, attrs));
}

#define GYRE_CONV2D_ATTRS                                                                    \
  "strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', "           \
  "'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; " \
  "dilations: list(int) = [1, 1, 1, 1]}"
#define GYRE_CONV3D_ATTRS                                                                   \
  "strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = " \
  "'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]"
#define GYRE_DEPTHWISE_ATTRS                                                        \
  "{T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', "     \
  "'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', " \
  "'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]}"

void AddConv2D(OpRegistry& ops) {
  ops.Add({
      .schema = "Conv2D(input: T, filter: T) -> output: T {T: {half, bfloat16, float, double, "
                "int32}; " GYRE_CONV2D_ATTRS,
      .doc = "Images convolved with filters [rows, columns, channels, channels out].",
      .shape = ForwardShape<k2D>,
      .gradient = {ForwardGradient<k2D>},
      .batch = {BatchOfImages},
      .kernel = Compute<&Forward<k2D>>(),
  });
  ops.Add({
      .schema = "Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> output: T "
                "{T: {half, bfloat16, float, double, int32}; " GYRE_CONV2D_ATTRS,
      .doc = "The gradient of Conv2D by its images, of shape input_sizes.",
      .shape = GradientShape<k2D, Given::kSizes, 0>,
      .gradient = {ByInputGradient<k2D>},
      .kernel = Compute<&ByInput<k2D, Given::kSizes>>(),
  });
  ops.Add({
      .schema = "Conv2DBackpropInputV2(input: T, filter: T, out_backprop: T) -> output: T "
                "{T: {half, bfloat16, float, double, int32}; " GYRE_CONV2D_ATTRS,
      .doc = "The gradient of Conv2D by its images, which have the shape of `input`.",
      .shape = GradientShape<k2D, Given::kTensor, 0>,
      .gradient = {ByInputGradient<k2D>},
      .kernel = Compute<&ByInput<k2D, Given::kTensor>>(),
  });
  ops.Add({
      .schema = "Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> output: T "
                "{T: {half, bfloat16, float, double}; " GYRE_CONV2D_ATTRS,
      .doc = "The gradient of Conv2D by its filters, of shape filter_sizes.",
      .shape = GradientShape<k2D, Given::kSizes, 1>,
      .gradient = {ByFilterGradient<k2D>},
      .kernel = Compute<&ByFilter<k2D, Given::kSizes>>(),
  });
  ops.Add({
      .schema = "Conv2DBackpropFilterV2(input: T, filter: T, out_backprop: T) -> output: T "
                "{T: {half, bfloat16, float, double}; " GYRE_CONV2D_ATTRS,
      .doc = "The gradient of Conv2D by its filters, which have the shape of `filter`.",
      .shape = GradientShape<k2D, Given::kTensor, 1>,
      .gradient = {ByFilterGradient<k2D>},
      .kernel = Compute<&ByFilter<k2D, Given::kTensor>>(),
  });
}

void AddConv3D(OpRegistry& ops) {
  ops.Add({
      .schema = "Conv3D(input: T, filter: T) -> output: T {T: {half, bfloat16, float, "
                "double}; " GYRE_CONV3D_ATTRS "}",
      .doc = "Images of three dimensions convolved with filters [planes, rows, columns, channels, "
             "channels out].",
      .shape = ForwardShape<k3D>,
      .gradient = {ForwardGradient<k3D>},
      .batch = {BatchOfImages},
      .kernel = Compute<&Forward<k3D>>(),
  });
  ops.Add({
      .schema = "Conv3DBackpropInputV2(input_sizes: Tshape, filter: T, out_backprop: T) -> output: "
                "T {T: {half, bfloat16, float, double}; " GYRE_CONV3D_ATTRS
                "; Tshape: {int32, int64} = int32}",
      .doc = "The gradient of Conv3D by its images, of shape input_sizes.",
      .shape = GradientShape<k3D, Given::kSizes, 0>,
      .gradient = {ByInputGradient<k3D>},
      .kernel = Compute<&ByInput<k3D, Given::kSizes>>(),
  });
  ops.Add({
      .schema = "Conv3DBackpropFilterV2(input: T, filter_sizes: int32, out_backprop: T) -> output: "
                "T {T: {half, bfloat16, float, double}; " GYRE_CONV3D_ATTRS "}",
      .doc = "The gradient of Conv3D by its filters, of shape filter_sizes.",
      .shape = GradientShape<k3D, Given::kSizes, 1>,
      .gradient = {ByFilterGradient<k3D>},
      .kernel = Compute<&ByFilter<k3D, Given::kSizes>>(),
  });
}

void AddDepthwise(OpRegistry& ops) {
  ops.Add({
      .schema = "DepthwiseConv2dNative(input: T, filter: T) -> output: T " GYRE_DEPTHWISE_ATTRS,
      .doc = "Each channel of images convolved with filters of its own [rows, columns, channels, "
             "multiplier].",
      .shape = ForwardShape<kDepthwise>,
      .gradient = {ForwardGradient<kDepthwise>},
      .batch = {BatchOfImages},
      .kernel = Compute<&Forward<kDepthwise>>(),
  });
  ops.Add({
      .schema = "DepthwiseConv2dNativeBackpropInput(input_sizes: int32, filter: T, "
                "out_backprop: T) -> output: T " GYRE_DEPTHWISE_ATTRS,
      .doc = "The gradient of DepthwiseConv2dNative by its images, of shape input_sizes.",
      .shape = GradientShape<kDepthwise, Given::kSizes, 0>,
      .gradient = {ByInputGradient<kDepthwise>},
      .kernel = Compute<&ByInput<kDepthwise, Given::kSizes>>(),
  });
  ops.Add({
      .schema = "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32, "
                "out_backprop: T) -> output: T " GYRE_DEPTHWISE_ATTRS,
      .doc = "The gradient of DepthwiseConv2dNative by its filters, of shape filter_sizes.",
      .shape = GradientShape<kDepthwise, Given::kSizes, 1>,
      .gradient = {ByFilterGradient<kDepthwise>},
      .kernel = Compute<&ByFilter<kDepthwise, Given::kSizes>>(),
  });
}

}  // namespace

void RegisterConvolution(OpRegistry& ops) {
  AddConv2D(ops);
  AddConv3D(ops);
  AddDepthwise(ops);
}

}  // namespace gyre

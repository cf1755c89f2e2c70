// The gradients of MaxPool, MaxPoolV2 and MaxPool3D, and the gradients of these: what belongs to a
// window goes to the first of its largest elements, or comes from there.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/pool/max_window.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <int kSpatial>
struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(WindowAttrs window, WindowAttrs::Read(node, kSpatial));
    return Attrs{std::move(window)};
  }
  WindowAttrs window;
};

constexpr int64_t kChannels = 64;  // that one piece of work has

// Adds input 2, by places, to the pixels that were largest.
template <typename T>
absl::Status Scatter(const KernelContext& ctx, const Pooling& pooling, Tensor& out) {
  const T* images = static_cast<const T*>(ctx.input(0).raw_data());
  const T* grads = static_cast<const T*>(ctx.input(2).raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t n = pooling.channels, places = pooling.outputs(), pixels = pooling.inputs();
  const int64_t blocks = (n + kChannels - 1) / kChannels;
  const int64_t work = std::min(places, int64_t{1} << 20) *
                       std::min(pooling.window(), int64_t{1} << 20) * std::min(n, kChannels);
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / work);
  // Windows overlap: an image's channels belong to one piece.
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(pooling.batch * blocks, grain, [&](int64_t begin, int64_t end) {
        Looks looks(ctx);
        T best[kChannels];
        int64_t at[kChannels];
        for (int64_t unit = begin; unit < end; ++unit) {
          const int64_t b = unit / blocks, c0 = unit % blocks * kChannels;
          const int64_t width = std::min(kChannels, n - c0);
          const T* image = images + b * pixels * n;
          T* result = to + b * pixels * n;
          for (int64_t place = 0; place < places; ++place) {
            if (!FindLargest(pooling, image, RangeOf(pooling, place), c0, width, looks, best, at))
              return;
            const T* grad = grads + (b * places + place) * n + c0;
            for (int64_t c = 0; c < width; ++c) {
              T& sum = result[at[c]];
              sum = FromAccumulator<T>(ToAccumulator(sum) + ToAccumulator(grad[c]));
            }
          }
        }
      }));
  return ctx.Poll();
}

// Takes input 2, by pixels, from those that were largest.
template <typename T>
absl::Status Gather(const KernelContext& ctx, const Pooling& pooling, Tensor& out) {
  const T* images = static_cast<const T*>(ctx.input(0).raw_data());
  const T* grads = static_cast<const T*>(ctx.input(2).raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t n = pooling.channels, places = pooling.outputs(), pixels = pooling.inputs();
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(pooling.batch * places, pooling.grain(), [&](int64_t begin, int64_t end) {
        Looks looks(ctx);
        T best[kChannels];
        int64_t at[kChannels];
        for (int64_t row = begin; row < end; ++row) {
          const int64_t image = row / places * pixels * n;
          const WindowRange range = RangeOf(pooling, row % places);
          for (int64_t c0 = 0; c0 < n; c0 += kChannels) {
            const int64_t width = std::min(kChannels, n - c0);
            if (!FindLargest(pooling, images + image, range, c0, width, looks, best, at)) return;
            for (int64_t c = 0; c < width; ++c) to[row * n + c0 + c] = grads[image + at[c]];
          }
        }
      }));
  return ctx.Poll();
}

// kOrder 1: MaxPoolGrad, 2: MaxPoolGradGrad.
template <typename T, int kOrder>
absl::Status RunGrad(KernelContext& ctx, const WindowAttrs& window) {
  const Tensor& images = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(window, images.shape()));
  GYRE_RETURN_IF_ERROR(RequireShape(ctx.input(1), pooling.output, "orig_output"));
  GYRE_RETURN_IF_ERROR(
      RequireShape(ctx.input(2), kOrder == 1 ? pooling.output : images.shape(), "grad"));
  GYRE_ASSIGN_OR_RETURN(
      Tensor out,
      ctx.AllocateZeros(ctx.output_dtype(0), kOrder == 1 ? images.shape() : pooling.output));
  if (images.num_elements() > 0 && ctx.input(1).num_elements() > 0) {
    GYRE_RETURN_IF_ERROR((kOrder == 1 ? Scatter<T> : Gather<T>)(ctx, pooling, out));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <int kSpatial, int kOrder>
struct Grad {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<kSpatial>& attrs) {
      if (ctx.input_dtype(0) != ctx.input_dtype(2)) {
        return absl::UnimplementedError("orig_input and grad of different types");
      }
      return RunGrad<T, kOrder>(ctx, attrs.window);
    }
  };
};

template <int kOrder>
struct GradV2 {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<2>& attrs) {
      WindowAttrs window = attrs.window;
      GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> ksize, ctx.IntVector(3, "ksize"));
      GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ctx.IntVector(4, "strides"));
      GYRE_RETURN_IF_ERROR(window.SetWindow(ksize, strides));
      return RunGrad<T, kOrder>(ctx, window);
    }
  };
};

// As the images; of the second order, as what came out of them.
template <int kSpatial, int kInput>
absl::Status GradShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireRank(i, kSpatial + 2));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape,
                        c.input(kInput).Intersect(PartialShape::UnknownOfRank(kSpatial + 2)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// The three ops of one kind are linear in input 2, and constant in the others between ties.
struct Names {
  absl::string_view grad, grad_grad;
};
constexpr Names k2D = {"MaxPoolGrad", "MaxPoolGradGrad"};
constexpr Names kV2 = {"MaxPoolGradV2", "MaxPoolGradGradV2"};
constexpr Names k3D = {"MaxPool3DGrad", "MaxPool3DGradGrad"};

// MaxPoolGradGrad knows no explicit paddings: the images get a border of what no element is less
// than.
void WithBorder(GradientContext& g) {
  ExprBuilder& b = g.builder();
  const auto given = g.attr<std::vector<int64_t>>("explicit_paddings", {});
  const std::vector<int32_t> flat(given.begin(), given.end());
  const Expr border = Reshape(b.Ints(flat), b.Ints({-1, 2}));
  const Expr lowest = b.Scalar(g.input_dtype(0), -std::numeric_limits<double>::infinity());
  AttrMap attrs = AttrsOf(g.node(), {"ksize", "strides", "data_format"});
  attrs.Set("padding", std::string("VALID"));
  g.Add(2, g.op("MaxPoolGradGrad",
                {g.op("PadV2", {g.input(0), border, lowest}), g.input(1),
                 g.op("Pad", {g.grad(), border})},
                attrs));
}

template <const Names& kNames, int kOrder>
void GradGradient(GradientContext& g) {
  if (!g.wants(2)) return;
  if (g.attr<std::string>("padding", "") == "EXPLICIT") return WithBorder(g);
  std::vector<Expr> inputs = {g.input(0), g.input(1), g.grad()};
  for (int i = 3; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  g.Add(2, g.op(kOrder == 1 ? kNames.grad_grad : kNames.grad, inputs, WindowAttrsOf(g.node())));
}

using ThreeFloats = Types<float, Half, BFloat16>;

#define GYRE_POOL3D_ATTRS                                                                      \
  "{ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: " \
  "{'NDHWC', 'NCDHW'} = 'NDHWC'; T: "

}  // namespace

void RegisterMaxPoolGrad(OpRegistry& ops) {
  ops.Add({
      .schema = "MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> output: T {ksize: "
                "list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; "
                "explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: "
                "realnumbertype = float}",
      .doc =
          "The gradient of MaxPool: that of each place of the window at the first of the largest "
          "elements there.",
      .shape = GradShape<2, 0>,
      .gradient = {GradGradient<k2D, 1>},
      .kernel = ForTypes<Grad<2, 1>::Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T {ksize: "
                "list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: "
                "{'NHWC', 'NCHW'} = 'NHWC'; T: realnumbertype}",
      .doc = "The gradient of MaxPoolGrad by `grad`: what stands where windows had their largest "
             "elements.",
      .shape = GradShape<2, 1>,
      .gradient = {GradGradient<k2D, 2>},
      .kernel = ForTypes<Grad<2, 2>::Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPoolGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: "
                "int32) -> output: T {padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = "
                "'NHWC'; T: realnumbertype = float}",
      .doc = "MaxPoolGrad with a window that is known when it runs.",
      .shape = GradShape<2, 0>,
      .gradient = {GradGradient<kV2, 1>},
      .kernel = ForTypes<GradV2<1>::Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPoolGradGradV2(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: "
                "int32) -> output: T {padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = "
                "'NHWC'; T: realnumbertype}",
      .doc = "MaxPoolGradGrad with a window that is known when it runs.",
      .shape = GradShape<2, 1>,
      .gradient = {GradGradient<kV2, 2>},
      .kernel = ForTypes<GradV2<2>::Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> output: "
                "T " GYRE_POOL3D_ATTRS
                "{half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float}",
      .doc = "The gradient of MaxPool3D: that of each place of the window at the first of the "
             "largest elements there.",
      .shape = GradShape<3, 0>,
      .gradient = {GradGradient<k3D, 1>},
      .kernel = ForTypes<Grad<3, 1>::Kernel, ThreeFloats>("T"),
  });
  ops.Add({
      .schema = "MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> output: "
                "T " GYRE_POOL3D_ATTRS "realnumbertype}",
      .doc = "The gradient of MaxPool3DGrad by `grad`: what stands where windows had their largest "
             "elements.",
      .shape = GradShape<3, 1>,
      .gradient = {GradGradient<k3D, 2>},
      .kernel = ForTypes<Grad<3, 2>::Kernel, RealTypes>("T"),
  });
}

}  // namespace gyre

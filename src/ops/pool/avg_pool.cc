// AvgPool, AvgPool3D: the mean of those pixels that a window meets; padding does not count.
#include <optional>
#include <string>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/batch_images.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/math/simd.h"
#include "ops/pool/pool.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <int kSpatial>
struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(WindowAttrs window, WindowAttrs::Read(node, kSpatial));
    if (window.channel_size != 1 || window.channel_stride != 1)
      return absl::UnimplementedError(
          "means over channels are not supported: ksize and strides "
          "must be 1 for them");
    return Attrs{std::move(window)};
  }
  WindowAttrs window;
};

// Vector code for rows of channels that are computed as they are; null: there is none, or it does
// not pay.
template <typename T>
BinaryRow RowOf(simd::ArithmeticOp op, int64_t channels) {
  constexpr int64_t kLeast = 8;
  return std::is_same_v<Accumulator<T>, T> && channels >= kLeast ? simd::FindRow(op, DTypeOf<T>)
                                                                 : nullptr;
}

template <int kSpatial>
struct Pool {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<kSpatial>& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Pooling pooling,
                            Pooling::Make(attrs.window, ctx.input(0).shape()));
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(0).dtype(), pooling.output));
      if (out.num_elements() > 0) GYRE_RETURN_IF_ERROR(Means(ctx, pooling, out));
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }

    static absl::Status Means(const KernelContext& ctx, const Pooling& pooling, Tensor& out) {
      using A = Accumulator<T>;
      const T* from = static_cast<const T*>(ctx.input(0).raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      const int64_t n = pooling.channels, places = pooling.outputs();
      const BinaryRow add = RowOf<T>(simd::ArithmeticOp::kAdd, n);
      GYRE_RETURN_IF_ERROR(
          ctx.ParallelRun(pooling.batch * places, pooling.grain(), [&](int64_t begin, int64_t end) {
            std::vector<A> sums(n);
            Looks looks(ctx);
            for (int64_t row = begin; row < end; ++row) {
              const T* image = from + row / places * pooling.inputs() * n;
              const WindowRange range = RangeOf(pooling, row % places);
              std::fill(sums.begin(), sums.end(), A{0});
              bool goes_on = true;
              ForRange(range, pooling.axes[1].input, pooling.axes[2].input, [&](int64_t pixel) {
                const T* x = image + pixel * n;
                if (add != nullptr) {
                  add(sums.data(), x, sums.data(), n, Operands::kVectors);
                } else {
                  for (int64_t c = 0; c < n; ++c) sums[c] += static_cast<A>(x[c]);
                }
                return goes_on = looks.GoOn(n);
              });
              if (!goes_on) return;
              const A count = static_cast<A>(range.count());
              for (int64_t c = 0; c < n; ++c) to[row * n + c] = static_cast<T>(sums[c] / count);
            }
          }));
      return ctx.Poll();
    }
  };
};

// For each pixel the sum of what the windows that meet it have, each divided by its size.
template <int kSpatial>
struct PoolGrad {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<kSpatial>& attrs) {
      GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(0, "orig_input_shape"));
      GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(attrs.window, shape));
      GYRE_RETURN_IF_ERROR(RequireShape(ctx.input(1), pooling.output, "grad"));
      if (ctx.input(1).num_elements() == 0) {
        GYRE_ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateZeros(ctx.input(1).dtype(), shape));
        ctx.set_output(0, std::move(zeros));
        return absl::OkStatus();
      }
      GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(1).dtype(), shape));
      if (out.num_elements() > 0) GYRE_RETURN_IF_ERROR(Spread(ctx, pooling, out));
      ctx.set_output(0, std::move(out));
      return absl::OkStatus();
    }

    static absl::Status Spread(const KernelContext& ctx, const Pooling& pooling, Tensor& out) {
      using A = Accumulator<T>;
      const T* from = static_cast<const T*>(ctx.input(1).raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      const int64_t n = pooling.channels, pixels = pooling.inputs();
      const BinaryRow add = RowOf<T>(simd::ArithmeticOp::kAdd, n);
      const BinaryRow divide = RowOf<T>(simd::ArithmeticOp::kDiv, n);
      GYRE_RETURN_IF_ERROR(
          ctx.ParallelRun(pooling.batch * pixels, pooling.grain(), [&](int64_t begin, int64_t end) {
            std::vector<A> sums(n), part(n);
            Looks looks(ctx);
            for (int64_t row = begin; row < end; ++row) {
              const T* grads = from + row / pixels * pooling.outputs() * n;
              std::fill(sums.begin(), sums.end(), A{0});
              bool goes_on = true;
              ForRange(PlacesOf(pooling, row % pixels), pooling.axes[1].output,
                       pooling.axes[2].output, [&](int64_t place) {
                         const A count = static_cast<A>(RangeOf(pooling, place).count());
                         const T* grad = grads + place * n;
                         if (add != nullptr) {
                           divide(grad, &count, part.data(), n, Operands::kScalarY);
                           add(sums.data(), part.data(), sums.data(), n, Operands::kVectors);
                         } else {
                           for (int64_t c = 0; c < n; ++c)
                             sums[c] += static_cast<A>(grad[c]) / count;
                         }
                         return goes_on = looks.GoOn(n);
                       });
              if (!goes_on) return;
              for (int64_t c = 0; c < n; ++c) to[row * n + c] = static_cast<T>(sums[c]);
            }
          }));
      return ctx.Poll();
    }
  };
};

template <int kSpatial>
absl::Status PoolShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs<kSpatial> attrs, Attrs<kSpatial>::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, kSpatial + 2));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PooledShape(attrs.window, c.input(0)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

template <int kSpatial>
absl::Status PoolGradShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, kSpatial + 2));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(0));
  GYRE_ASSIGN_OR_RETURN(shape, shape.Intersect(PartialShape::UnknownOfRank(kSpatial + 2)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

constexpr absl::string_view NameOf(int spatial) { return spatial == 2 ? "AvgPool" : "AvgPool3D"; }
constexpr absl::string_view GradNameOf(int spatial) {
  return spatial == 2 ? "AvgPoolGrad" : "AvgPool3DGrad";
}

template <int kSpatial>
void PoolGradient(GradientContext& g) {
  g.Add(0, g.op(GradNameOf(kSpatial), {g.input_dims(0), g.grad()}, WindowAttrsOf(g.node())));
}
template <int kSpatial>
void PoolGradGradient(GradientContext& g) {
  if (g.wants(1)) g.Add(1, g.op(NameOf(kSpatial), {g.grad()}, WindowAttrsOf(g.node())));
}

#define GYRE_POOL2D_ATTRS                                                         \
  "{ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; " \
  "data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: {half, bfloat16, float, double}}"
#define GYRE_POOL3D_ATTRS                                                         \
  "{ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; " \
  "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: {half, bfloat16, float, double}}"

}  // namespace

void RegisterAvgPool(OpRegistry& ops) {
  ops.Add({
      .schema = "AvgPool(value: T) -> output: T " GYRE_POOL2D_ATTRS,
      .doc = "The mean of what a window meets of images, at each of its places.",
      .shape = PoolShape<2>,
      .gradient = {PoolGradient<2>},
      .batch = {BatchOfImages},
      .kernel = ForTypes<Pool<2>::Kernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "AvgPoolGrad(orig_input_shape: int32, grad: T) -> output: T " GYRE_POOL2D_ATTRS,
      .doc = "The gradient of AvgPool by images of shape orig_input_shape.",
      .shape = PoolGradShape<2>,
      .gradient = {PoolGradGradient<2>},
      .kernel = ForTypes<PoolGrad<2>::Kernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "AvgPool3D(input: T) -> output: T " GYRE_POOL3D_ATTRS,
      .doc =
          "The mean of what a window meets of images of three dimensions, at each of its places.",
      .shape = PoolShape<3>,
      .gradient = {PoolGradient<3>},
      .batch = {BatchOfImages},
      .kernel = ForTypes<Pool<3>::Kernel, FloatTypes>("T"),
  });
  ops.Add({
      .schema = "AvgPool3DGrad(orig_input_shape: int32, grad: T) -> output: T " GYRE_POOL3D_ATTRS,
      .doc = "The gradient of AvgPool3D by images of shape orig_input_shape.",
      .shape = PoolGradShape<3>,
      .gradient = {PoolGradGradient<3>},
      .kernel = ForTypes<PoolGrad<3>::Kernel, FloatTypes>("T"),
  });
}

}  // namespace gyre

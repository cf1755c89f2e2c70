// MaxPool, MaxPoolV2, MaxPool3D: the largest of what a window meets.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/batch_images.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/math/simd.h"
#include "ops/pool/max_window.h"
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

template <typename T>
T Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return T(-std::numeric_limits<float>::infinity());
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// Channels for which a call of vector code pays.
constexpr int64_t kLeastRow = 8;

template <typename T>
absl::Status Maxima(const KernelContext& ctx, const Pooling& pooling, Tensor& out) {
  const T* from = static_cast<const T*>(ctx.input(0).raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  const int64_t n = pooling.channels, places = pooling.outputs();
  const BinaryRow larger =
      n >= kLeastRow ? simd::FindRow(simd::ArithmeticOp::kMaximum, DTypeOf<T>) : nullptr;
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(pooling.batch * places, pooling.grain(), [&](int64_t begin, int64_t end) {
        Looks looks(ctx);
        for (int64_t row = begin; row < end; ++row) {
          const T* image = from + row / places * pooling.inputs() * n;
          T* best = to + row * n;
          bool is_first = true, goes_on = true;
          ForRange(RangeOf(pooling, row % places), pooling.axes[1].input, pooling.axes[2].input,
                   [&](int64_t pixel) {
                     const T* x = image + pixel * n;
                     if (is_first) {
                       std::copy_n(x, n, best);
                       is_first = false;
                     } else if (larger != nullptr) {
                       larger(best, x, best, n, Operands::kVectors);
                     } else {
                       for (int64_t c = 0; c < n; ++c) {
                         best[c] = IsLarger<T>(static_cast<Computed<T>>(x[c]),
                                               static_cast<Computed<T>>(best[c]))
                                       ? x[c]
                                       : best[c];
                       }
                     }
                     return goes_on = looks.GoOn(n);
                   });
          if (!goes_on) return;
        }
      }));
  return ctx.Poll();
}

template <typename T>
absl::Status RunPool(KernelContext& ctx, const WindowAttrs& window) {
  GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(window, ctx.input(0).shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.input(0).dtype(), pooling.output));
  if (ctx.input(0).num_elements() == 0) {  // padding alone
    T* to = static_cast<T*>(out.mutable_raw_data());
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
        out.num_elements(), 1 << 15,
        [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, Lowest<T>()); }));
  } else if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(Maxima<T>(ctx, pooling, out));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <int kSpatial>
struct Pool {
  template <typename T>
  struct Kernel {
    static absl::Status Run(KernelContext& ctx, const Attrs<kSpatial>& attrs) {
      return RunPool<T>(ctx, attrs.window);
    }
  };
};

template <typename T>
struct PoolV2Kernel {
  static absl::Status Run(KernelContext& ctx, const Attrs<2>& attrs) {
    WindowAttrs window = attrs.window;
    GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> ksize, ctx.IntVector(1, "ksize"));
    GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ctx.IntVector(2, "strides"));
    GYRE_RETURN_IF_ERROR(window.SetWindow(ksize, strides));
    return RunPool<T>(ctx, window);
  }
};

template <int kSpatial>
absl::Status PoolShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs<kSpatial> attrs, Attrs<kSpatial>::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, kSpatial + 2));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, PooledShape(attrs.window, c.input(0)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status PoolV2Shape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs<2> attrs, Attrs<2>::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  const std::optional<std::vector<int64_t>> ksize = c.input_ints(1), strides = c.input_ints(2);
  PartialShape shape = PartialShape::UnknownOfRank(4);
  if (c.input(0).has_rank()) shape.set_dim(0, c.input(0).dim(0));
  if (ksize && strides) {
    WindowAttrs window = attrs.window;
    GYRE_RETURN_IF_ERROR(window.SetWindow(*ksize, *strides));
    GYRE_ASSIGN_OR_RETURN(shape, PooledShape(window, c.input(0)));
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

template <int kSpatial>
void PoolGradient(GradientContext& g) {
  g.Add(0, g.op(kSpatial == 2 ? "MaxPoolGrad" : "MaxPool3DGrad",
                {g.input(0), g.output(0), g.grad()}, WindowAttrsOf(g.node())));
}
void PoolV2Gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  g.Add(0, g.op("MaxPoolGradV2", {g.input(0), g.output(0), g.grad(), g.input(1), g.input(2)},
                WindowAttrsOf(g.node())));
}

}  // namespace

void RegisterMaxPool(OpRegistry& ops) {
  ops.Add({
      .schema = "MaxPool(input: T) -> output: T {T: {half, bfloat16, float, double, int32, int64, "
                "uint8, int16, int8, uint16, qint8} = float; ksize: list(int) >= 4; strides: "
                "list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: "
                "list(int) = []; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'}",
      .doc = "The largest of what a window meets of images, at each of its places.",
      .shape = PoolShape<2>,
      .gradient = {PoolGradient<2>},
      .batch = {BatchOfImages},
      .kernel = ForTypes<Pool<2>::Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPoolV2(input: T, ksize: int32, strides: int32) -> output: T {T: {half, "
                "bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = "
                "float; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} "
                "= 'NHWC'}",
      .doc = "MaxPool with a window that is known when it runs.",
      .shape = PoolV2Shape,
      .gradient = {PoolV2Gradient},
      .batch = {BatchOfImages},
      .kernel = ForTypes<PoolV2Kernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "MaxPool3D(input: T) -> output: T {ksize: list(int) >= 5; strides: list(int) >= 5; "
                "padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: "
                "{half, bfloat16, float}}",
      .doc = "The largest of what a window meets of images of three dimensions, at each of its "
             "places.",
      .shape = PoolShape<3>,
      .gradient = {PoolGradient<3>},
      .batch = {BatchOfImages},
      .kernel = ForTypes<Pool<3>::Kernel, Types<float, Half, BFloat16>>("T"),
  });
}

}  // namespace gyre

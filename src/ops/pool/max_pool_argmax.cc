// MaxPoolWithArgmax and its gradients: MaxPool, and where the largest elements stand.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/pool/max_window.h"
#include "ops/reduction/numeric.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(WindowAttrs window, WindowAttrs::Read(node, 2));
    return Attrs{std::move(window), NodeAttr<bool>(node, "include_batch_in_index")};
  }
  WindowAttrs window;
  bool counts_batch;  // indices are those of the whole batch, else of an image
};

// Images seen as [batch, elements of one].
int64_t ImageSize(const Shape& images) { return images.dim(1) * images.dim(2) * images.dim(3); }

template <typename T, typename Index>
absl::Status FindAll(const KernelContext& ctx, const Pooling& pooling, bool counts_batch,
                     Tensor& out, Tensor& argmax) {
  const T* images = static_cast<const T*>(ctx.input(0).raw_data());
  T* to = static_cast<T*>(out.mutable_raw_data());
  Index* indices = static_cast<Index*>(argmax.mutable_raw_data());
  const int64_t n = pooling.channels, places = pooling.outputs(), size = pooling.inputs() * n;
  // With a window over channels several batches of `pooling` make up an image.
  const int64_t image_size = ImageSize(pooling.input);
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun(pooling.batch * places, pooling.grain(), [&](int64_t begin, int64_t end) {
        Looks looks(ctx);
        std::vector<int64_t> at(n);
        for (int64_t row = begin; row < end; ++row) {
          const int64_t start = row / places * size;
          if (!FindLargest(pooling, images + start, RangeOf(pooling, row % places), 0, n, looks,
                           to + row * n, at.data()))
            return;
          const int64_t base = counts_batch ? start : start % image_size;
          for (int64_t c = 0; c < n; ++c) indices[row * n + c] = static_cast<Index>(base + at[c]);
        }
      }));
  return ctx.Poll();
}

absl::Status CheckIndexRange(const Shape& images, bool counts_batch, DType index) {
  const int64_t size = counts_batch ? images.num_elements() : ImageSize(images);
  if (index != DType::kInt32 || size <= INT32_MAX) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("indices into images of shape ", images.ToString(), " do not fit int32"));
}

absl::Status PoolWithArgmax(KernelContext& ctx, const Attrs& attrs) {
  const Tensor& images = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(attrs.window, images.shape()));
  const DType index = ctx.output_dtype(1);
  if (images.num_elements() > 0)
    GYRE_RETURN_IF_ERROR(CheckIndexRange(images.shape(), attrs.counts_batch, index));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), pooling.output));
  GYRE_ASSIGN_OR_RETURN(Tensor argmax, ctx.Allocate(index, pooling.output));
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitType<RealTypes>(images.dtype(), [&](auto tag) {
      return VisitType<IndexTypes>(index, [&](auto index_tag) {
        return FindAll<typename decltype(tag)::type, typename decltype(index_tag)::type>(
            ctx, pooling, attrs.counts_batch, out, argmax);
      });
    }));
  }
  ctx.set_output(0, std::move(out));
  ctx.set_output(1, std::move(argmax));
  return absl::OkStatus();
}

// Calls f(i, element of the batch that index i names), image by image in parallel. INVALID_ARGUMENT
// for an index that is not in its image.
template <typename Index, typename F>
absl::Status ForIndices(const KernelContext& ctx, const Attrs& attrs, const Pooling& pooling,
                        const F& f) {
  const Tensor& argmax = ctx.input(2);
  const Index* indices = static_cast<const Index*>(argmax.raw_data());
  const int64_t batch = pooling.input.dim(0), size = ImageSize(pooling.input);
  const int64_t each = argmax.num_elements() / batch;
  std::atomic<int64_t> wrong{-1};
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / each);
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch, grain, [&](int64_t begin, int64_t end) {
    Looks looks(ctx);
    for (int64_t b = begin; b < end; ++b) {
      for (int64_t i = b * each; i < (b + 1) * each; ++i) {
        if (!looks.GoOn(1)) return;
        const int64_t at = static_cast<int64_t>(indices[i]) - (attrs.counts_batch ? b * size : 0);
        if (at < 0 || at >= size) {
          wrong.store(i);
          return;
        }
        f(i, b * size + at);
      }
    }
  }));
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  if (const int64_t i = wrong.load(); i >= 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "argmax has ", static_cast<int64_t>(indices[i]), " at element ", i,
        ", which is outside of its image: images have shape ", pooling.input.ToString()));
  }
  return absl::OkStatus();
}

template <int kOrder>
absl::Status PoolGrad(KernelContext& ctx, const Attrs& attrs) {
  const Tensor &images = ctx.input(0), &grad = ctx.input(1);
  GYRE_ASSIGN_OR_RETURN(const Pooling pooling, Pooling::Make(attrs.window, images.shape()));
  GYRE_RETURN_IF_ERROR(RequireShape(grad, kOrder == 1 ? pooling.output : images.shape(), "grad"));
  GYRE_RETURN_IF_ERROR(RequireShape(ctx.input(2), pooling.output, "argmax"));
  GYRE_ASSIGN_OR_RETURN(
      Tensor out, ctx.AllocateZeros(images.dtype(), kOrder == 1 ? images.shape() : pooling.output));
  if (images.num_elements() > 0 && ctx.input(2).num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitType<RealTypes>(images.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = static_cast<const T*>(grad.raw_data());
      T* to = static_cast<T*>(out.mutable_raw_data());
      return VisitType<IndexTypes>(ctx.input_dtype(2), [&](auto index_tag) {
        return ForIndices<typename decltype(index_tag)::type>(
            ctx, attrs, pooling, [&](int64_t i, int64_t at) {
              if (kOrder == 1) {
                to[at] = FromAccumulator<T>(ToAccumulator(to[at]) + ToAccumulator(from[i]));
              } else {
                to[i] = from[at];
              }
            });
      });
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status PoolShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs attrs, Attrs::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, PooledShape(attrs.window, c.input(0)));
  c.set_output(0, shape);
  c.set_output(1, shape);
  return absl::OkStatus();
}

template <int kOrder>
absl::Status GradShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireRank(i, 4));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape,
                        c.input(kOrder == 1 ? 0 : 2).Intersect(PartialShape::UnknownOfRank(4)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void PoolGradient(GradientContext& g) {
  if (!g.has_grad(0)) return;
  g.Add(0, g.op("MaxPoolGradWithArgmax", {g.input(0), g.grad(), g.output(1)},
                WindowAttrsOf(g.node())));
}
// Each is linear in `grad`.
template <int kOrder>
void GradGradient(GradientContext& g) {
  if (!g.wants(1)) return;
  g.Add(1, g.op(kOrder == 1 ? "MaxPoolGradGradWithArgmax" : "MaxPoolGradWithArgmax",
                {g.input(0), g.grad(), g.input(2)}, WindowAttrsOf(g.node())));
}

#define GYRE_ARGMAX_ATTRS \
  "padding: {'SAME', 'VALID'}; include_batch_in_index: bool = false; T: realnumbertype}"

}  // namespace

void RegisterMaxPoolArgmax(OpRegistry& ops) {
  ops.Add({
      .schema = "MaxPoolWithArgmax(input: T) -> output: T, argmax: Targmax {ksize: list(int) >= 4; "
                "strides: list(int) >= 4; Targmax: {int32, int64} = int64; " GYRE_ARGMAX_ATTRS,
      .doc = "MaxPool, and the places of the largest elements: flat indices into their image, or "
             "into the batch.",
      .shape = PoolShape,
      .gradient = {PoolGradient},
      .kernel = Compute<&PoolWithArgmax>(),
  });
  ops.Add({
      .schema =
          "MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T {ksize: "
          "list(int) >= 4; strides: list(int) >= 4; Targmax: {int32, int64}; " GYRE_ARGMAX_ATTRS,
      .doc = "The gradient of MaxPoolWithArgmax: `grad`, added up where argmax says.",
      .shape = GradShape<1>,
      .gradient = {GradGradient<1>},
      .kernel = Compute<&PoolGrad<1>>(),
  });
  ops.Add({
      .schema = "MaxPoolGradGradWithArgmax(input: T, grad: T, argmax: Targmax) -> output: T "
                "{ksize: list(int) >= 4; strides: list(int) >= 4; Targmax: {int32, "
                "int64}; " GYRE_ARGMAX_ATTRS,
      .doc = "The gradient of MaxPoolGradWithArgmax by `grad`: what stands where argmax says.",
      .shape = GradShape<2>,
      .gradient = {GradGradient<2>},
      .kernel = Compute<&PoolGrad<2>>(),
  });
}

}  // namespace gyre

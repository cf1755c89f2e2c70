#include "ops/conv/image_tensor.h"

#include <utility>

#include "base/status.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"

namespace gyre {
namespace {

using ThreeFloats = Types<float, Half, BFloat16>;

// With the channels moved from one dimension to another.
absl::StatusOr<Tensor> MoveChannels(const KernelContext& ctx, const Tensor& images, int from,
                                    int to) {
  Dims order;
  for (int d = 0; d < images.rank(); ++d) {
    if (d != from) order.push_back(d);
  }
  order.insert(order.begin() + to, from);
  Dims dims;
  for (const int64_t d : order) dims.push_back(images.dim(static_cast<int>(d)));
  const Shape shape = Shape::Trusted(dims);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), shape));
  const Dims src = RowMajorStrides(images.shape()), dst = RowMajorStrides(shape);
  StridedAxes axes;
  for (int d = 0; d < images.rank(); ++d) axes.push_back({dims[d], src[order[d]], dst[d]});
  GYRE_RETURN_IF_ERROR(CopyStrided(ctx, images, 0, out, 0, std::move(axes)));
  return out;
}

}  // namespace

absl::StatusOr<Tensor> ConvertFloats(const KernelContext& ctx, Tensor t, DType dtype) {
  if (t.dtype() == dtype) return t;
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(dtype, t.shape()));
  GYRE_RETURN_IF_ERROR(VisitType<ThreeFloats>(t.dtype(), [&](auto from_tag) {
    return VisitType<ThreeFloats>(dtype, [&](auto to_tag) {
      using From = typename decltype(from_tag)::type;
      using To = typename decltype(to_tag)::type;
      const From* from = static_cast<const From*>(t.raw_data());
      To* to = static_cast<To*>(out.mutable_raw_data());
      return RunPieces(ctx, t.num_elements(), kElementGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
      });
    });
  }));
  return out;
}

absl::StatusOr<Tensor> ChannelsLast(const KernelContext& ctx, const Tensor& images) {
  return MoveChannels(ctx, images, 1, images.rank() - 1);
}

absl::StatusOr<Tensor> ChannelsFirst(const KernelContext& ctx, const Tensor& images) {
  return MoveChannels(ctx, images, images.rank() - 1, 1);
}

absl::StatusOr<Tensor> ImagesIn(const KernelContext& ctx, const WindowAttrs& attrs,
                                const Tensor& images) {
  GYRE_ASSIGN_OR_RETURN(Tensor wide, ConvertFloats(ctx, images, ComputedType(images.dtype())));
  return attrs.channels_first ? ChannelsLast(ctx, wide) : absl::StatusOr<Tensor>(std::move(wide));
}

absl::StatusOr<Tensor> ImagesOut(const KernelContext& ctx, const WindowAttrs& attrs, Tensor images,
                                 DType dtype) {
  if (attrs.channels_first) {
    GYRE_ASSIGN_OR_RETURN(images, ChannelsFirst(ctx, images));
  }
  return ConvertFloats(ctx, std::move(images), dtype);
}

}  // namespace gyre

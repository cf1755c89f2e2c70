// SpaceToDepth, DepthToSpace: blocks of pixels as channels of one, and back.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/conv/batch_images.h"
#include "ops/conv/node_attrs.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Attrs {
  static absl::StatusOr<Attrs> Make(const Node& node) {
    const std::string& format = NodeAttr<std::string>(node, "data_format");
    if (format == "NCHW_VECT_C")
      return absl::UnimplementedError("data_format NCHW_VECT_C is not supported");
    return Attrs{NodeAttr<int64_t>(node, "block_size"), format == "NCHW"};
  }
  int channel() const { return channels_first ? 1 : 3; }
  int row() const { return channels_first ? 2 : 1; }

  int64_t block;
  bool channels_first;
};

// The shape of the result; dimensions of -1 are not known.
template <bool kToDepth>
absl::StatusOr<PartialShape> OtherShape(const Attrs& attrs, PartialShape shape) {
  const auto area = CheckedMul(attrs.block, attrs.block);
  for (int d = 1; d < 4; ++d) {
    const int64_t size = shape.dim(d);
    if (size < 0) continue;
    const bool is_channel = d == attrs.channel();
    const auto factor = is_channel ? area : attrs.block;
    if (is_channel == kToDepth) {
      const auto larger = factor ? CheckedMul(size, *factor) : std::nullopt;
      if (!larger) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " of input, ", size,
                                                       ", and block_size ", attrs.block,
                                                       " make a size that does not fit 64 bits"));
      }
      shape.set_dim(d, *larger);
    } else {
      if (!factor || size % *factor != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("dimension ", d, " of input, ", size, ", is not a multiple of ",
                         is_channel ? "the square of " : "", "block_size, ", attrs.block));
      }
      shape.set_dim(d, size / *factor);
    }
  }
  return shape;
}

template <bool kToDepth>
absl::Status Move(KernelContext& ctx, const Attrs& attrs) {
  const Tensor& from = ctx.input(0);
  if (from.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have 4 dimensions, but has shape ", from.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const PartialShape dims, OtherShape<kToDepth>(attrs, from.shape()));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims.dims()));
  GYRE_ASSIGN_OR_RETURN(Tensor to, ctx.Allocate(from.dtype(), shape));
  if (to.num_elements() > 0) {
    // Pixel (h * block + y, w * block + x), channel c of the flat images is pixel (h, w), channel
    // (y * block + x) * channels + c of the deep ones.
    const Shape &flat = kToDepth ? from.shape() : shape, &deep = kToDepth ? shape : from.shape();
    const Dims in_flat = RowMajorStrides(flat), in_deep = RowMajorStrides(deep);
    const int row = attrs.row(), channel = attrs.channel();
    const int64_t channels = flat.dim(channel), block = attrs.block;
    StridedAxes axes;
    const auto add = [&](int64_t size, int64_t flat_stride, int64_t deep_stride) {
      axes.push_back(
          {size, kToDepth ? flat_stride : deep_stride, kToDepth ? deep_stride : flat_stride});
    };
    add(flat.dim(0), in_flat[0], in_deep[0]);
    if (attrs.channels_first) add(channels, in_flat[1], in_deep[1]);
    add(deep.dim(row), block * in_flat[row], in_deep[row]);
    add(block, in_flat[row], block * channels * in_deep[channel]);
    add(deep.dim(row + 1), block * in_flat[row + 1], in_deep[row + 1]);
    add(block, in_flat[row + 1], channels * in_deep[channel]);
    if (!attrs.channels_first) add(channels, 1, 1);
    GYRE_RETURN_IF_ERROR(CopyStrided(ctx, from, 0, to, 0, std::move(axes)));
  }
  ctx.set_output(0, std::move(to));
  return absl::OkStatus();
}

template <bool kToDepth>
absl::Status MoveShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const Attrs attrs, Attrs::Make(c.node()));
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  PartialShape input = c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(4);
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, OtherShape<kToDepth>(attrs, std::move(input)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Each is the other, backwards.
template <bool kToDepth>
void MoveGradient(GradientContext& g) {
  g.Add(0, g.op(kToDepth ? "DepthToSpace" : "SpaceToDepth", {g.grad()},
                AttrsOf(g.node(), {"block_size", "data_format"})));
}

}  // namespace

void RegisterSpaceToDepth(OpRegistry& ops) {
  ops.Add({
      .schema = "SpaceToDepth(input: T) -> output: T {T: type; block_size: int >= 2; data_format: "
                "{'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'}",
      .doc = "Blocks of pixels as one pixel each, with the channels of all of them.",
      .shape = MoveShape<true>,
      .gradient = {MoveGradient<true>},
      .batch = {BatchOfImages},
      .kernel = Compute<&Move<true>>(),
  });
  ops.Add({
      .schema = "DepthToSpace(input: T) -> output: T {T: type; block_size: int >= 2; data_format: "
                "{'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'}",
      .doc = "The channels of each pixel as a block of pixels.",
      .shape = MoveShape<false>,
      .gradient = {MoveGradient<false>},
      .batch = {BatchOfImages},
      .kernel = Compute<&Move<false>>(),
  });
}

}  // namespace gyre

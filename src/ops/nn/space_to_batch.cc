// SpaceToBatchND, BatchToSpaceND, and their older twins SpaceToBatch and BatchToSpace: every n-th
// pixel as an image of its own, and back.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// How pixels move between a few large images, with a border, and many small ones.
struct Blocks {
  Dims sizes;          // by spatial dimension: of a block
  Dims before, after;  // the border of the large images
  int64_t count = 1;   // small images for each large one
};

absl::StatusOr<Blocks> ReadBlocks(Dims sizes, const Dims& borders, int rank,
                                  absl::string_view name) {
  Blocks blocks;
  blocks.sizes = std::move(sizes);
  const auto n = static_cast<int>(blocks.sizes.size());
  if (rank < 1 + n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input must have a batch and the ", n, " dimensions of block_shape, but has rank ", rank));
  }
  for (const int64_t size : blocks.sizes) {
    const auto count = size < 1 ? std::nullopt : CheckedMul(blocks.count, size);
    if (!count) {
      return absl::InvalidArgumentError(
          absl::StrCat("block_shape must be positive numbers whose product fits 64 bits, but is ",
                       ListToString(blocks.sizes)));
    }
    blocks.count = *count;
  }
  for (int i = 0; i < n; ++i) {
    if (borders[2 * i] < 0 || borders[2 * i + 1] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must not be negative, but is ", ListToString(borders)));
    }
    blocks.before.push_back(borders[2 * i]);
    blocks.after.push_back(borders[2 * i + 1]);
  }
  return blocks;
}

// The elements of a matrix of two columns with `n` rows.
absl::StatusOr<Dims> ReadBorders(const Tensor& t, int n, absl::string_view name) {
  if (t.rank() != 2 || t.dim(0) != n || t.dim(1) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must have shape [", n, ",2], but has ", t.shape().ToString()));
  }
  return IntegerElements(t, name);
}

// One size of the small images for that of the large ones. INVALID_ARGUMENT if it is no multiple.
absl::StatusOr<int64_t> SmallSize(const Blocks& blocks, int i, int64_t large) {
  const auto border = CheckedAdd(blocks.before[i], blocks.after[i]);
  const auto padded = border ? CheckedAdd(large, *border) : std::nullopt;
  if (padded && *padded % blocks.sizes[i] == 0) return *padded / blocks.sizes[i];
  return absl::InvalidArgumentError(absl::StrCat(
      "dimension ", i + 1, " of input with its paddings, ", large, " + ", blocks.before[i], " + ",
      blocks.after[i], ", is not a multiple of its block size, ", blocks.sizes[i]));
}
absl::StatusOr<int64_t> LargeSize(const Blocks& blocks, int i, int64_t small) {
  const auto whole = CheckedMul(small, blocks.sizes[i]);
  const auto border = CheckedAdd(blocks.before[i], blocks.after[i]);
  if (whole && border && *whole >= *border) return *whole - *border;
  return absl::InvalidArgumentError(
      absl::StrCat("crops of ", blocks.before[i], " and ", blocks.after[i], " leave nothing of ",
                   small, " * ", blocks.sizes[i], " pixels of dimension ", i + 1));
}

absl::StatusOr<int64_t> ManyImages(const Blocks& blocks, int64_t few) {
  if (const auto many = CheckedMul(few, blocks.count)) return *many;
  return absl::InvalidArgumentError(
      absl::StrCat("a batch of ", few, " in blocks of ", blocks.count, " does not fit 64 bits"));
}
absl::StatusOr<int64_t> FewImages(const Blocks& blocks, int64_t many) {
  if (many % blocks.count == 0) return many / blocks.count;
  return absl::InvalidArgumentError(absl::StrCat(
      "a batch of ", many, " is not a multiple of the size of a block, ", blocks.count));
}

// The shape of the other images; dimensions of -1 are not known.
template <bool kToBatch>
absl::StatusOr<PartialShape> OtherShape(const Blocks& blocks, PartialShape shape) {
  for (int d = 0; d <= static_cast<int>(blocks.sizes.size()); ++d) {
    if (shape.dim(d) < 0) continue;
    absl::StatusOr<int64_t> size =
        d == 0 ? (kToBatch ? ManyImages : FewImages)(blocks, shape.dim(0))
               : (kToBatch ? SmallSize : LargeSize)(blocks, d - 1, shape.dim(d));
    GYRE_RETURN_IF_ERROR(size.status());
    shape.set_dim(d, *size);
  }
  return shape;
}

// Copies the pixels that one small image in each block has.
template <bool kToBatch>
absl::Status CopyImage(const KernelContext& ctx, const Blocks& blocks, int64_t block,
                       const Tensor& from, Tensor& to) {
  const Shape &large = kToBatch ? from.shape() : to.shape(),
              &small = kToBatch ? to.shape() : from.shape();
  const Dims large_strides = RowMajorStrides(large), small_strides = RowMajorStrides(small);
  StridedAxes axes;
  const auto add = [&](int64_t size, int64_t in_large, int64_t in_small) {
    axes.push_back({size, kToBatch ? in_large : in_small, kToBatch ? in_small : in_large});
  };
  const int64_t batch = large.dim(0);
  add(batch, large_strides[0], small_strides[0]);
  int64_t large_offset = 0, small_offset = block * batch * small_strides[0];
  const auto n = static_cast<int>(blocks.sizes.size());
  Dims places(n);  // of the image in its block
  for (int i = n; i-- > 0;) {
    places[i] = block % blocks.sizes[i];
    block /= blocks.sizes[i];
  }
  for (int i = 0; i < n; ++i) {
    // Pixel p of the small image is pixel p * size + first of the large one.
    const int64_t size = blocks.sizes[i], first = places[i] - blocks.before[i];
    const int64_t begin = first >= 0 ? 0 : (-first + size - 1) / size;
    const int64_t left = large.dim(i + 1) - first;  // which may not be below 1
    const int64_t end = left <= 0 ? 0 : std::min((left - 1) / size + 1, small.dim(i + 1));
    if (begin >= end) return absl::OkStatus();
    add(end - begin, size * large_strides[i + 1], small_strides[i + 1]);
    large_offset += (begin * size + first) * large_strides[i + 1];
    small_offset += begin * small_strides[i + 1];
  }
  int64_t rest = 1;
  for (int d = n + 1; d < large.rank(); ++d) rest *= large.dim(d);
  add(rest, 1, 1);
  return CopyStrided(ctx, from, kToBatch ? large_offset : small_offset, to,
                     kToBatch ? small_offset : large_offset, std::move(axes));
}

template <bool kToBatch>
absl::Status Run(KernelContext& ctx, const Blocks& blocks) {
  const Tensor& from = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(const PartialShape dims, OtherShape<kToBatch>(blocks, from.shape()));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims.dims()));
  GYRE_ASSIGN_OR_RETURN(Tensor to, ctx.AllocateZeros(from.dtype(), shape));
  if (from.num_elements() > 0 && to.num_elements() > 0) {
    for (int64_t block = 0; block < blocks.count; ++block) {
      if ((block & 63) == 63) GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_RETURN_IF_ERROR(CopyImage<kToBatch>(ctx, blocks, block, from, to));
    }
  }
  ctx.set_output(0, std::move(to));
  return absl::OkStatus();
}

template <bool kToBatch>
absl::Status MoveNd(KernelContext& ctx) {
  const Tensor& sizes = ctx.input(1);
  if (sizes.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_shape must be a vector, but has shape ", sizes.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Dims block_shape, IntegerList(sizes, "block_shape"));
  constexpr absl::string_view kName = kToBatch ? "paddings" : "crops";
  GYRE_ASSIGN_OR_RETURN(const Dims borders,
                        ReadBorders(ctx.input(2), static_cast<int>(block_shape.size()), kName));
  GYRE_ASSIGN_OR_RETURN(const Blocks blocks,
                        ReadBlocks(std::move(block_shape), borders, ctx.input(0).rank(), kName));
  return Run<kToBatch>(ctx, blocks);
}

struct BlockSize {
  explicit BlockSize(const Node& node) : size(NodeAttr<int64_t>(node, "block_size")) {}
  int64_t size;
};

absl::Status RequireRank4(const Shape& shape) {
  if (shape.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input must have 4 dimensions, but has shape ", shape.ToString()));
}

template <bool kToBatch>
absl::Status Move2D(KernelContext& ctx, const BlockSize& attrs) {
  GYRE_RETURN_IF_ERROR(RequireRank4(ctx.input(0).shape()));
  constexpr absl::string_view kName = kToBatch ? "paddings" : "crops";
  GYRE_ASSIGN_OR_RETURN(const Dims borders, ReadBorders(ctx.input(1), 2, kName));
  GYRE_ASSIGN_OR_RETURN(const Blocks blocks,
                        ReadBlocks({attrs.size, attrs.size}, borders, 4, kName));
  return Run<kToBatch>(ctx, blocks);
}

// What is known of the result; `sizes`, `borders`: null where they are not known.
template <bool kToBatch>
absl::Status SetShape(ShapeContext& c, const std::optional<Dims>& sizes, const Tensor* borders) {
  const PartialShape& input = c.input(0);
  if (!input.has_rank() || !sizes) return absl::OkStatus();
  constexpr absl::string_view kName = kToBatch ? "paddings" : "crops";
  const auto n = static_cast<int>(sizes->size());
  PartialShape known = input;
  Dims edges(2 * n, 0);
  if (borders != nullptr) {
    GYRE_ASSIGN_OR_RETURN(edges, ReadBorders(*borders, n, kName));
  }
  GYRE_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(*sizes, edges, input.rank(), kName));
  if (borders == nullptr) {
    for (int d = 1; d <= n; ++d) known.set_dim(d, -1);
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, OtherShape<kToBatch>(blocks, std::move(known)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

template <bool kToBatch>
absl::Status NdShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 2));
  std::optional<Dims> sizes;
  if (const std::optional<std::vector<int64_t>> given = c.input_ints(1))
    sizes = Dims(given->begin(), given->end());
  return SetShape<kToBatch>(c, sizes, c.input_constant(2));
}

template <bool kToBatch>
absl::Status Shape2D(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 4));
  const int64_t size = BlockSize(c.node()).size;
  return SetShape<kToBatch>(c, Dims{size, size}, c.input_constant(1));
}

// Each is the other, backwards.
void SpaceToBatchNDGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("BatchToSpaceND", {g.grad(), g.input(1), g.input(2)}));
}
void BatchToSpaceNDGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("SpaceToBatchND", {g.grad(), g.input(1), g.input(2)}));
}
template <bool kToBatch>
void Gradient2D(GradientContext& g) {
  if (!g.wants(0)) return;
  g.Add(0, g.op(kToBatch ? "BatchToSpace" : "SpaceToBatch", {g.grad(), g.input(1)},
                {{"block_size", g.attr<int64_t>("block_size", 2)}}));
}

}  // namespace

void RegisterSpaceToBatch(OpRegistry& ops) {
  ops.Add({
      .schema = "SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> "
                "output: T {T: type; Tblock_shape: {int32, int64} = int32; Tpaddings: {int32, "
                "int64} = int32}",
      .doc = "Images with a border of zeros cut into blocks: the first pixels of all blocks are "
             "one image, the second pixels another one.",
      .api = {"space_to_batch", "nn.space_to_batch", "space_to_batch_nd"},
      .shape = NdShape<true>,
      .gradient = {SpaceToBatchNDGradient},
      .kernel = Compute<&MoveNd<true>>(),
  });
  ops.Add({
      .schema = "BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> output: T "
                "{T: type; Tblock_shape: {int32, int64} = int32; Tcrops: {int32, int64} = int32}",
      .doc = "What SpaceToBatchND did, undone; `crops` are cut off.",
      .api = {"batch_to_space"},
      .shape = NdShape<false>,
      .gradient = {BatchToSpaceNDGradient},
      .kernel = Compute<&MoveNd<false>>(),
  });
  ops.Add({
      .schema = "SpaceToBatch(input: T, paddings: Tpaddings) -> output: T {T: type; Tpaddings: "
                "{int32, int64} = int32; block_size: int >= 2}",
      .doc = "SpaceToBatchND with square blocks.",
      .shape = Shape2D<true>,
      .gradient = {Gradient2D<true>},
      .kernel = Compute<&Move2D<true>>(),
  });
  ops.Add({
      .schema = "BatchToSpace(input: T, crops: Tidx) -> output: T {T: type; block_size: int >= 2; "
                "Tidx: {int32, int64} = int32}",
      .doc = "BatchToSpaceND with square blocks.",
      .shape = Shape2D<false>,
      .gradient = {Gradient2D<false>},
      .kernel = Compute<&Move2D<false>>(),
  });
}

}  // namespace gyre

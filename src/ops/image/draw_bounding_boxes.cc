// DrawBoundingBoxes: the edges of boxes drawn into images.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/image/image_shape.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;

constexpr int64_t kGrain = 1 << 15;  // elements

// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
constexpr float kColors[10][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

// Colors in turn, each of as many elements as the image has channels.
struct Colors {
  const float* values;
  int64_t count, stride;
};

absl::StatusOr<Colors> ColorInput(const KernelContext& ctx, int64_t channels,
                                  std::array<float, 40>& defaults) {
  if (ctx.num_inputs() > 2) {
    const Tensor& colors = ctx.input(2);
    if (colors.rank() != 2 || colors.dim(1) < channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("colors must be [colors, channels] with at least ", channels,
                       " channels, but the shape is ", colors.shape().ToString()));
    }
    if (colors.num_elements() > 0)
      return Colors{colors.values<float>().data(), colors.dim(0), colors.dim(1)};
  }
  for (int i = 0; i < 40; ++i)
    defaults[i] = channels == 1 && i % 4 == 0 ? 1 : kColors[i / 4][i % 4];
  return Colors{defaults.data(), 10, 4};
}

// A coordinate in parts of the size as a row or column: perhaps far outside of the image.
int64_t Place(float part, int64_t size) {
  const float at = part * static_cast<float>(size - 1);
  const auto most = static_cast<float>(int64_t{1} << 40);
  return std::isnan(at) ? -1 : static_cast<int64_t>(std::min(std::max(at, -most), most));
}

template <typename T>
struct DrawKernel {
  static absl::Status Run(KernelContext& ctx) {
    const Tensor& images = ctx.input(0);
    const Tensor& boxes = ctx.input(1);
    GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::DimsOf(images, "images"));
    if (dims.channels != 1 && dims.channels != 3 && dims.channels != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "images must have 1, 3 or 4 channels, but the shape is ", images.shape().ToString()));
    }
    if (boxes.rank() != 3 || boxes.dim(2) != 4 || boxes.dim(0) != dims.batch) {
      return absl::InvalidArgumentError(absl::StrCat("boxes must be [", dims.batch,
                                                     ", boxes, 4], but the shape is ",
                                                     boxes.shape().ToString()));
    }
    std::array<float, 40> defaults;
    GYRE_ASSIGN_OR_RETURN(const Colors colors, ColorInput(ctx, dims.channels, defaults));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(images.dtype(), images.shape()));
    const T* from = images.values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
        images.num_elements(), kGrain,
        [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, to + begin); }));
    const float* box = boxes.values<float>().data();
    if (images.num_elements() > 0) {
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(dims.batch, 1, [&](int64_t begin, int64_t end) {
        int64_t work = 0;
        for (int64_t b = begin; b < end; ++b) {
          for (int64_t i = 0; i < boxes.dim(1); ++i) {
            work += 1 + DrawBox(dims, box + 4 * (b * boxes.dim(1) + i),
                                colors.values + i % colors.count * colors.stride,
                                to + b * dims.plane());
            if (work < kGrain) continue;
            work = 0;
            if (!ctx.Poll().ok()) return;
          }
        }
      }));
      GYRE_RETURN_IF_ERROR(ctx.Poll());  // pieces may have ended half-way
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  // Returns how many pixels were drawn. Boxes that are turned round, or outside, are not.
  static int64_t DrawBox(const ImageDims& dims, const float* box, const float* color, T* image) {
    const int64_t top = Place(box[0], dims.height), left = Place(box[1], dims.width);
    const int64_t bottom = Place(box[2], dims.height), right = Place(box[3], dims.width);
    if (top > bottom || left > right || top >= dims.height || bottom < 0 || left >= dims.width ||
        right < 0)
      return 0;
    const int64_t first_row = std::max<int64_t>(top, 0);
    const int64_t last_row = std::min(bottom, dims.height - 1);
    const int64_t first_column = std::max<int64_t>(left, 0);
    const int64_t last_column = std::min(right, dims.width - 1);
    const auto draw = [&](int64_t y, int64_t x) {
      T* pixel = image + y * dims.row() + x * dims.channels;
      for (int64_t c = 0; c < dims.channels; ++c) pixel[c] = static_cast<T>(color[c]);
    };
    for (int64_t x = first_column; x <= last_column; ++x) {
      if (top >= 0) draw(top, x);
      if (bottom < dims.height) draw(bottom, x);
    }
    for (int64_t y = first_row; y <= last_row; ++y) {
      if (left >= 0) draw(y, left);
      if (right < dims.width) draw(y, right);
    }
    return 2 * (last_column - first_column + last_row - first_row + 2);
  }
};

absl::Status DrawShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "images"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 1, 3, "boxes"));
  if (c.num_inputs() > 2) GYRE_RETURN_IF_ERROR(image::NeedRank(c, 2, 2, "colors"));
  c.set_output(0, c.input(0).has_rank() ? c.input(0) : PartialShape::UnknownOfRank(4));
  return absl::OkStatus();
}

}  // namespace

void RegisterDrawBoundingBoxes(OpRegistry& ops) {
  const auto add = [&](absl::string_view schema, absl::string_view doc) {
    ops.Add({
        .schema = schema,
        .doc = doc,
        .shape = DrawShape,
        .gradient = RefusesGradient("drawing boxes has no gradient, as in TensorFlow"),
        .kernel = ForTypes<DrawKernel, Types<float, Half>>("T"),
    });
  };
  add("DrawBoundingBoxes(images: T, boxes: float) -> output: T {T: {float, half} = float}",
      "Images with the edges of boxes (in parts of height and width) drawn in ten colors.");
  add("DrawBoundingBoxesV2(images: T, boxes: float, colors: float) -> output: T {T: {float, half} "
      "= float}",
      "Images with the edges of boxes (in parts of height and width) drawn in colors by turns.");
}

}  // namespace gyre

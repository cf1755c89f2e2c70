// CropAndResize: boxes cut out of images and resized; and its derivatives by images and boxes.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/first_error.h"
#include "ops/image/resample.h"
#include "ops/registry.h"

namespace gyre {
namespace {

using image::ImageDims;
using image::LoadRow;

constexpr int64_t kGrain = 1 << 15;  // elements

struct CropAttrs {
  explicit CropAttrs(const Node& node)
      : nearest(node.attrs.GetOr<std::string>("method", "bilinear") == "nearest"),
        outside(static_cast<float>(node.attrs.GetOr<float>("extrapolation_value", 0))) {}
  bool nearest;
  float outside;
};

struct Boxes {
  int64_t count;
  const float* corners;    // four of each: y1, x1, y2, x2
  const int32_t* indices;  // which image
};

// From inputs `boxes` and `boxes + 1`.
absl::StatusOr<Boxes> BoxInputs(const KernelContext& ctx, int boxes, int64_t batch) {
  const Tensor& corners = ctx.input(boxes);
  const Tensor& indices = ctx.input(boxes + 1);
  if (corners.rank() != 2 || corners.dim(1) != 4 || indices.rank() != 1 ||
      indices.dim(0) != corners.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("boxes must be [boxes, 4] and box_ind [boxes], but their shapes are ",
                     corners.shape().ToString(), " and ", indices.shape().ToString()));
  }
  const Boxes result{corners.dim(0), corners.values<float>().data(),
                     indices.values<int32_t>().data()};
  for (int64_t b = 0; b < result.count; ++b) {
    if (b % kGrain == kGrain - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (result.indices[b] < 0 || result.indices[b] >= batch) {
      return absl::OutOfRangeError(
          absl::StrCat("box_ind[", b, "] = ", result.indices[b], " is not in [0, ", batch, ")"));
    }
    for (int64_t i = 4 * b; i < 4 * b + 4; ++i) {
      if (!std::isfinite(result.corners[i])) {
        return absl::InvalidArgumentError(absl::StrCat("boxes[", b, ",", i % 4, "] is not finite"));
      }
    }
  }
  return result;
}

// Where the samples of a crop lie along one axis of the image.
struct Axis {
  Axis(float from, float to, int64_t size, int64_t samples)
      : size_(size),
        samples_(samples),
        from_(from),
        to_(to),
        scale_(samples > 1
                   ? (to - from) * static_cast<float>(size - 1) / static_cast<float>(samples - 1)
                   : 0) {}

  float At(int64_t i) const {
    const auto last = static_cast<float>(size_ - 1);
    if (samples_ > 1) return from_ * last + static_cast<float>(i) * scale_;
    return static_cast<float>(0.5 * static_cast<double>(from_ + to_) * static_cast<double>(last));
  }
  bool Holds(float at) const { return at >= 0 && at <= static_cast<float>(size_ - 1); }
  int64_t Below(float at) const { return Clamp(std::floor(at)); }
  int64_t Above(float at) const { return Clamp(std::ceil(at)); }
  int64_t Nearest(float at) const { return Clamp(std::round(at)); }

 private:
  int64_t Clamp(float at) const { return std::min(size_ - 1, static_cast<int64_t>(at)); }
  const int64_t size_, samples_;
  const float from_, to_, scale_;
};

// The elements of one pixel as floats.
class Pixels {
 public:
  Pixels(const Tensor& images, const ImageDims& dims)
      : data_(images.raw_data()),
        dims_(dims),
        load_(images.dtype() == DType::kFloat ? nullptr : image::RowLoader(images.dtype())) {}

  // In place, or in `buffer`, which has room for it.
  const float* At(int64_t batch, int64_t y, int64_t x, float* buffer) const {
    const int64_t first = batch * dims_.plane() + y * dims_.row() + x * dims_.channels;
    if (load_ == nullptr) return static_cast<const float*>(data_) + first;
    load_(data_, first, dims_.channels, buffer);
    return buffer;
  }

 private:
  const void* data_;
  const ImageDims dims_;
  const LoadRow load_;
};

// Row y of a crop.
void CropRow(const Pixels& pixels, const Axis& rows, const Axis& columns, int64_t batch, int64_t y,
             int64_t width, int64_t channels, const CropAttrs& attrs, float* buffer, float* out) {
  const float at_y = rows.At(y);
  if (!rows.Holds(at_y)) {
    std::fill_n(out, width * channels, attrs.outside);
    return;
  }
  const int64_t top = rows.Below(at_y), bottom = rows.Above(at_y);
  const float down = at_y - std::floor(at_y);
  for (int64_t x = 0; x < width; ++x, out += channels) {
    const float at_x = columns.At(x);
    if (!columns.Holds(at_x)) {
      std::fill_n(out, channels, attrs.outside);
      continue;
    }
    if (attrs.nearest) {
      const float* pixel = pixels.At(batch, rows.Nearest(at_y), columns.Nearest(at_x), buffer);
      std::copy_n(pixel, channels, out);
      continue;
    }
    const int64_t left = columns.Below(at_x), right = columns.Above(at_x);
    const float along = at_x - std::floor(at_x);
    const float* tl = pixels.At(batch, top, left, buffer);
    const float* tr = pixels.At(batch, top, right, buffer + channels);
    const float* bl = pixels.At(batch, bottom, left, buffer + 2 * channels);
    const float* br = pixels.At(batch, bottom, right, buffer + 3 * channels);
    for (int64_t c = 0; c < channels; ++c) {
      const float above = tl[c] + (tr[c] - tl[c]) * along;
      const float below = bl[c] + (br[c] - bl[c]) * along;
      out[c] = above + (below - above) * down;
    }
  }
}

absl::Status CropAndResize(KernelContext& ctx, const CropAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(ctx.input(0), "image"));
  GYRE_ASSIGN_OR_RETURN(const auto size, image::SizeInput(ctx, 3, "crop_size"));
  GYRE_ASSIGN_OR_RETURN(const Boxes boxes, BoxInputs(ctx, 1, dims.batch));
  if (image::RowLoader(ctx.input(0).dtype()) == nullptr) return NoKernelFor(ctx.input(0).dtype());
  GYRE_ASSIGN_OR_RETURN(const Shape shape,
                        Shape::Make({boxes.count, size[0], size[1], dims.channels}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, shape));
  float* const to = out.mutable_values<float>().data();
  const Pixels pixels(ctx.input(0), dims);
  const int64_t row = size[1] * dims.channels;
  FirstError error;
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
      boxes.count * size[0], std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
        const auto buffer = ctx.Allocate(DType::kFloat, Shape::Vector(4 * dims.channels));
        if (!buffer.ok()) return error.Set(begin, buffer.status());
        Tensor room = *buffer;
        float* const scratch = static_cast<float*>(const_cast<void*>(room.raw_data()));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t b = i / size[0];
          const float* box = boxes.corners + 4 * b;
          CropRow(pixels, Axis(box[0], box[2], dims.height, size[0]),
                  Axis(box[1], box[3], dims.width, size[1]), boxes.indices[b], i % size[0], size[1],
                  dims.channels, attrs, scratch, to + i * row);
        }
      }));
  GYRE_RETURN_IF_ERROR(error.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Adds what one box hands back to its image.
template <typename T>
absl::Status AddBox(const KernelContext& ctx, const ImageDims& grads, const float* from,
                    const float* box, const ImageDims& dims, bool nearest, T* image) {
  const Axis rows(box[0], box[2], dims.height, grads.height);
  const Axis columns(box[1], box[3], dims.width, grads.width);
  const int64_t channels = dims.channels;
  int64_t work = 0;
  for (int64_t y = 0; y < grads.height; ++y) {
    if ((work += grads.row()) >= kGrain) {
      work = 0;
      GYRE_RETURN_IF_ERROR(ctx.Poll());
    }
    const float at_y = rows.At(y);
    if (!rows.Holds(at_y)) continue;
    const float down = at_y - std::floor(at_y);
    for (int64_t x = 0; x < grads.width; ++x) {
      const float at_x = columns.At(x);
      if (!columns.Holds(at_x)) continue;
      const float* grad = from + y * grads.row() + x * channels;
      const auto add = [&](int64_t row, int64_t column, float weight) {
        T* pixel = image + row * dims.row() + column * channels;
        for (int64_t c = 0; c < channels; ++c) pixel[c] += static_cast<T>(weight * grad[c]);
      };
      if (nearest) {
        add(rows.Nearest(at_y), columns.Nearest(at_x), 1);
        continue;
      }
      const float along = at_x - std::floor(at_x);
      add(rows.Below(at_y), columns.Below(at_x), (1 - along) * (1 - down));
      add(rows.Below(at_y), columns.Above(at_x), along * (1 - down));
      add(rows.Above(at_y), columns.Below(at_x), (1 - along) * down);
      add(rows.Above(at_y), columns.Above(at_x), along * down);
    }
  }
  return absl::OkStatus();
}

// Half-precision sums are made in float.
template <typename T>
absl::Status AddBoxes(KernelContext& ctx, const CropAttrs& attrs, const ImageDims& grads,
                      const Boxes& boxes, const ImageDims& dims, Tensor& sums) {
  T* const to = sums.mutable_values<T>().data();
  const float* from = ctx.input(0).values<float>().data();
  FirstError error;
  // An image's boxes are added in their order, whatever the threads.
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(dims.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = 0; b < boxes.count; ++b) {
      if (b % kGrain == kGrain - 1 && !ctx.Poll().ok()) return;
      if (boxes.indices[b] < begin || boxes.indices[b] >= end) continue;
      absl::Status status = AddBox(ctx, grads, from + b * grads.plane(), boxes.corners + 4 * b,
                                   dims, attrs.nearest, to + boxes.indices[b] * dims.plane());
      if (!status.ok()) return error.Set(b, std::move(status));
    }
  }));
  return error.status();
}

absl::Status CropAndResizeGradImage(KernelContext& ctx, const CropAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims grads, image::SampledDims(ctx.input(0), "grads"));
  const Tensor& size = ctx.input(3);
  if (size.rank() != 1 || size.dim(0) != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "image_size must have four elements, but its shape is ", size.shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(3, "image_size"));
  const ImageDims dims{shape.dim(0), shape.dim(1), shape.dim(2), shape.dim(3)};
  if (dims.height < 1 || dims.width < 1 || dims.channels != grads.channels) {
    return absl::InvalidArgumentError(absl::StrCat("image_size ", shape.ToString(),
                                                   " does not fit grads of shape ",
                                                   ctx.input(0).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Boxes boxes, BoxInputs(ctx, 1, dims.batch));
  if (boxes.count != grads.batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", boxes.count, " boxes, but grads of ", grads.batch));
  }
  const DType result = ctx.output_dtype(0);
  const DType summed = result == DType::kDouble ? DType::kDouble : DType::kFloat;
  GYRE_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateZeros(summed, shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(summed == DType::kDouble
                             ? AddBoxes<double>(ctx, attrs, grads, boxes, dims, sums)
                             : AddBoxes<float>(ctx, attrs, grads, boxes, dims, sums));
  }
  if (result == DType::kHalf) {
    GYRE_ASSIGN_OR_RETURN(Tensor narrow, ctx.Allocate(result, shape));
    const float* from = sums.values<float>().data();
    Half* to = narrow.mutable_values<Half>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(shape.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) to[i] = static_cast<Half>(from[i]);
        }));
    sums = std::move(narrow);
  }
  ctx.set_output(0, std::move(sums));
  return absl::OkStatus();
}

// The derivative by one box: four numbers.
absl::Status BoxDerivative(const KernelContext& ctx, const Pixels& pixels, const ImageDims& dims,
                           const ImageDims& grads, const float* grad, const float* box,
                           int64_t batch, float* buffer, float* out) {
  const Axis rows(box[0], box[2], dims.height, grads.height);
  const Axis columns(box[1], box[3], dims.width, grads.width);
  const auto last_row = static_cast<float>(dims.height - 1);
  const auto last_column = static_cast<float>(dims.width - 1);
  const float row_ratio = grads.height > 1 ? last_row / static_cast<float>(grads.height - 1) : 0;
  const float column_ratio =
      grads.width > 1 ? last_column / static_cast<float>(grads.width - 1) : 0;
  const int64_t channels = dims.channels;
  std::fill_n(out, 4, 0.0f);
  int64_t work = 0;
  for (int64_t y = 0; y < grads.height; ++y) {
    if ((work += 4 * grads.row()) >= kGrain) {
      work = 0;
      GYRE_RETURN_IF_ERROR(ctx.Poll());
    }
    const float at_y = rows.At(y);
    if (!rows.Holds(at_y)) continue;
    const float down = at_y - std::floor(at_y);
    for (int64_t x = 0; x < grads.width; ++x) {
      const float at_x = columns.At(x);
      if (!columns.Holds(at_x)) continue;
      const float along = at_x - std::floor(at_x);
      const int64_t top = rows.Below(at_y), bottom = rows.Above(at_y);
      const int64_t left = columns.Below(at_x), right = columns.Above(at_x);
      const float* tl = pixels.At(batch, top, left, buffer);
      const float* tr = pixels.At(batch, top, right, buffer + channels);
      const float* bl = pixels.At(batch, bottom, left, buffer + 2 * channels);
      const float* br = pixels.At(batch, bottom, right, buffer + 3 * channels);
      for (int64_t c = 0; c < channels; ++c) {
        const float top_grad = grad[y * grads.row() + x * channels + c];
        const float by_y = ((1 - along) * (bl[c] - tl[c]) + along * (br[c] - tr[c])) * top_grad;
        const float by_x = ((1 - down) * (tr[c] - tl[c]) + down * (br[c] - bl[c])) * top_grad;
        if (grads.height > 1) {
          out[0] += by_y * (last_row - static_cast<float>(y) * row_ratio);
          out[2] += by_y * static_cast<float>(y) * row_ratio;
        } else {
          out[0] += by_y * 0.5f * last_row;
          out[2] += by_y * 0.5f * last_row;
        }
        if (grads.width > 1) {
          out[1] += by_x * (last_column - static_cast<float>(x) * column_ratio);
          out[3] += by_x * static_cast<float>(x) * column_ratio;
        } else {
          out[1] += by_x * 0.5f * last_column;
          out[3] += by_x * 0.5f * last_column;
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CropAndResizeGradBoxes(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const ImageDims grads, image::SampledDims(ctx.input(0), "grads"));
  GYRE_ASSIGN_OR_RETURN(const ImageDims dims, image::SampledDims(ctx.input(1), "image"));
  GYRE_ASSIGN_OR_RETURN(const Boxes boxes, BoxInputs(ctx, 2, dims.batch));
  if (boxes.count != grads.batch || grads.channels != dims.channels) {
    return absl::InvalidArgumentError(
        absl::StrCat("grads of shape ", ctx.input(0).shape().ToString(), " do not fit ",
                     boxes.count, " boxes of an image of shape ", ctx.input(1).shape().ToString()));
  }
  if (image::RowLoader(ctx.input(1).dtype()) == nullptr) return NoKernelFor(ctx.input(1).dtype());
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({boxes.count, 4}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kFloat, shape));
  float* const to = out.mutable_values<float>().data();
  const float* grad = ctx.input(0).values<float>().data();
  const Pixels pixels(ctx.input(1), dims);
  FirstError error;
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(
      boxes.count, std::max<int64_t>(1, kGrain / (4 * grads.plane())),
      [&](int64_t begin, int64_t end) {
        absl::StatusOr<Tensor> room = ctx.Allocate(DType::kFloat, Shape::Vector(4 * dims.channels));
        if (!room.ok()) return error.Set(begin, room.status());
        float* const scratch = room->mutable_values<float>().data();
        for (int64_t b = begin; b < end; ++b) {
          absl::Status status =
              BoxDerivative(ctx, pixels, dims, grads, grad + b * grads.plane(),
                            boxes.corners + 4 * b, boxes.indices[b], scratch, to + 4 * b);
          if (!status.ok()) return error.Set(b, std::move(status));
        }
      }));
  GYRE_RETURN_IF_ERROR(error.status());
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status BoxesFit(ShapeContext& c, int boxes) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, boxes, 2, "boxes"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, boxes + 1, 1, "box_ind"));
  if (image::DimOr(c, boxes, 1) >= 0 && image::DimOr(c, boxes, 1) != 4)
    return absl::InvalidArgumentError("boxes must have four columns");
  return absl::OkStatus();
}

absl::Status CropShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "image"));
  GYRE_RETURN_IF_ERROR(BoxesFit(c, 1));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 3, 1, "crop_size"));
  int64_t height = -1, width = -1;
  if (const auto size = c.input_ints(3)) {
    if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)
      return absl::InvalidArgumentError("crop_size must be two positive numbers");
    height = (*size)[0];
    width = (*size)[1];
  }
  c.set_output(0, PartialShape(Dims{image::DimOr(c, 1, 0), height, width, image::DimOr(c, 0, 3)}));
  return absl::OkStatus();
}

absl::Status GradImageShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(BoxesFit(c, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, c.InputAsShape(3));
  GYRE_ASSIGN_OR_RETURN(PartialShape fits, shape.Intersect(PartialShape::UnknownOfRank(4)));
  c.set_output(0, std::move(fits));
  return absl::OkStatus();
}

absl::Status GradBoxesShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(BoxesFit(c, 2));
  c.set_output(0, PartialShape(Dims{image::DimOr(c, 2, 0), 4}));
  return absl::OkStatus();
}

void CropGradient(GradientContext& g) {
  const std::string method = g.attr<std::string>("method", "bilinear");
  if (g.wants(0) && IsFloating(g.input_dtype(0))) {
    g.Add(0, g.op("CropAndResizeGradImage", {g.grad(), g.input(1), g.input(2), g.input_dims(0)},
                  {{"T", g.input_dtype(0)}, {"method", method}}));
  }
  // Of the nearest pixels, too, by the derivative of what lies between them.
  if (g.wants(1)) {
    g.Add(1, g.op("CropAndResizeGradBoxes", {g.grad(), g.input(0), g.input(1), g.input(2)}));
  }
}

// It is linear in the gradients, and by boxes what CropAndResize of the adjoint is.
void GradImageGradient(GradientContext& g) {
  const std::string method = g.attr<std::string>("method", "bilinear");
  const Expr size = g.op("Slice", {g.input_dims(0), g.builder().Ints({1}), g.builder().Ints({2})});
  if (g.wants(0)) {
    g.Add(0, g.op("CropAndResize", {g.grad(), g.input(1), g.input(2), size},
                  {{"method", method}, {"extrapolation_value", 0.0f}}));
  }
  if (g.wants(1)) {
    g.Add(1, g.op("CropAndResizeGradBoxes", {g.input(0), g.grad(), g.input(1), g.input(2)}));
  }
}

}  // namespace

void RegisterCropAndResize(OpRegistry& ops) {
  ops.Add({
      .schema = "CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> crops: "
                "float {T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; "
                "method: {'bilinear', 'nearest'} = 'bilinear'; extrapolation_value: float = 0}",
      .doc = "Boxes (in parts of height and width) cut out of images, and resized.",
      .shape = CropShape,
      .gradient = {CropGradient},
      .kernel = Compute<&CropAndResize>(),
  });
  ops.Add({
      .schema = "CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, "
                "image_size: int32) -> output: T {T: {float, half, double}; "
                "method: {'bilinear', 'nearest'} = 'bilinear'}",
      .doc = "The gradient of CropAndResize by its images, given that of what it makes.",
      .shape = GradImageShape,
      .gradient = {GradImageGradient},
      .kernel = Compute<&CropAndResizeGradImage>(),
  });
  ops.Add({
      .schema = "CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> "
                "output: float {T: {uint8, uint16, int8, int16, int32, int64, half, float, "
                "double}; method: {'bilinear'} = 'bilinear'}",
      .doc = "The gradient of CropAndResize by its boxes, given that of what it makes.",
      .shape = GradBoxesShape,
      .gradient = RefusesGradient("CropAndResizeGradBoxes has no gradient, as in TensorFlow"),
      .kernel = Compute<&CropAndResizeGradBoxes>(),
  });
}

}  // namespace gyre

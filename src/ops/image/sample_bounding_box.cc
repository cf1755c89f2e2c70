// SampleDistortedBoundingBox: a random part of an image that holds enough of some object.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/image/image_shape.h"
#include "ops/random/draws.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct Rectangle {
  int64_t left = 0, top = 0, right = 0, bottom = 0;

  float Area() const { return static_cast<float>((right - left) * (bottom - top)); }
  Rectangle Common(const Rectangle& other) const {
    const Rectangle common{std::max(left, other.left), std::max(top, other.top),
                           std::min(right, other.right), std::min(bottom, other.bottom)};
    return common.left > common.right || common.top > common.bottom ? Rectangle() : common;
  }
};

struct SampleAttrs {
  static absl::StatusOr<SampleAttrs> Make(const Node& node) {
    SampleAttrs attrs;
    attrs.use_image = NodeAttr<bool>(node, "use_image_if_no_bounding_boxes");
    attrs.attempts = NodeAttr<int64_t>(node, "max_attempts");
    attrs.least_covered = node.attrs.GetOr<float>("min_object_covered", 0.1f);
    attrs.seed = node.attrs.GetOr<int64_t>("seed", 0);
    attrs.seed2 = node.attrs.GetOr<int64_t>("seed2", 0);
    GYRE_RETURN_IF_ERROR(ReadRange(node, "aspect_ratio_range", 1e30f, attrs.aspect));
    GYRE_RETURN_IF_ERROR(ReadRange(node, "area_range", 1, attrs.area));
    constexpr int64_t kMostAttempts = 1'000'000;
    if (attrs.attempts < 1 || attrs.attempts > kMostAttempts) {
      return absl::InvalidArgumentError(
          absl::StrCat("max_attempts must be in [1, ", kMostAttempts, "], got ", attrs.attempts));
    }
    return attrs;
  }

  static absl::Status ReadRange(const Node& node, absl::string_view name, float most,
                                float (&range)[2]) {
    const auto& values = NodeAttr<std::vector<float>>(node, name);
    if (values.size() != 2 || !(values[0] > 0 && values[1] > 0) ||
        !(values[0] <= most && values[1] <= most)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be two numbers in (0, ", most, "]"));
    }
    range[0] = values[0];
    range[1] = values[1];
    return absl::OkStatus();
  }

  bool use_image = false;
  int64_t attempts = 100;
  float least_covered = 0.1f;
  float aspect[2] = {}, area[2] = {};
  int64_t seed = 0, seed2 = 0;
};

// A part of the image of some aspect ratio, whose area is in the range; false if there is none.
bool DrawPart(int64_t width, int64_t height, const float (&area)[2], float aspect, Draws& draws,
              Rectangle& part) {
  if (area[1] <= 0 || aspect <= 0 || width <= 0 || height <= 0 || area[0] > area[1]) return false;
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  const float least = area[0] * w * h, most = area[1] * w * h;
  const auto round = [](float x) { return static_cast<int64_t>(std::lrintf(x)); };
  const auto wide = [&](int64_t rows) { return round(static_cast<float>(rows) * aspect); };
  int64_t rows = round(std::sqrt(least / aspect));
  int64_t most_rows = round(std::sqrt(most / aspect));
  if (wide(most_rows) > width) {
    constexpr float kEpsilon = 0.0000001f;
    most_rows = static_cast<int64_t>((static_cast<double>(width) + 0.5 - kEpsilon) / aspect);
    if (wide(most_rows) > width) --most_rows;
  }
  most_rows = std::min(most_rows, height);
  rows = std::min(rows, most_rows);
  if (rows < most_rows) rows += draws.Below(static_cast<uint32_t>(most_rows - rows + 1));
  int64_t columns = wide(rows);
  // Rounding may have left the range: a row more, or less, may be within.
  float covered = static_cast<float>(columns * rows);
  if (covered < least) {
    columns = wide(++rows);
    covered = static_cast<float>(columns * rows);
  }
  if (covered > most) {
    columns = wide(--rows);
    covered = static_cast<float>(columns * rows);
  }
  if (covered < least || covered > most || columns > width || rows > height || columns <= 0 ||
      rows <= 0)
    return false;
  part.top = rows < height ? draws.Below(static_cast<uint32_t>(height - rows)) : 0;
  part.left = columns < width ? draws.Below(static_cast<uint32_t>(width - columns)) : 0;
  part.right = part.left + columns;
  part.bottom = part.top + rows;
  return true;
}

bool CoversSome(const Rectangle& part, float least, const std::vector<Rectangle>& objects) {
  if (part.Area() < 1) return false;
  return std::any_of(objects.begin(), objects.end(), [&](const Rectangle& object) {
    const float area = object.Area();
    return area >= 1 && part.Common(object).Area() / area >= least;
  });
}

absl::StatusOr<std::vector<Rectangle>> Objects(const KernelContext& ctx, const SampleAttrs& attrs,
                                               int64_t width, int64_t height) {
  const Tensor& boxes = ctx.input(1);
  if (boxes.rank() != 3 || boxes.dim(2) != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bounding_boxes must be [batch, boxes, 4], but the shape is ", boxes.shape().ToString()));
  }
  std::vector<Rectangle> objects;
  const auto corners = boxes.values<float>();
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  for (size_t i = 0; i < corners.size(); i += 4) {
    if (i % (1 << 15) == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    for (size_t j = i; j < i + 4; ++j) {
      if (!(corners[j] >= 0 && corners[j] <= 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("All bounding box coordinates must be in [0.0, 1.0]: ", corners[j]));
      }
    }
    objects.push_back(
        {static_cast<int64_t>(corners[i + 1] * w), static_cast<int64_t>(corners[i] * h),
         static_cast<int64_t>(corners[i + 3] * w), static_cast<int64_t>(corners[i + 2] * h)});
  }
  if (objects.empty()) {
    if (!attrs.use_image) {
      return absl::InvalidArgumentError(
          "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if "
          "you wish to not provide any bounding boxes.");
    }
    objects.push_back({0, 0, width, height});
  }
  return objects;
}

template <typename T>
absl::Status SetPart(KernelContext& ctx, const Rectangle& part, int64_t width, int64_t height) {
  GYRE_ASSIGN_OR_RETURN(Tensor begin, ctx.Allocate(DTypeOf<T>, Shape::Vector(3)));
  GYRE_ASSIGN_OR_RETURN(Tensor size, ctx.Allocate(DTypeOf<T>, Shape::Vector(3)));
  GYRE_ASSIGN_OR_RETURN(const Shape one_box, Shape::Make({1, 1, 4}));
  GYRE_ASSIGN_OR_RETURN(Tensor box, ctx.Allocate(DType::kFloat, one_box));
  const int64_t begins[3] = {part.top, part.left, 0};
  const int64_t sizes[3] = {part.bottom - part.top, part.right - part.left, -1};
  for (int i = 0; i < 3; ++i) {
    begin.mutable_values<T>()[i] = static_cast<T>(begins[i]);
    size.mutable_values<T>()[i] = static_cast<T>(sizes[i]);
  }
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  const float corners[4] = {static_cast<float>(part.top) / h, static_cast<float>(part.left) / w,
                            static_cast<float>(part.bottom) / h,
                            static_cast<float>(part.right) / w};
  std::copy_n(corners, 4, box.mutable_values<float>().begin());
  ctx.set_output(0, std::move(begin));
  ctx.set_output(1, std::move(size));
  ctx.set_output(2, std::move(box));
  return absl::OkStatus();
}

using SizeTypes = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;

template <typename T>
struct SampleKernel {
  static absl::Status Run(KernelContext& ctx, const SampleAttrs& attrs) {
    const Tensor& image = ctx.input(0);
    if (image.rank() != 1 || image.dim(0) != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "image_size must have three elements, but its shape is ", image.shape().ToString()));
    }
    const auto height = static_cast<int64_t>(image.values<T>()[0]);
    const auto width = static_cast<int64_t>(image.values<T>()[1]);
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (height < 0 || width < 0 || height >= kMost || width >= kMost) {
      return absl::InvalidArgumentError(
          absl::StrCat("image_size [", height, ",", width, "] is not in [0, 2^31 - 1)"));
    }
    float least = attrs.least_covered;
    if (ctx.num_inputs() > 2) {
      if (ctx.input(2).rank() != 0)
        return absl::InvalidArgumentError("min_object_covered must be a scalar");
      least = ctx.input(2).scalar<float>();
    }
    if (!(least >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Min object covered must be non-negative: ", least));
    }
    GYRE_ASSIGN_OR_RETURN(const auto objects, Objects(ctx, attrs, width, height));
    Philox generator(0, 0, 0);
    if (ctx.num_inputs() > 3) {
      GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 3));
      generator = seeded.generator();
    } else {
      const auto [key, stream] = ctx.RandomKey(attrs.seed, attrs.seed2);
      generator = Philox(key, 0, stream);
    }
    Draws draws(generator);
    Rectangle part;
    bool found = false;
    for (int64_t i = 0; i < attrs.attempts && !found; ++i) {
      if (i % 64 == 63 || objects.size() > 1024) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const float aspect = draws.Float() * (attrs.aspect[1] - attrs.aspect[0]) + attrs.aspect[0];
      found = DrawPart(width, height, attrs.area, aspect, draws, part) &&
              CoversSome(part, least, objects);
    }
    if (!found) part = {0, 0, width, height};
    return SetPart<T>(ctx, part, width, height);
  }
};

absl::Status SampleShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(3)).Intersect(c.input(0)).status());
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 3));
  if (c.num_inputs() > 2) GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  if (c.num_inputs() > 3)
    GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(3)).status());
  c.set_output(0, Shape::Vector(3));
  c.set_output(1, Shape::Vector(3));
  c.set_output(2, PartialShape(Dims{1, 1, 4}));
  return absl::OkStatus();
}

constexpr absl::string_view kRanges =
    "aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1]; "
    "max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false}";
constexpr absl::string_view kOutputs =
    ") -> begin: T, size: T, bboxes: float {T: {uint8, int8, "
    "int16, int32, int64}; ";

void AddSampler(OpRegistry& ops, absl::string_view name, absl::string_view inputs,
                absl::string_view attrs, Effect effect) {
  const std::string schema =
      absl::StrCat(name, "(image_size: T, bounding_boxes: float", inputs, kOutputs, attrs, kRanges);
  ops.Add({
      .schema = schema,
      .doc = "A random part of an image that covers enough of one of the boxes: where it begins, "
             "its size, and both in parts of the image.",
      .traits = {.effect = effect},
      .shape = SampleShape,
      .gradient = NotDifferentiable("random numbers do not depend on differentiable inputs"),
      .kernel = ForTypes<SampleKernel, SizeTypes>("T"),
  });
}

}  // namespace

void RegisterSampleBoundingBox(OpRegistry& ops) {
  AddSampler(ops, "SampleDistortedBoundingBox", "",
             "seed: int = 0; seed2: int = 0; min_object_covered: float = 0.1; ", Effect::kRandom);
  AddSampler(ops, "SampleDistortedBoundingBoxV2", ", min_object_covered: float",
             "seed: int = 0; seed2: int = 0; ", Effect::kRandom);
  AddSampler(ops, "StatelessSampleDistortedBoundingBox", ", min_object_covered: float, seed: Tseed",
             "Tseed: {int32, int64}; ", Effect::kNone);
}

}  // namespace gyre

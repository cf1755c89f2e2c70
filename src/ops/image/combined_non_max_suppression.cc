// CombinedNonMaxSuppression: of each image of a batch, the best boxes of each class, and of these
// the best of all.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/first_error.h"
#include "ops/image/boxes.h"
#include "ops/image/image_shape.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kPollSteps = 1 << 13;

struct CombinedAttrs {
  explicit CombinedAttrs(const Node& node)
      : pad_per_class(NodeAttr<bool>(node, "pad_per_class")),
        clip_boxes(NodeAttr<bool>(node, "clip_boxes")) {}
  bool pad_per_class, clip_boxes;
};

struct Found {
  float score;
  int32_t box, label;
};

struct Limits {
  int64_t per_class, total;
  float overlap, score;
};

// Boxes [batch, boxes, q, 4], where q is 1 or the number of classes; scores [batch, boxes,
// classes].
struct Input {
  int64_t batch, boxes, q, classes;
  const float* corners;
  const float* scores;

  const float* Box(int64_t image, int64_t box, int64_t label) const {
    return corners + 4 * ((image * boxes + box) * q + (q > 1 ? label : 0));
  }
};

absl::StatusOr<Input> ReadInput(const KernelContext& ctx) {
  const Tensor& corners = ctx.input(0);
  const Tensor& scores = ctx.input(1);
  if (corners.rank() != 4 || scores.rank() != 3 || corners.dim(3) != 4 ||
      corners.dim(0) != scores.dim(0) || corners.dim(1) != scores.dim(1) ||
      (corners.dim(2) != 1 && corners.dim(2) != scores.dim(2))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "boxes must be [batch, boxes, 1 or classes, 4] and scores [batch, boxes, classes], but "
        "their shapes are ",
        corners.shape().ToString(), " and ", scores.shape().ToString()));
  }
  if (corners.dim(1) > std::numeric_limits<int32_t>::max() ||
      scores.dim(2) > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError("there are more than 2^31 - 1 boxes or classes");
  return Input{corners.dim(0),
               corners.dim(1),
               corners.dim(2),
               scores.dim(2),
               corners.values<float>().data(),
               scores.values<float>().data()};
}

absl::StatusOr<float> Threshold(const KernelContext& ctx, int i, absl::string_view what) {
  if (ctx.input(i).rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a scalar, but its shape is ",
                                                   ctx.input(i).shape().ToString()));
  }
  return ctx.input(i).scalar<float>();
}

absl::StatusOr<Limits> ReadLimits(const KernelContext& ctx) {
  Limits limits;
  GYRE_ASSIGN_OR_RETURN(limits.per_class, IntegerScalar(ctx.input(2), "max_output_size_per_class"));
  GYRE_ASSIGN_OR_RETURN(limits.total, IntegerScalar(ctx.input(3), "max_total_size"));
  GYRE_ASSIGN_OR_RETURN(limits.overlap, Threshold(ctx, 4, "iou_threshold"));
  GYRE_ASSIGN_OR_RETURN(limits.score, Threshold(ctx, 5, "score_threshold"));
  if (limits.per_class < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_output_size_per_class must be positive, got ", limits.per_class));
  }
  if (limits.total < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_total_size must be positive, got ", limits.total));
  }
  if (!(limits.overlap >= 0 && limits.overlap <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("iou_threshold must be in [0, 1], got ", limits.overlap));
  }
  return limits;
}

// Appends the boxes of one class of one image, by falling scores.
absl::Status SelectClass(const KernelContext& ctx, const Input& in, const Limits& limits,
                         int64_t image, int64_t label, std::vector<Found>& found) {
  std::vector<Found> candidates;
  int64_t steps = 0;
  for (int64_t b = 0; b < in.boxes; ++b) {
    if (++steps % kPollSteps == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const float score = in.scores[(image * in.boxes + b) * in.classes + label];
    if (score > limits.score)
      candidates.push_back({score, static_cast<int32_t>(b), static_cast<int32_t>(label)});
  }
  const auto later = [](const Found& a, const Found& b) {
    return a.score == b.score ? a.box > b.box : a.score < b.score;
  };
  std::make_heap(candidates.begin(), candidates.end(), later);
  const size_t first = found.size();
  while (static_cast<int64_t>(found.size() - first) < limits.per_class && !candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), later);
    const Found next = candidates.back();
    candidates.pop_back();
    if (++steps % kPollSteps == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const float* box = in.Box(image, next.box, label);
    bool overlaps = false;
    for (size_t j = found.size(); j > first && !overlaps; --j) {
      if (++steps % kPollSteps == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      overlaps = image::OverlapOf(box, in.Box(image, found[j - 1].box, label)) > limits.overlap;
    }
    if (!overlaps) found.push_back(next);
  }
  return absl::OkStatus();
}

struct Outputs {
  Tensor boxes, scores, classes, counts;
};

absl::Status SelectImage(const KernelContext& ctx, const CombinedAttrs& attrs, const Input& in,
                         const Limits& limits, int64_t image, int64_t size, Outputs& out) {
  std::vector<Found> found;
  for (int64_t label = 0; label < in.classes; ++label)
    GYRE_RETURN_IF_ERROR(SelectClass(ctx, in, limits, image, label, found));
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.score > b.score; });
  const int64_t count = std::min<int64_t>(static_cast<int64_t>(found.size()), size);
  for (int64_t i = 0; i < count; ++i) {
    if (i % kPollSteps == kPollSteps - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t at = image * size + i;
    const float* box = in.Box(image, found[i].box, found[i].label);
    float* const to = out.boxes.mutable_values<float>().data() + 4 * at;
    for (int c = 0; c < 4; ++c)
      to[c] = attrs.clip_boxes ? std::max(std::min(box[c], 1.0f), 0.0f) : box[c];
    out.scores.mutable_values<float>()[at] = found[i].score;
    out.classes.mutable_values<float>()[at] = static_cast<float>(found[i].label);
  }
  out.counts.mutable_values<int32_t>()[image] = static_cast<int32_t>(count);
  return absl::OkStatus();
}

absl::Status Combined(KernelContext& ctx, const CombinedAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Input in, ReadInput(ctx));
  GYRE_ASSIGN_OR_RETURN(const Limits limits, ReadLimits(ctx));
  int64_t size = limits.total;
  if (attrs.pad_per_class) {
    const int64_t all = CheckedMul(limits.per_class, in.classes).value_or(size);
    size = std::min(size, std::min<int64_t>(all, std::numeric_limits<int32_t>::max()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape boxes, Shape::Make({in.batch, size, 4}));
  GYRE_ASSIGN_OR_RETURN(const Shape each, Shape::Make({in.batch, size}));
  Outputs out;
  GYRE_ASSIGN_OR_RETURN(out.boxes, ctx.AllocateZeros(DType::kFloat, boxes));
  GYRE_ASSIGN_OR_RETURN(out.scores, ctx.AllocateZeros(DType::kFloat, each));
  GYRE_ASSIGN_OR_RETURN(out.classes, ctx.AllocateZeros(DType::kFloat, each));
  GYRE_ASSIGN_OR_RETURN(out.counts, ctx.AllocateZeros(DType::kInt32, Shape::Vector(in.batch)));
  FirstError error;
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(in.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      absl::Status status = SelectImage(ctx, attrs, in, limits, image, size, out);
      if (!status.ok()) return error.Set(image, std::move(status));
    }
  }));
  GYRE_RETURN_IF_ERROR(error.status());
  ctx.set_output(0, std::move(out.boxes));
  ctx.set_output(1, std::move(out.scores));
  ctx.set_output(2, std::move(out.classes));
  ctx.set_output(3, std::move(out.counts));
  return absl::OkStatus();
}

absl::Status CombinedShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 4, "boxes"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 1, 3, "scores"));
  for (int i = 2; i < 6; ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  int64_t size = c.input_int(3).value_or(-1);
  if (c.attrs().GetOr<bool>("pad_per_class", false)) {
    const int64_t per_class = c.input_int(2).value_or(-1), classes = image::DimOr(c, 1, 2);
    const auto all = CheckedMul(per_class, classes);
    const bool known = per_class >= 0 && classes >= 0 && size >= 0 && all;
    size = known ? std::min(size, *all) : -1;
  }
  size = std::max<int64_t>(size, -1);
  const int64_t batch = image::DimOr(c, 0, 0);
  c.set_output(0, PartialShape(Dims{batch, size, 4}));
  c.set_output(1, PartialShape(Dims{batch, size}));
  c.set_output(2, PartialShape(Dims{batch, size}));
  c.set_output(3, PartialShape(Dims{batch}));
  return absl::OkStatus();
}

}  // namespace

void RegisterCombinedNonMaxSuppression(OpRegistry& ops) {
  ops.Add({
      .schema = "CombinedNonMaxSuppression(boxes: float, scores: float, "
                "max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float, "
                "score_threshold: float) -> nmsed_boxes: float, nmsed_scores: float, "
                "nmsed_classes: float, valid_detections: int32 {pad_per_class: bool = false; "
                "clip_boxes: bool = true}",
      .doc = "Of each image the best boxes of each class that do not overlap, and of these the "
             "best of all.",
      .shape = CombinedShape,
      .gradient = NotDifferentiable("which boxes are selected is no smooth function"),
      .kernel = Compute<&Combined>(),
  });
}

}  // namespace gyre

// NonMaxSuppression and its kin: the boxes of the highest scores that do not overlap much.
//
// Boxes are taken in order of their scores; what overlaps a box that was taken is left out, or,
// with a sigma, has its score lowered and waits for its turn again (Bodla et al., Soft-NMS, 2017).
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/image/boxes.h"
#include "ops/image/image_shape.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kPollSteps = 1 << 13;

template <typename T>
struct Candidate {
  int32_t box;
  T score;
  int64_t compared;  // with so many of those that are selected
};

// Whether `a` is taken after `b`.
template <typename T>
struct IsLater {
  bool operator()(const Candidate<T>& a, const Candidate<T>& b) const {
    const auto x = static_cast<float>(a.score), y = static_cast<float>(b.score);
    return x == y ? a.box > b.box : x < y;
  }
};

template <typename T>
struct Limits {
  int64_t most = 0;
  T overlap = T(0);
  T score = T(0);
  T sigma = T(0);  // 0: what overlaps is left out
};

template <typename T>
struct Selected {
  std::vector<int32_t> boxes;
  std::vector<T> scores;
};

// `overlap(i, j)` says how much two boxes overlap.
template <typename T, typename Overlap>
absl::StatusOr<Selected<T>> Select(const KernelContext& ctx, const T* scores, int64_t n,
                                   const Limits<T>& limits, const Overlap& overlap) {
  const auto value = [](T x) { return static_cast<float>(x); };
  std::vector<Candidate<T>> candidates;
  for (int64_t i = 0; i < n; ++i) {
    if (i % kPollSteps == kPollSteps - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (value(scores[i]) > value(limits.score))
      candidates.push_back({static_cast<int32_t>(i), scores[i], 0});
  }
  std::priority_queue<Candidate<T>, std::vector<Candidate<T>>, IsLater<T>> queue(
      IsLater<T>(), std::move(candidates));
  const bool soft = value(limits.sigma) > 0;
  const T scale = soft ? static_cast<T>(-0.5f / value(limits.sigma)) : T(0);
  Selected<T> selected;
  int64_t steps = 0;
  while (static_cast<int64_t>(selected.boxes.size()) < limits.most && !queue.empty()) {
    Candidate<T> next = queue.top();
    queue.pop();
    const T original = next.score;
    bool left_out = false;
    for (auto j = static_cast<int64_t>(selected.boxes.size()) - 1; j >= next.compared; --j) {
      if (++steps % kPollSteps == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      const T common = static_cast<T>(overlap(next.box, selected.boxes[j]));
      if (!soft) {
        if (value(common) <= value(limits.overlap)) continue;
        left_out = true;
        break;
      }
      const T power =
          static_cast<T>(value(static_cast<T>(value(scale) * value(common))) * value(common));
      const T weight = static_cast<T>(std::exp(value(power)));
      next.score = static_cast<T>(value(next.score) * value(weight));
      if (value(next.score) <= value(limits.score)) break;
    }
    if (++steps % kPollSteps == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (left_out) continue;
    next.compared = static_cast<int64_t>(selected.boxes.size());
    if (value(next.score) == value(original)) {
      selected.boxes.push_back(next.box);
      selected.scores.push_back(next.score);
    } else if (value(next.score) > value(limits.score)) {
      queue.push(next);
    }
  }
  return selected;
}

absl::StatusOr<int64_t> BoxCount(const KernelContext& ctx) {
  const Tensor& boxes = ctx.input(0);
  const Tensor& scores = ctx.input(1);
  if (boxes.rank() != 2 || boxes.dim(1) != 4 || scores.rank() != 1 ||
      scores.dim(0) != boxes.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("boxes must be [boxes, 4] and scores [boxes], but their shapes are ",
                     boxes.shape().ToString(), " and ", scores.shape().ToString()));
  }
  if (boxes.dim(0) > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError("there are more than 2^31 - 1 boxes");
  return boxes.dim(0);
}

absl::StatusOr<int64_t> OutputSize(const KernelContext& ctx, int i, absl::string_view what) {
  GYRE_ASSIGN_OR_RETURN(const int64_t size, IntegerScalar(ctx.input(i), what));
  if (size < 0)
    return absl::InvalidArgumentError(absl::StrCat(what, " must not be negative, got ", size));
  return size;
}

// Input i, a scalar, as a T.
template <typename T>
absl::StatusOr<T> Threshold(const KernelContext& ctx, int i, absl::string_view what) {
  const Tensor& t = ctx.input(i);
  if (t.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a scalar, but its shape is ", t.shape().ToString()));
  }
  return t.dtype() == DType::kHalf ? static_cast<T>(static_cast<float>(t.scalar<Half>()))
                                   : static_cast<T>(t.scalar<float>());
}

absl::Status CheckOverlap(float threshold) {
  if (threshold >= 0 && threshold <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("iou_threshold must be in [0, 1], got ", threshold));
}

// Outputs: indices, then, where the op has them, scores, and how many there are. With `padded`,
// indices and scores are filled up with zeros.
template <typename T>
absl::Status SetSelected(KernelContext& ctx, Selected<T> selected, int64_t most, bool padded,
                         bool has_scores) {
  const auto count = static_cast<int64_t>(selected.boxes.size());
  const int64_t size = padded ? most : count;
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.AllocateZeros(DType::kInt32, Shape::Vector(size)));
  std::copy(selected.boxes.begin(), selected.boxes.end(),
            indices.mutable_values<int32_t>().begin());
  ctx.set_output(0, std::move(indices));
  if (has_scores) {
    GYRE_ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateZeros(DTypeOf<T>, Shape::Vector(size)));
    std::copy(selected.scores.begin(), selected.scores.end(), scores.mutable_values<T>().begin());
    ctx.set_output(1, std::move(scores));
  }
  const int last = has_scores ? 2 : 1;
  if (ctx.num_outputs() > last) ctx.set_output(last, Tensor::Scalar(static_cast<int32_t>(count)));
  return absl::OkStatus();
}

struct SuppressAttrs {
  explicit SuppressAttrs(const Node& node)
      : iou_threshold(node.attrs.GetOr<float>("iou_threshold", 0.5f)),
        padded(node.attrs.GetOr<bool>("pad_to_max_output_size", false)) {}
  float iou_threshold;
  bool padded;
};

// Versions 1 to 5 of the op have, one after the other, an overlap, a score and a sigma as inputs.
template <typename T>
struct Suppress {
  static absl::Status Run(KernelContext& ctx, const SuppressAttrs& attrs) {
    GYRE_ASSIGN_OR_RETURN(const int64_t n, BoxCount(ctx));
    Limits<T> limits;
    GYRE_ASSIGN_OR_RETURN(limits.most, OutputSize(ctx, 2, "max_output_size"));
    limits.overlap = static_cast<T>(attrs.iou_threshold);
    limits.score = std::is_same_v<T, float> ? static_cast<T>(std::numeric_limits<float>::lowest())
                                            : static_cast<T>(-65504.0f);
    if (ctx.num_inputs() > 3) {
      GYRE_ASSIGN_OR_RETURN(limits.overlap, Threshold<T>(ctx, 3, "iou_threshold"));
    }
    if (ctx.num_inputs() > 4) {
      GYRE_ASSIGN_OR_RETURN(limits.score, Threshold<T>(ctx, 4, "score_threshold"));
    }
    if (ctx.num_inputs() > 5) {
      GYRE_ASSIGN_OR_RETURN(limits.sigma, Threshold<T>(ctx, 5, "soft_nms_sigma"));
      if (!(static_cast<float>(limits.sigma) >= 0))
        return absl::InvalidArgumentError("soft_nms_sigma must not be negative");
    }
    GYRE_RETURN_IF_ERROR(CheckOverlap(static_cast<float>(limits.overlap)));
    const T* boxes = ctx.input(0).values<T>().data();
    GYRE_ASSIGN_OR_RETURN(
        Selected<T> selected,
        (Select<T>(ctx, ctx.input(1).values<T>().data(), n, limits, [&](int32_t i, int32_t j) {
          return image::OverlapOf(boxes + 4 * int64_t{i}, boxes + 4 * int64_t{j});
        })));
    return SetSelected(ctx, std::move(selected), limits.most, attrs.padded,
                       /*has_scores=*/ctx.num_inputs() > 5);
  }
};

absl::Status SuppressOverlaps(KernelContext& ctx) {
  const Tensor& overlaps = ctx.input(0);
  const Tensor& scores = ctx.input(1);
  if (overlaps.rank() != 2 || overlaps.dim(0) != overlaps.dim(1) || scores.rank() != 1 ||
      scores.dim(0) != overlaps.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("overlaps must be [boxes, boxes] and scores [boxes], but their shapes are ",
                     overlaps.shape().ToString(), " and ", scores.shape().ToString()));
  }
  const int64_t n = overlaps.dim(0);
  if (n > std::numeric_limits<int32_t>::max())
    return absl::InvalidArgumentError("there are more than 2^31 - 1 boxes");
  Limits<float> limits;
  GYRE_ASSIGN_OR_RETURN(limits.most, OutputSize(ctx, 2, "max_output_size"));
  GYRE_ASSIGN_OR_RETURN(limits.overlap, Threshold<float>(ctx, 3, "overlap_threshold"));
  GYRE_ASSIGN_OR_RETURN(limits.score, Threshold<float>(ctx, 4, "score_threshold"));
  const float* common = overlaps.values<float>().data();
  GYRE_ASSIGN_OR_RETURN(Selected<float> selected,
                        (Select<float>(ctx, scores.values<float>().data(), n, limits,
                                       [&](int32_t i, int32_t j) { return common[i * n + j]; })));
  return SetSelected(ctx, std::move(selected), limits.most, /*padded=*/false,
                     /*has_scores=*/false);
}

absl::Status SuppressShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 0, 2, "boxes"));
  GYRE_RETURN_IF_ERROR(image::NeedRank(c, 1, 1, "scores"));
  for (int i = 2; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  int64_t size = -1;
  if (c.attrs().GetOr<bool>("pad_to_max_output_size", false)) {
    size = c.input_int(2).value_or(-1);
    if (size < -1) return absl::InvalidArgumentError("max_output_size must not be negative");
  }
  c.set_output(0, PartialShape(Dims{size}));
  const bool has_scores = c.num_outputs() == 3;
  if (has_scores) c.set_output(1, PartialShape(Dims{size}));
  if (c.num_outputs() > 1) c.set_output(c.num_outputs() - 1, PartialShape::Scalar());
  return absl::OkStatus();
}

constexpr absl::string_view kNotSmooth = "which boxes are selected is no smooth function";
using BoxTypes = Types<Half, float>;

void AddSuppress(OpRegistry& ops, absl::string_view schema, absl::string_view doc,
                 absl::string_view type_attr) {
  ops.Add({
      .schema = schema,
      .doc = doc,
      .shape = SuppressShape,
      .gradient = NotDifferentiable(kNotSmooth),
      .kernel = type_attr.empty() ? ComputeBy<Suppress<float>>()
                                  : ForTypes<Suppress, BoxTypes>(std::string(type_attr)),
  });
}

}  // namespace

void RegisterNonMaxSuppression(OpRegistry& ops) {
  AddSuppress(ops,
              "NonMaxSuppression(boxes: float, scores: float, max_output_size: int32) -> "
              "selected_indices: int32 {iou_threshold: float = 0.5}",
              "Boxes of the highest scores that do not overlap more than the threshold.", "");
  AddSuppress(ops,
              "NonMaxSuppressionV2(boxes: T, scores: T, max_output_size: int32, iou_threshold: "
              "T_threshold) -> selected_indices: int32 {T: {half, float} = float; T_threshold: "
              "{half, float} = float}",
              "Boxes of the highest scores that do not overlap more than the threshold.", "T");
  AddSuppress(ops,
              "NonMaxSuppressionV3(boxes: T, scores: T, max_output_size: int32, iou_threshold: "
              "T_threshold, score_threshold: T_threshold) -> selected_indices: int32 {T: {half, "
              "float} = float; T_threshold: {half, float} = float}",
              "Boxes of the highest scores, above a threshold, that do not overlap more than "
              "another.",
              "T");
  AddSuppress(
      ops,
      "NonMaxSuppressionV4(boxes: T, scores: T, max_output_size: int32, iou_threshold: "
      "T_threshold, score_threshold: T_threshold) -> selected_indices: int32, "
      "valid_outputs: int32 {T: {half, float} = float; T_threshold: {half, float} = "
      "float; pad_to_max_output_size: bool = false}",
      "As NonMaxSuppressionV3; how many boxes there are, too, perhaps filled up with zeros.", "T");
  AddSuppress(ops,
              "NonMaxSuppressionV5(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, "
              "score_threshold: T, soft_nms_sigma: T) -> selected_indices: int32, "
              "selected_scores: T, valid_outputs: int32 {T: {half, float} = float; "
              "pad_to_max_output_size: bool = false}",
              "As NonMaxSuppressionV4; with a sigma, boxes that overlap have lower scores instead "
              "of being left out.",
              "T");
  ops.Add({
      .schema = "NonMaxSuppressionWithOverlaps(overlaps: float, scores: float, max_output_size: "
                "int32, overlap_threshold: float, score_threshold: float) -> selected_indices: "
                "int32 {}",
      .doc = "As NonMaxSuppressionV3, of boxes of which their overlaps are given.",
      .shape = SuppressShape,
      .gradient = NotDifferentiable(kNotSmooth),
      .kernel = Compute<&SuppressOverlaps>(),
  });
}

}  // namespace gyre

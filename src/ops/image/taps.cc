#include "ops/image/taps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"

namespace gyre::image {
namespace {

constexpr int64_t kPollPositions = 1 << 14;

absl::Status PollAt(const KernelContext& ctx, int64_t i) {
  return i % kPollPositions == kPollPositions - 1 ? ctx.Poll() : absl::OkStatus();
}

// Where position x of the output lies on the input, between centers of samples.
float Location(int64_t x, float scale, const Scaling& scaling) {
  const float at = static_cast<float>(static_cast<int32_t>(x));
  return scaling.half_pixel_centers ? (at + 0.5f) * scale - 0.5f : at * scale;
}

int64_t Bound(int64_t at, int64_t size) { return std::min(size - 1, std::max<int64_t>(0, at)); }

// Weights of samples at a distance of i / kSteps and of 1 + i / kSteps.
constexpr int64_t kSteps = 1024;
using CubicTable = std::array<float, 2 * (kSteps + 1)>;

CubicTable MakeCubicTable(double a) {
  CubicTable table;
  for (int64_t i = 0; i <= kSteps; ++i) {
    float x = static_cast<float>(static_cast<double>(i) / kSteps);
    table[2 * i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
    x = static_cast<float>(x + 1.0);
    table[2 * i + 1] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  }
  return table;
}

const CubicTable& CubicWeights(bool keys) {
  static const CubicTable kKeys = MakeCubicTable(-0.5);
  static const CubicTable kSharper = MakeCubicTable(-0.75);
  return keys ? kKeys : kSharper;
}

float Lanczos(float x, float radius) {
  constexpr float kPi = 3.14159265359f;
  if (x > radius) return 0;
  if (x <= 1e-3f) return 1;
  return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
}

float Gaussian(float x, float radius) {
  const float sigma = radius / 3.0f;
  return x >= radius ? 0 : static_cast<float>(std::exp(-x * x / (2.0 * sigma * sigma)));
}

float Box(float x, float) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }

float Triangle(float x, float) { return x < 1.0f ? 1.0f - x : 0.0f; }

float KeysCubic(float x, float) {
  if (x >= 2.0f) return 0;
  if (x >= 1.0f) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
  return ((1.5f * x - 2.5f) * x) * x + 1.0f;
}

float MitchellCubic(float x, float) {
  if (x >= 2.0f) return 0;
  if (x >= 1.0f) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
  return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
}

// Which samples a position of the output is made of.
struct Span {
  float center;
  int64_t begin, end;
};

Span SpanAt(int64_t x, int64_t in, float reach, float step, float shift) {
  const float center = (static_cast<float>(x) + 0.5f) * step + shift;
  if (!(center >= 0 && center <= static_cast<float>(in))) return {center, 0, 0};
  // Within the input before they are converted: `reach` may be anything.
  const float most = static_cast<float>(in - 1);
  const float first = std::ceil(center - reach - 0.5f);
  const float last = std::floor(center + reach - 0.5f);
  const auto at = [&](float place) {
    return Bound(static_cast<int64_t>(std::min(std::max(place, 0.0f), most)), in);
  };
  return {center, at(first), at(last) + 1};
}

}  // namespace

absl::StatusOr<Taps> Taps::Make(const KernelContext& ctx, int64_t size, int64_t total) {
  Taps taps;
  taps.size_ = size;
  GYRE_ASSIGN_OR_RETURN(taps.begin_tensor_, ctx.Allocate(DType::kInt64, Shape::Vector(size + 1)));
  GYRE_ASSIGN_OR_RETURN(taps.from_tensor_, ctx.Allocate(DType::kInt32, Shape::Vector(total)));
  GYRE_ASSIGN_OR_RETURN(taps.weight_tensor_, ctx.Allocate(DType::kFloat, Shape::Vector(total)));
  taps.begins_ = taps.begin_tensor_.mutable_values<int64_t>().data();
  taps.froms_ = taps.from_tensor_.mutable_values<int32_t>().data();
  taps.weights_ = taps.weight_tensor_.mutable_values<float>().data();
  taps.begins_[0] = 0;
  return taps;
}

absl::StatusOr<Taps> Taps::Transposed(const KernelContext& ctx, int64_t size) const {
  GYRE_ASSIGN_OR_RETURN(Taps turned, Make(ctx, size, filled_));
  std::fill_n(turned.begins_, size + 1, 0);
  for (int64_t t = 0; t < filled_; ++t) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, t));
    ++turned.begins_[froms_[t] + 1];
  }
  for (int64_t i = 0; i < size; ++i) turned.begins_[i + 1] += turned.begins_[i];
  // begins_[i] moves on to where the next tap of sample i goes, and back afterwards.
  for (int64_t i = 0; i < size_; ++i) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, i));
    for (int64_t t = begins_[i]; t < begins_[i + 1]; ++t) {
      const int64_t to = turned.begins_[froms_[t]]++;
      turned.froms_[to] = static_cast<int32_t>(i);
      turned.weights_[to] = weights_[t];
    }
  }
  for (int64_t i = size; i > 0; --i) turned.begins_[i] = turned.begins_[i - 1];
  turned.begins_[0] = 0;
  turned.filled_ = filled_;
  turned.ended_ = size;
  return turned;
}

float ScaleOf(int64_t in, int64_t out, const Scaling& scaling) {
  return scaling.align_corners && in > 1 && out > 1
             ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
             : static_cast<float>(in) / static_cast<float>(out);
}

absl::StatusOr<Taps> BilinearTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                  const Scaling& scaling) {
  GYRE_ASSIGN_OR_RETURN(Taps taps, Taps::Make(ctx, out, 2 * out));
  const float scale = ScaleOf(in, out, scaling);
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    const float at = Location(x, scale, scaling);
    const float below = std::floor(at);
    const int64_t upper = Bound(static_cast<int64_t>(std::ceil(at)), in);
    const int64_t lower = std::min(std::max<int64_t>(static_cast<int64_t>(below), 0), upper);
    const float part = at - below;
    taps.Add(lower, 1 - part);
    taps.Add(upper, part);
    taps.EndPosition();
  }
  return taps;
}

absl::StatusOr<Taps> BicubicTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                 const Scaling& scaling) {
  GYRE_ASSIGN_OR_RETURN(Taps taps, Taps::Make(ctx, out, 4 * out));
  const CubicTable& table = CubicWeights(scaling.half_pixel_centers);
  const float scale = ScaleOf(in, out, scaling);
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    const float at = Location(x, scale, scaling);
    const auto below = static_cast<int64_t>(std::floor(at));
    const int64_t step = std::lrintf((at - static_cast<float>(below)) * kSteps);
    float weights[4] = {table[2 * step + 1], table[2 * step], table[2 * (kSteps - step)],
                        table[2 * (kSteps - step) + 1]};
    if (scaling.half_pixel_centers) {
      float sum = 0;
      for (int i = 0; i < 4; ++i) {
        const int64_t place = below - 1 + i;
        if (place != Bound(place, in)) weights[i] = 0;
        sum += weights[i];
      }
      if (std::fabs(sum) >= 1000 * std::numeric_limits<float>::min()) {
        const float inverse = 1.0f / sum;
        for (float& weight : weights) weight *= inverse;
      }
    }
    for (int i = 0; i < 4; ++i) taps.Add(Bound(below - 1 + i, in), weights[i]);
    taps.EndPosition();
  }
  return taps;
}

absl::StatusOr<Taps> AreaTaps(const KernelContext& ctx, int64_t in, int64_t out,
                              const Scaling& scaling) {
  const float scale = ScaleOf(in, out, scaling);
  const auto begin = [&](int64_t x) {
    return static_cast<int64_t>(std::floor(static_cast<float>(x) * scale));
  };
  const auto end = [&](int64_t x) {
    return static_cast<int64_t>(std::ceil(static_cast<float>(x + 1) * scale));
  };
  int64_t total = 0;
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    total += std::max<int64_t>(1, end(x) - begin(x));
  }
  GYRE_ASSIGN_OR_RETURN(Taps taps, Taps::Make(ctx, out, total));
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    const float from = static_cast<float>(x) * scale;
    const float to = static_cast<float>(x + 1) * scale;
    const int64_t first = begin(x), last = std::max(first + 1, end(x));
    for (int64_t i = first; i < last; ++i) {
      const auto at = static_cast<float>(i), next = static_cast<float>(i + 1);
      const float covered =
          at < from ? (next > to ? scale : next - from) : (next > to ? to - at : 1.0f);
      taps.Add(Bound(i, in), covered);
    }
    taps.EndPosition();
  }
  return taps;
}

absl::StatusOr<Taps> NearestTaps(const KernelContext& ctx, int64_t in, int64_t out,
                                 const Scaling& scaling) {
  GYRE_ASSIGN_OR_RETURN(Taps taps, Taps::Make(ctx, out, out));
  const float scale = ScaleOf(in, out, scaling);
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    const float position = static_cast<float>(static_cast<int32_t>(x));
    const float at = scaling.half_pixel_centers ? (position + 0.5f) * scale : position * scale;
    taps.Add(
        Bound(static_cast<int64_t>(scaling.align_corners ? std::round(at) : std::floor(at)), in),
        1);
    taps.EndPosition();
  }
  return taps;
}

absl::StatusOr<Filter> FilterNamed(absl::string_view name) {
  if (name == "lanczos1") return Filter{1, Lanczos};
  if (name == "lanczos3") return Filter{3, Lanczos};
  if (name == "lanczos5") return Filter{5, Lanczos};
  if (name == "gaussian") return Filter{1.5f, Gaussian};
  if (name == "box") return Filter{1, Box};
  if (name == "triangle") return Filter{1, Triangle};
  if (name == "keyscubic") return Filter{2, KeysCubic};
  if (name == "mitchellcubic") return Filter{2, MitchellCubic};
  return absl::InvalidArgumentError(
      absl::StrCat("kernel_type '", name,
                   "' is none of lanczos1, lanczos3, lanczos5, gaussian, box, triangle, "
                   "keyscubic and mitchellcubic"));
}

absl::StatusOr<Taps> FilterTaps(const KernelContext& ctx, const Filter& filter, int64_t in,
                                int64_t out, float scale, float translation, bool antialias) {
  const float step = 1.0f / scale;
  const float shift = -step * translation;
  const float stretch = antialias ? std::max(step, 1.0f) : 1.0f;
  const float shrink = 1.0f / stretch;
  const float reach = filter.radius * stretch;
  int64_t total = 0;
  for (int64_t x = 0; x < out; ++x) {
    GYRE_RETURN_IF_ERROR(PollAt(ctx, x));
    const Span span = SpanAt(x, in, reach, step, shift);
    const std::optional<int64_t> sum =
        CheckedAdd(total, std::max<int64_t>(0, span.end - span.begin));
    if (!sum) return absl::InvalidArgumentError("scale is too small for this size");
    total = *sum;
  }
  GYRE_ASSIGN_OR_RETURN(Taps taps, Taps::Make(ctx, out, total));
  int64_t work = 0;
  std::vector<float> weights;
  for (int64_t x = 0; x < out; ++x) {
    const Span span = SpanAt(x, in, reach, step, shift);
    float sum = 0;
    weights.clear();
    for (int64_t i = span.begin; i < span.end; ++i) {
      GYRE_RETURN_IF_ERROR(PollAt(ctx, work++));
      const float distance = static_cast<float>(i) + 0.5f - span.center;
      weights.push_back(filter.weigh(std::fabs(distance * shrink), filter.radius));
      sum += weights.back();
    }
    const bool counts = std::fabs(sum) >= 1000 * std::numeric_limits<float>::min();
    const float inverse = counts ? 1.0f / sum : 0.0f;
    for (int64_t i = span.begin; i < span.end; ++i) taps.Add(i, weights[i - span.begin] * inverse);
    taps.EndPosition();
  }
  return taps;
}

}  // namespace gyre::image

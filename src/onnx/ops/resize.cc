// Resize, Upsample: axis by axis, each element a weighted sum of its neighbours, whose places and
// weights are worked out in double precision.
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

struct Axis {
  int axis = 0;
  Expr in, out;     // sizes, int64
  Expr scale;       // double
  Expr begin, end;  // of the region of interest, double
};

struct Manner {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool excludes_outside = false, antialias = false;
};

Expr Double(NodeContext& c, double value) { return c.scalar(DType::kDouble, value); }

// Where the elements of the result lie in the input: a vector.
Expr Places(NodeContext& c, const Axis& a, const std::string& mode) {
  const Expr x = Cast(Iota(c, a.out), DType::kDouble);
  const Expr in = Cast(a.in, DType::kDouble), out = a.scale * in;
  const Expr is_one = c.op("Equal", {out, Double(c, 1)});
  const auto apart = [&](const Expr& from, const Expr& to) { return Where(is_one, from, to); };
  const Expr safe = apart(Double(c, 2), out);
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "align_corners") return apart(Double(c, 0) * x, x * (in - 1.0) / (safe - 1.0));
  if (mode == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (mode == "pytorch_half_pixel") return apart(0.0 * x - 0.5, (x + 0.5) / a.scale - 0.5);
  if (mode == "half_pixel_symmetric") {
    const Expr adjustment = Cast(a.out, DType::kDouble) / out;
    return in / 2.0 * (1.0 - adjustment) + ((x + 0.5) / a.scale - 0.5);
  }
  if (mode == "tf_crop_and_resize") {
    const Expr extent = (a.end - a.begin) * (in - 1.0);
    return apart(extent / 2.0 + 0.0 * x, x * extent / (safe - 1.0)) + a.begin * (in - 1.0);
  }
  c.Invalid("its coordinate_transformation_mode is unknown");
  return x;
}

Expr Nearest(NodeContext& c, const Expr& x, const std::string& mode) {
  if (mode == "floor") return c.op("Floor", {x});
  if (mode == "ceil") return c.op("Ceil", {x});
  if (mode == "round_prefer_ceil") return c.op("Floor", {x + 0.5});
  if (mode != "round_prefer_floor") c.Invalid("its nearest_mode is unknown");
  return c.op("Ceil", {x - 0.5});
}

Expr CubicWeight(NodeContext& c, const Expr& distance, double a) {
  const Expr d = c.op("Abs", {distance});
  const Expr near = ((a + 2) * d - (a + 3)) * d * d + 1.0;
  const Expr far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  const Expr is_near = c.op("LessEqual", {d, Double(c, 1)});
  return Where(is_near, near, Where(Less(c, d, Double(c, 2)), far, 0.0 * d));
}

Expr LinearWeight(NodeContext& c, const Expr& distance) {
  return Maximum(c, 1.0 - c.op("Abs", {distance}), Double(c, 0));
}

// Neighbours before an element, and all of them (int64); and by how much their distances are shrunk
// (double): less than 1 with antialias, where the result is smaller.
struct Reach {
  Expr before, count, shrink;
};

constexpr double kMaxNeighbours = 1 << 16;  // on each side

Reach ReachOf(NodeContext& c, const Axis& a, const Manner& manner) {
  const int64_t half = manner.mode == "cubic" ? 2 : 1;
  if (!manner.antialias) return {c.i64(half - 1), c.i64(2 * half), Double(c, 1)};
  const Expr shrink = Minimum(c, a.scale, Double(c, 1));
  const Expr width = static_cast<double>(half) / shrink;
  const std::optional<double> known = c.KnownScalar<double>(width);
  if (known && !(*known < kMaxNeighbours)) c.Invalid("its scale is too small");
  const Expr before = Cast(c.op("Ceil", {width}), DType::kInt64) - 1.0;
  return {before, 2.0 * before + 2.0, shrink};
}

Expr OneAxis(NodeContext& c, const Expr& x, const Axis& a, const Manner& manner) {
  const Expr at = Places(c, a, manner.coordinates);
  const Expr last = a.in - 1.0, zero = c.i64(0);
  const auto inside = [&](const Expr& place) { return Maximum(c, Minimum(c, place, last), zero); };
  if (manner.mode == "nearest")
    return Taken(c, x, inside(Cast(Nearest(c, at, manner.nearest), DType::kInt64)), a.axis);
  const Reach reach = ReachOf(c, a, manner);
  if (c.failed()) return x;
  const Expr floor = c.op("Floor", {at});
  const Expr steps = Iota(c, reach.count) - reach.before;
  const Expr places = Unsqueezed(c, Cast(floor, DType::kInt64), 1) + Unsqueezed(c, steps, 0);
  const Expr distances = reach.shrink * (Cast(places, DType::kDouble) - Unsqueezed(c, at, 1));
  Expr weights =
      manner.mode == "cubic" ? CubicWeight(c, distances, manner.cubic) : LinearWeight(c, distances);
  if (manner.excludes_outside) {
    const Expr is_inside = And(c, c.op("GreaterEqual", {places, zero}), Less(c, places, a.in));
    weights = Where(is_inside, weights, 0.0 * weights);
  }
  if (manner.excludes_outside || manner.antialias)
    weights = weights / Reduced(c, "Sum", weights, {1}, true);
  const Expr neighbours = Taken(c, x, inside(places), a.axis);
  if (c.failed() || c.Rank(x) <= a.axis) return x;
  std::vector<int64_t> tail(c.Rank(x) - a.axis - 1, 1);
  std::vector<Expr> shape = {a.out, reach.count};
  for (size_t i = 0; i < tail.size(); ++i) shape.push_back(c.i64(1));
  const Expr factors = c.op("Reshape", {Cast(weights, x.dtype()), Pack(c, shape)});
  return Reduced(c, "Sum", neighbours * factors, {a.axis + 1}, false);
}

// Outside of the region that the input covers: a value of its own.
Expr Extrapolated(NodeContext& c, const Expr& x, const std::vector<Axis>& axes, double value) {
  Expr result = x;
  const int rank = c.Rank(x);
  if (c.failed()) return x;
  for (const Axis& a : axes) {
    const Expr at = Places(c, a, "tf_crop_and_resize");
    const Expr is_inside = And(c, c.op("GreaterEqual", {at, Double(c, 0)}),
                               c.op("LessEqual", {at, Cast(a.in, DType::kDouble) - 1.0}));
    std::vector<int64_t> line(rank, 1);
    line[a.axis] = -1;
    result = Where(AsShape(c, is_inside, line), result, c.scalar(x.dtype(), value));
  }
  return result;
}

bool KeepsSize(NodeContext& c, const Axis& a) { return c.KnownScalar<double>(a.scale) == 1.0; }

void Write(NodeContext& c, const Expr& given, std::vector<Axis> axes, const Manner& manner) {
  const bool crops = manner.coordinates == "tf_crop_and_resize";
  if (manner.mode != "nearest" && manner.mode != "linear" && manner.mode != "cubic")
    return c.Invalid("its mode is not one of nearest, linear, cubic");
  const bool interpolates = manner.mode != "nearest";
  Expr x = !interpolates               ? given
           : IsFloating(given.dtype()) ? Widened(given)
                                       : Cast(given, DType::kFloat);
  for (const Axis& a : axes) {
    if (c.failed()) return;
    if (crops || !KeepsSize(c, a)) x = OneAxis(c, x, a, manner);
  }
  if (crops) x = Extrapolated(c, x, axes, c.Float("extrapolation_value", 0));
  if (x.dtype() != given.dtype() && IsInteger(given.dtype()) && !c.failed()) x = c.op("Rint", {x});
  c.out(0, c.op("Identity", {Cast(x, given.dtype())}));
}

Expr AtAxis(NodeContext& c, const Expr& vector, int i) { return Taken(c, vector, c.b().Int(i), 0); }

// Sizes by scales, rounded down.
void SetScale(NodeContext& c, Axis& a, const Expr& scale) {
  a.scale = Cast(scale, DType::kDouble);
  a.out = Cast(c.op("Floor", {a.scale * Cast(a.in, DType::kDouble)}), DType::kInt64);
}

// Scales by sizes; the same for all axes where the ratio of the sides is kept.
void SetSizes(NodeContext& c, std::vector<Axis>& axes, const Expr& sizes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    Axis& a = axes[i];
    a.out = Cast(AtAxis(c, sizes, static_cast<int>(i)), DType::kInt64);
    a.scale = Cast(a.out, DType::kDouble) / Cast(a.in, DType::kDouble);
  }
  const std::string policy = c.Text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return;
  Expr scale = axes[0].scale;
  for (const Axis& a : axes)
    scale = policy == "not_larger" ? Minimum(c, scale, a.scale) : Maximum(c, scale, a.scale);
  for (Axis& a : axes) {
    a.scale = scale;
    a.out = Cast(c.op("Floor", {scale * Cast(a.in, DType::kDouble) + 0.5}), DType::kInt64);
  }
}

bool IsEmpty(NodeContext& c, int input) {
  if (!c.has(input)) return true;
  const auto known = c.shape(c.in(input)).ToShape();
  return known && known->num_elements() == 0;
}

std::vector<Axis> AxesOf(NodeContext& c, const Expr& x) {
  const int rank = c.Rank(x);
  std::vector<int64_t> numbers = c.Ints("axes");
  if (!c.HasAttr("axes")) {
    numbers.resize(rank);
    std::iota(numbers.begin(), numbers.end(), 0);
  }
  std::vector<Axis> axes;
  for (const int number : c.Axes(numbers, rank)) {
    Axis a;
    a.axis = number;
    a.in = DimOf(c, x, a.axis);
    axes.push_back(a);
  }
  return axes;
}

void Resize(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<Axis> axes = AxesOf(c, x);
  if (c.failed()) return;
  const bool is_old = c.opset() < 11;
  Manner manner;
  manner.mode = c.Text("mode", "nearest");
  manner.coordinates =
      c.Text("coordinate_transformation_mode", is_old ? "asymmetric" : "half_pixel");
  manner.nearest = c.Text("nearest_mode", is_old ? "floor" : "round_prefer_floor");
  manner.cubic = c.Float("cubic_coeff_a", -0.75f);
  manner.excludes_outside = c.Int("exclude_outside", 0) != 0;
  manner.antialias = c.Int("antialias", 0) != 0;
  const int scales = is_old ? 1 : 2;
  if (!is_old && !IsEmpty(c, 3)) {
    SetSizes(c, axes, c.in(3));
  } else if (!IsEmpty(c, scales)) {
    for (size_t i = 0; i < axes.size(); ++i)
      SetScale(c, axes[i], AtAxis(c, c.in(scales), static_cast<int>(i)));
  } else {
    return c.Invalid("it has neither scales nor sizes");
  }
  if (manner.coordinates == "tf_crop_and_resize") {
    if (IsEmpty(c, 1)) return c.Invalid("its region of interest is missing");
    const Expr region = Cast(c.in(1), DType::kDouble);
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].begin = AtAxis(c, region, static_cast<int>(i));
      axes[i].end = AtAxis(c, region, static_cast<int>(i + axes.size()));
    }
  }
  Write(c, x, std::move(axes), manner);
}

// The scales are an attribute below opset 9.
void Upsample(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<Axis> axes = AxesOf(c, x);
  const std::vector<float> scales = c.Floats("scales");
  if (!c.has(1) && scales.size() != axes.size()) return c.Invalid("its scales are missing");
  if (c.failed()) return;
  for (size_t i = 0; i < axes.size(); ++i) {
    SetScale(c, axes[i], c.has(1) ? AtAxis(c, c.in(1), static_cast<int>(i)) : Double(c, scales[i]));
  }
  Write(c, x, std::move(axes), {c.Text("mode", "nearest"), "asymmetric", "floor"});
}

}  // namespace

void AddResizeOps(OpTable& t) {
  t.Add("Resize", Resize);
  t.Add("Upsample", Upsample);
}

}  // namespace gyre::onnx

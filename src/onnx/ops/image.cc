// Sampling of images at places, boxes, columns of windows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"
#include "onnx/ops/window.h"

namespace gyre::onnx {
namespace {

// Reflected at the borders until it lies within them.
Expr ReflectedWithin(NodeContext& c, const Expr& x, const Expr& low, const Expr& high) {
  const Expr range = high - low;
  const Expr period = 2.0 * range;
  const Expr safe =
      Where(c.op("Equal", {period, c.scalar(x.dtype(), 0)}), c.scalar(x.dtype(), 1), period);
  const Expr at = c.op("FloorMod", {x - low, safe});
  return low + Minimum(c, at, period - at);
}

constexpr int64_t kMaxAxes = 32;

// Each of them is a formula of its own: four axes of cubic samples, eight of linear ones.
constexpr int64_t kMaxNeighbours = 256;

class GridSampler {
 public:
  explicit GridSampler(NodeContext& c) : c_(c) {}

  void Write() {
    x_ = c_.in(0);
    const Expr grid = c_.in(1);
    const int rank = c_.Rank(x_);
    if (c_.failed()) return;
    if (rank < 3 || c_.Rank(grid) != rank) return c_.Invalid("input and grid do not agree");
    space_ = rank - 2;
    std::string mode = c_.Text("mode", "linear");
    if (mode == "bilinear") mode = "linear";
    if (mode == "bicubic") mode = "cubic";
    padding_ = c_.Text("padding_mode", "zeros");
    aligned_ = c_.Int("align_corners", 0) != 0;
    flat_ = c_.op("Reshape", {ChannelsLast(c_, x_),
                              Pack(c_, {DimOf(c_, x_, 0), c_.i64(-1), DimOf(c_, x_, 1)})});
    const Expr points =
        c_.op("Reshape", {grid, Pack(c_, {DimOf(c_, grid, 0), c_.i64(-1), c_.i64(space_)})});
    for (int d = 0; d < space_; ++d) {
      sizes_.push_back(DimOf(c_, x_, d + 2));
      const Expr n = Cast(Taken(c_, points, c_.b().Int(space_ - 1 - d), 2), DType::kDouble);
      at_.push_back(Place(n, d, mode == "nearest"));
    }
    const Expr y = mode == "nearest" ? Nearest() : Sum(mode == "cubic");
    if (mode != "nearest" && mode != "linear" && mode != "cubic")
      return c_.Invalid("its mode is not one of nearest, linear, cubic");
    // [N, points, C] to [N, C, …]
    const Expr turned = Transposed(c_, y, {0, 2, 1});
    std::vector<Expr> shape = {DimOf(c_, x_, 0), DimOf(c_, x_, 1)};
    for (int d = 0; d < space_; ++d) shape.push_back(DimOf(c_, grid, d + 1));
    c_.out(0, c_.op("Reshape", {turned, Pack(c_, shape)}));
  }

 private:
  Expr Size(int d) { return Cast(sizes_[d], DType::kDouble); }
  Expr Low() { return c_.scalar(DType::kDouble, aligned_ ? 0 : -0.5); }
  Expr High(int d) { return Size(d) - (aligned_ ? 1.0 : 0.5); }

  // From [-1, 1] to the input's elements.
  Expr Place(const Expr& n, int d, bool rounds) {
    Expr x = aligned_ ? 0.5 * (n + 1.0) * (Size(d) - 1.0) : 0.5 * ((n + 1.0) * Size(d) - 1.0);
    if (rounds) x = c_.op("Rint", {x});
    if (padding_ == "border")
      return Maximum(c_, Minimum(c_, x, Size(d) - 1.0), c_.scalar(DType::kDouble, 0));
    if (padding_ == "reflection") return ReflectedWithin(c_, x, Low(), High(d));
    if (padding_ != "zeros") c_.Invalid("its padding_mode is not one of zeros, border, reflection");
    return x;
  }

  // A neighbour's place (whole, double) within the input, and whether it was there.
  std::pair<Expr, Expr> Inside(const Expr& place, int d) {
    const Expr zero = c_.scalar(DType::kDouble, 0), last = Size(d) - 1.0;
    const Expr is_inside =
        And(c_, c_.op("GreaterEqual", {place, zero}), c_.op("LessEqual", {place, last}));
    Expr at = place;
    if (padding_ == "reflection")
      at = Where(is_inside, place, c_.op("Floor", {ReflectedWithin(c_, place, Low(), High(d))}));
    return {Cast(Maximum(c_, Minimum(c_, at, last), zero), DType::kInt64), is_inside};
  }

  Expr Pixels(const std::vector<Expr>& places) {
    Expr index = places[0];
    for (int d = 1; d < space_; ++d) index = index * sizes_[d] + places[d];
    return c_.op("GatherV2", {flat_, index, c_.b().Int(1)}, {{"batch_dims", int64_t{1}}});
  }

  Expr Nearest() {
    std::vector<Expr> places;
    Expr all;
    for (int d = 0; d < space_ && !c_.failed(); ++d) {
      const auto [place, is_inside] = Inside(c_.op("Rint", {at_[d]}), d);
      places.push_back(place);
      all = d == 0 ? is_inside : And(c_, all, is_inside);
    }
    if (c_.failed()) return x_;
    const Expr pixels = Pixels(places);
    if (padding_ != "zeros") return pixels;
    return Where(Unsqueezed(c_, all, 2), pixels, c_.scalar(x_.dtype(), 0));
  }

  Expr Weight(const Expr& distance, bool cubic) {
    const Expr d = c_.op("Abs", {distance});
    if (!cubic) return 1.0 - d;
    constexpr double kA = -0.75;
    const Expr near = ((kA + 2) * d - (kA + 3)) * d * d + 1.0;
    const Expr far = ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
    return Where(c_.op("LessEqual", {d, c_.scalar(DType::kDouble, 1)}), near, far);
  }

  // All neighbours of all axes, weighted.
  Expr Sum(bool cubic) {
    const int count = cubic ? 4 : 2, before = cubic ? 1 : 0;
    int64_t neighbours = 1;
    for (int d = 0; d < space_ && neighbours <= kMaxNeighbours; ++d) neighbours *= count;
    if (neighbours > kMaxNeighbours) {
      c_.Unsupported("samples of so many axes");
      return x_;
    }
    Expr sum;
    for (int64_t k = 0; k < neighbours && !c_.failed(); ++k) {
      std::vector<Expr> places;
      Expr weight = c_.scalar(DType::kDouble, 1);
      int64_t rest = k;
      for (int d = 0; d < space_; ++d, rest /= count) {
        const Expr place = c_.op("Floor", {at_[d]}) + static_cast<double>(rest % count - before);
        const auto [inside, was_inside] = Inside(place, d);
        places.push_back(inside);
        weight = weight * Weight(place - at_[d], cubic);
        if (padding_ == "zeros") weight = Where(was_inside, weight, c_.scalar(DType::kDouble, 0));
      }
      const Expr part = Pixels(places) * Unsqueezed(c_, Cast(weight, x_.dtype()), 2);
      sum = k == 0 ? part : sum + part;
    }
    return sum;
  }

  NodeContext& c_;
  Expr x_, flat_;
  int space_ = 0;
  std::string padding_;
  bool aligned_ = false;
  std::vector<Expr> sizes_, at_;
};

void GridSample(NodeContext& c) { GridSampler(c).Write(); }

// The places that a matrix per image moves the points of a grid to, [N, d…, axes].
void AffineGrid(NodeContext& c) {
  const Expr theta = c.in(0), size = Cast(c.in(1), DType::kInt64);
  if (c.failed()) return;
  const PartialShape& shape = c.shape(size);
  if (!shape.has_rank() || shape.rank() != 1 || shape.dim(0) < 4 || shape.dim(0) > 5)
    return c.Invalid("its size must have 4 or 5 elements");
  const int space = static_cast<int>(shape.dim(0)) - 2;
  const bool aligned = c.Int("align_corners", 0) != 0;
  std::vector<Expr> dims, coordinates;
  for (int d = 0; d < space; ++d) dims.push_back(Taken(c, size, c.b().Int(d + 2), 0));
  for (int d = space - 1; d >= 0; --d) {
    const Expr n = Cast(dims[d], DType::kDouble);
    const Expr i = Cast(Iota(c, dims[d]), DType::kDouble);
    const Expr line = aligned ? 2.0 * i / (n - 1.0) - 1.0 : (2.0 * i + 1.0) / n - 1.0;
    std::vector<int64_t> place(space, 1);
    place[d] = -1;
    coordinates.push_back(c.op("BroadcastTo", {AsShape(c, line, place), Pack(c, dims)}));
  }
  coordinates.push_back(c.op("OnesLike", {coordinates[0]}));
  const Expr points =
      AsShape(c, c.op("Pack", coordinates, {{"axis", int64_t{space}}}), {-1, space + 1});
  const Expr moved = c.op("BatchMatMulV2", {Unsqueezed(c, Cast(points, theta.dtype()), 0), theta},
                          {{"adj_y", true}});
  std::vector<Expr> result = {DimOf(c, theta, 0)};
  for (const Expr& dim : dims) result.push_back(dim);
  result.push_back(c.i64(space));
  c.out(0, c.op("Reshape", {moved, Pack(c, result)}));
}

// Corners of boxes [y1, x1, y2, x2], from those or from [x, y, width, height] of centres.
Expr Corners(NodeContext& c, const Expr& boxes) {
  if (c.Int("center_point_box", 0) == 0) return boxes;
  const auto part = [&](int i) { return Taken(c, boxes, c.b().Int(i), 2); };
  const Expr x = part(0), y = part(1), w = 0.5 * part(2), h = 0.5 * part(3);
  return c.op("Pack", {y - h, x - w, y + h, x + w}, {{"axis", int64_t{2}}});
}

// Of each image and class by itself: [image, class, box] of those that stay.
void NonMaxSuppression(NodeContext& c) {
  const Expr boxes = Corners(c, c.in(0)), scores = c.in(1);
  if (c.failed()) return;
  const auto number = [&](int i, double fallback) {
    return c.has(i) ? Cast(AsScalar(c, c.in(i)), DType::kFloat) : c.scalar(DType::kFloat, fallback);
  };
  const Expr most =
      c.has(2) ? Cast(Minimum(c, Cast(AsScalar(c, c.in(2)), DType::kInt64), c.i64(INT32_MAX)),
                      DType::kInt32)
               : c.b().Int(0);
  const Expr overlap = number(3, 0);
  const Expr least = number(4, -std::numeric_limits<float>::infinity());
  const Expr classes = DimOf(c, scores, 1);
  const Expr rounds = classes * DimOf(c, scores, 0);
  const Expr none = c.op("Fill", {c.i64s({0, 3}), c.i64(0)});
  const std::vector<Expr> results = WriteFor(
      c.scope(), c.name(), rounds, {none},
      [&](Scope& s, const Expr& i, const std::vector<Expr>& v) -> std::vector<Expr> {
        const Expr count = s.Reach(classes);
        const Expr image = s.Op("FloorDiv", {i, count}), which = s.Op("FloorMod", {i, count});
        const auto row = [&](const Expr& x, const Expr& at) {
          return s.Op("GatherV2", {x, at, s.b().Int(0)});
        };
        const Expr kept = s.Op("NonMaxSuppressionV3",
                               {row(s.Reach(boxes), image), row(row(s.Reach(scores), image), which),
                                s.Reach(most), s.Reach(overlap), s.Reach(least)});
        const Expr index = Cast(kept, DType::kInt64);
        const Expr zeros = s.Op("ZerosLike", {index});
        const Expr found =
            s.Op("Pack", {zeros + image, zeros + which, index}, {{"axis", int64_t{1}}});
        return {s.Op("ConcatV2", {v[0], found, s.b().Int(0)})};
      });
  c.out(0, results[0]);
}

// Columns [N, C * k…, windows] back to images: what meets at a place adds up.
void Col2Im(NodeContext& c) {
  const Expr x = c.in(0);
  const Expr image_shape = Cast(c.in(1), DType::kInt64), block_shape = Cast(c.in(2), DType::kInt64);
  const int64_t n = c.Dim(image_shape, 0);
  if (n < 0) return c.Unsupported("the number of its image's axes must be known");
  if (n == 0 || n > kMaxAxes || c.Dim(block_shape, 0) != n)
    return c.Invalid("image and block do not agree");
  // What is known is checked here, the rest where the program runs.
  Windows w;
  const auto known_block = c.ints(block_shape);
  if (known_block) w.kernel = *known_block;
  w.strides = IntsOrAll(c, "strides", n, 1);
  w.dilations = IntsOrAll(c, "dilations", n, 1);
  const std::vector<int64_t> pads = IntsOrAll(c, "pads", 2 * n, 0);
  RequireSizes(c, w);
  const Expr block =
      known_block ? c.i64(ElementsOf(c, w)) : c.op("Prod", {block_shape, c.b().Int(0)});
  for (const int64_t size : c.ints(image_shape).value_or(std::vector<int64_t>())) {
    if (size < 0 || size > std::numeric_limits<int32_t>::max())
      c.Invalid("a size of its image is out of range");
  }
  if (c.failed()) return;
  // The place of each element of each window in the padded image, by its number.
  Expr places = c.i64(0), total = c.i64(1);
  std::vector<Expr> padded;
  for (int64_t d = 0; d < n && !c.failed(); ++d) {
    const auto along = [&](const Expr& vector) {
      return Taken(c, vector, c.b().Int(static_cast<int32_t>(d)), 0);
    };
    const double stride = static_cast<double>(w.strides[d]);
    const double dilation = static_cast<double>(w.dilations[d]);
    const Expr kernel = along(block_shape);
    const Expr size = along(image_shape) + static_cast<double>(pads[d] + pads[n + d]);
    const Expr extent = dilation * (kernel - 1.0) + 1.0;
    const Expr count = c.op("FloorDiv", {size - extent, c.i64(w.strides[d])}) + 1.0;
    if (const auto known = c.ints(count); known && known->size() == 1 && (*known)[0] < 1)
      return c.Invalid("its windows are larger than its image with its pads");
    const Expr steps = dilation * Iota(c, kernel);
    const Expr starts = stride * Iota(c, count);
    std::vector<int64_t> line(2 * n, 1), turn(2 * n, 1);
    line[d] = -1;
    turn[n + d] = -1;
    places = size * places + (AsShape(c, steps, line) + AsShape(c, starts, turn));
    total = total * size;
    padded.push_back(size);
  }
  if (c.failed()) return;
  const Expr batch = DimOf(c, x, 0);
  const Expr channels = c.op("FloorDiv", {DimOf(c, x, 1), block});
  const Expr columns =
      c.op("Reshape",
           {x, Pack(c, {batch * channels, c.op("Size", {places}, {{"out_type", DType::kInt64}})})});
  const Expr sums =
      c.op("UnsortedSegmentSum", {Transposed(c, columns, {1, 0}), AsShape(c, places, {-1}), total});
  std::vector<Expr> shape = {batch, channels};
  shape.insert(shape.end(), padded.begin(), padded.end());
  const Expr images = c.op("Reshape", {Transposed(c, sums, {1, 0}), Pack(c, shape)});
  std::vector<int64_t> begin = {0, 0};
  begin.insert(begin.end(), pads.begin(), pads.begin() + n);
  const Expr extent = c.op("ConcatV2", {c.i64s({-1, -1}), image_shape, c.b().Int(0)});
  c.out(0, c.op("Slice", {images, c.i64s(begin), extent}));
}

}  // namespace

void AddImageOps(OpTable& t) {
  t.Add("AffineGrid", AffineGrid);
  t.Add("Col2Im", Col2Im);
  t.Add("GridSample", GridSample);
  t.Add("NonMaxSuppression", NonMaxSuppression);
}

}  // namespace gyre::onnx

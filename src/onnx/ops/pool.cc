// Pools on [N, C, d…]. The largest, or the sum, of a window is found axis by axis; two axes without
// dilation go through Gyre's own pools.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"
#include "onnx/ops/window.h"

namespace gyre::onnx {
namespace {

// Reduces the windows of padded x, axis by axis.
Expr ReduceWindows(NodeContext& c, Expr x, const Windows& w, const char* op) {
  for (int d = 0; d < w.rank() && !c.failed(); ++d)
    x = Reduced(c, op, AlongWindows(c, x, d + 2, w, d), {d + 3}, false);
  return x;
}

bool IsPlane(const Windows& w) {
  return w.rank() == 2 && std::all_of(w.dilations.begin(), w.dilations.end(),
                                      [](int64_t dilation) { return dilation == 1; });
}

Expr Plane(NodeContext& c, const char* op, const Expr& padded, const Windows& w) {
  const Expr result = c.op(op, {ChannelsLast(c, padded)},
                           {{"ksize", std::vector<int64_t>{1, w.kernel[0], w.kernel[1], 1}},
                            {"strides", std::vector<int64_t>{1, w.strides[0], w.strides[1], 1}},
                            {"padding", std::string("VALID")}});
  return ChannelsFirst(c, result);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where in x (of all of it, row by row; or column by column within a channel) the largest are.
Expr IndicesOfLargest(NodeContext& c, const Expr& x, const Expr& padded, const Windows& w) {
  const int n = w.rank();
  const int64_t size = ElementsOf(c, w);
  if (c.failed()) return x;
  Expr values = padded;
  std::vector<Expr> dims, strides(n, c.i64(1));
  for (int d = 0; d < n; ++d) dims.push_back(DimOf(c, x, d + 2));
  const bool by_columns = c.Int("storage_order", 0) != 0;
  for (int k = 1; k < n; ++k) {
    const int d = by_columns ? k : n - 1 - k;
    const int next = by_columns ? d - 1 : d + 1;
    strides[d] = strides[next] * dims[next];
  }
  // A window's elements stand on one axis at the end, in `values` and in `places`.
  Expr places = c.i64(0);
  std::vector<int64_t> order = {0, 1};
  for (int d = 0; d < n; ++d) {
    values = AlongWindows(c, values, 2 + 2 * d, w, d);
    const Expr starts = static_cast<double>(w.strides[d]) * Iota(c, w.out[d]) - w.begin[d];
    const Expr steps = static_cast<double>(w.dilations[d]) * Iota(c, c.i64(w.kernel[d]));
    const Expr at = Unsqueezed(c, starts, 1) + Unsqueezed(c, steps, 0);
    std::vector<int64_t> shape(2 * n, 1);
    std::vector<Expr> stretched;
    for (int k = 0; k < 2 * n; ++k)
      stretched.push_back(k == d ? w.out[d] : k == n + d ? c.i64(w.kernel[d]) : c.i64(1));
    places = places + c.op("Reshape", {at * strides[d], Pack(c, stretched)});
    order.push_back(2 + 2 * d);
  }
  for (int d = 0; d < n; ++d) order.push_back(3 + 2 * d);
  std::vector<Expr> flat = {DimOf(c, x, 0), DimOf(c, x, 1)}, flat_places;
  for (const Expr& out : w.out) flat.push_back(out), flat_places.push_back(out);
  flat.push_back(c.i64(size));
  flat_places.push_back(c.i64(size));
  values = c.op("Reshape", {Transposed(c, values, order), Pack(c, flat)});
  std::vector<Expr> full;
  for (const Expr& out : w.out) full.push_back(out);
  for (const int64_t k : w.kernel) full.push_back(c.i64(k));
  places = c.op("Reshape", {c.op("BroadcastTo", {places, Pack(c, full)}), Pack(c, flat_places)});
  const Expr best = c.op("ArgMax", {values, c.b().Int(-1)}, {{"output_type", DType::kInt64}});
  const Expr is_best =
      c.op("OneHot", {best, c.b().Int(static_cast<int32_t>(size)), c.i64(1), c.i64(0)});
  const Expr within = Reduced(c, "Sum", is_best * places, {n + 2}, false);
  // The channels before.
  Expr channel_size = c.i64(1);
  for (const Expr& dim : dims) channel_size = channel_size * dim;
  const Expr channels = DimOf(c, x, 1);
  std::vector<Expr> shape(n + 2, c.i64(1));
  shape[0] = DimOf(c, x, 0);
  shape[1] = channels;
  const Expr numbers = c.op("Reshape", {Iota(c, shape[0] * channels), Pack(c, shape)});
  return within + numbers * channel_size;
}

void MaxPool(NodeContext& c) {
  const Expr x = c.in(0);
  const Windows w = ReadWindows(c, x, c.Ints("kernel_shape"));
  if (c.failed()) return;
  const Expr padded = PaddedSpace(c, x, 2, w, c.scalar(x.dtype(), -kInfinity));
  const Expr result =
      IsPlane(w) ? Plane(c, "MaxPool", padded, w) : ReduceWindows(c, padded, w, "Max");
  c.out(0, result);
  if (c.wants(1)) c.out(1, IndicesOfLargest(c, x, padded, w));
}

// How many elements each window has: of the input, or with its padding (which is no rounding up).
Expr Counts(NodeContext& c, const Expr& x, const Windows& w, bool counts_padding) {
  Expr counts = c.scalar(x.dtype(), 1);
  for (int d = 0; d < w.rank() && !c.failed(); ++d) {
    const Expr one = c.scalar(x.dtype(), 1), none = c.scalar(x.dtype(), 0);
    const Expr real =
        counts_padding ? DimOf(c, x, d + 2) + w.begin[d] + w.end[d] : DimOf(c, x, d + 2);
    const Expr before = counts_padding ? c.i64(0) : w.begin[d];
    const Expr after = counts_padding ? w.extra[d] : w.end[d] + w.extra[d];
    const Expr line = c.op(
        "ConcatV2", {c.op("Fill", {Pack(c, {before}), none}), c.op("Fill", {Pack(c, {real}), one}),
                     c.op("Fill", {Pack(c, {after}), none}), c.b().Int(0)});
    const Expr sums = Reduced(c, "Sum", AlongWindows(c, line, 0, w, d), {1}, false);
    std::vector<int64_t> shape(w.rank(), 1);
    shape[d] = -1;
    counts = counts * AsShape(c, sums, shape);
  }
  return counts;
}

Expr SumOfWindows(NodeContext& c, const Expr& x, const Windows& w) {
  const Expr padded = PaddedSpace(c, x, 2, w, c.scalar(x.dtype(), 0));
  if (!IsPlane(w)) return ReduceWindows(c, padded, w, "Sum");
  return static_cast<double>(w.kernel[0] * w.kernel[1]) * Plane(c, "AvgPool", padded, w);
}

void AveragePool(NodeContext& c) {
  const Expr x = c.in(0);
  const Windows w = ReadWindows(c, x, c.Ints("kernel_shape"));
  if (c.failed()) return;
  const Expr counts = Counts(c, x, w, c.Int("count_include_pad", 0) != 0);
  c.out(0, SumOfWindows(c, x, w) / counts);
}

void LpPool(NodeContext& c) {
  const Expr x = c.in(0);
  const Windows w = ReadWindows(c, x, c.Ints("kernel_shape"));
  if (c.failed()) return;
  const double p = static_cast<double>(c.Int("p", 2));
  const Expr powers = c.op("Pow", {c.op("Abs", {x}), c.scalar(x.dtype(), p)});
  c.out(0, c.op("Pow", {SumOfWindows(c, powers, w), c.scalar(x.dtype(), 1 / p)}));
}

std::vector<int64_t> SpaceOf(NodeContext& c, const Expr& x) {
  std::vector<int64_t> axes(std::max(c.Rank(x) - 2, 0));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

void GlobalAveragePool(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, Reduced(c, "Mean", x, SpaceOf(c, x), true));
}

void GlobalMaxPool(NodeContext& c) {
  const Expr x = c.in(0);
  c.out(0, Reduced(c, "Max", x, SpaceOf(c, x), true));
}

void GlobalLpPool(NodeContext& c) {
  const Expr x = c.in(0);
  const double p = static_cast<double>(c.Int("p", 2));
  if (c.failed()) return;
  const Expr powers = c.op("Pow", {c.op("Abs", {x}), c.scalar(x.dtype(), p)});
  c.out(0,
        c.op("Pow", {Reduced(c, "Sum", powers, SpaceOf(c, x), true), c.scalar(x.dtype(), 1 / p)}));
}

// Each value to where its index says, in the shape that the pool had; a given shape is larger at
// the ends.
void MaxUnpool(NodeContext& c) {
  const Expr x = c.in(0), indices = c.in(1);
  const std::vector<int64_t> kernel = c.Ints("kernel_shape");
  const std::vector<int64_t> strides = IntsOrAll(c, "strides", kernel.size(), 1);
  const std::vector<int64_t> pads = IntsOrAll(c, "pads", 2 * kernel.size(), 0);
  RequireSizes(c, {.kernel = kernel, .strides = strides});
  if (c.Rank(x) != static_cast<int>(kernel.size()) + 2) c.Invalid("input and kernel do not agree");
  if (c.failed()) return;
  std::vector<Expr> dims = {DimOf(c, x, 0), DimOf(c, x, 1)};
  for (size_t d = 0; d < kernel.size(); ++d) {
    const double rest = static_cast<double>(kernel[d] - pads[d] - pads[d + kernel.size()]);
    dims.push_back((DimOf(c, x, static_cast<int>(d) + 2) - 1.0) * c.i64(strides[d]) + rest);
  }
  Expr shape = c.has(2) ? c.in(2) : Pack(c, dims);
  const Expr size = c.op("Prod", {shape, c.b().Int(0)});
  const Expr flat =
      c.op("ScatterNd", {AsShape(c, indices, {-1, 1}), AsShape(c, x, {-1}), AsShape(c, size, {1})});
  c.out(0, c.op("Reshape", {flat, shape}));
}

}  // namespace

void AddPoolOps(OpTable& t) {
  t.Add("AveragePool", AveragePool);
  t.Add("GlobalAveragePool", GlobalAveragePool);
  t.Add("GlobalLpPool", GlobalLpPool);
  t.Add("GlobalMaxPool", GlobalMaxPool);
  t.Add("LpPool", LpPool);
  t.Add("MaxPool", MaxPool);
  t.Add("MaxUnpool", MaxUnpool);
}

}  // namespace gyre::onnx

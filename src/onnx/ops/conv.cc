// Convolutions, on [N, C, d…] with filters [M, C/groups, k…]: Gyre's take channels last, and two or
// three spatial axes. Padding is done beforehand.
#include "onnx/ops/conv.h"

#include <algorithm>

#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"
#include "onnx/ops/window.h"

namespace gyre::onnx {
namespace {

std::vector<int64_t> Framed(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> result = {1};
  result.insert(result.end(), sizes.begin(), sizes.end());
  result.push_back(1);
  return result;
}

std::vector<int64_t> KernelOf(NodeContext& c, const Expr& filter, int first_axis = 2) {
  std::vector<int64_t> kernel = c.Ints("kernel_shape");
  if (!kernel.empty()) return kernel;
  const int rank = c.Rank(filter);
  for (int d = first_axis; d < rank; ++d) {
    const int64_t size = c.Dim(filter, d);
    if (size < 0) c.Unsupported("the size of its kernel must be known before the program runs");
    kernel.push_back(size);
  }
  return kernel;
}

constexpr int64_t kMaxParts = 1 << 12;

// `parts` equal parts along an axis, each of which is to have nodes of its own.
std::vector<Expr> Parts(NodeContext& c, const Expr& x, int axis, int64_t parts) {
  if (parts == 1) return {x};
  if (parts > kMaxParts)
    c.Unsupported(absl::StrCat("more than ", kMaxParts, " groups of its kind"));
  return c.b().Ops("Split", {c.b().Int(axis), x}, {{"num_split", parts}}, static_cast<int>(parts));
}

constexpr int64_t kMaxGroups = 1 << 16;

int64_t Groups(NodeContext& c) {
  const int64_t groups = c.Int("group", 1);
  if (groups < 1 || groups > kMaxGroups) c.Invalid("its number of groups is out of range");
  return c.failed() ? 1 : groups;
}

// Filters [M, C, k…] as Gyre has them, [k…, C, M].
Expr Filters(NodeContext& c, const Expr& filter) {
  const int rank = c.Rank(filter);
  std::vector<int64_t> order;
  for (int d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  order.push_back(0);
  return Transposed(c, filter, order);
}

// One spatial axis more, of size 1.
void AddAxis(NodeContext& c, Expr& x, Expr& filter, Windows& w) {
  x = Unsqueezed(c, x, 2);
  filter = Unsqueezed(c, filter, 2);
  w.kernel.insert(w.kernel.begin(), 1);
  w.strides.insert(w.strides.begin(), 1);
  w.dilations.insert(w.dilations.begin(), 1);
  for (auto* list : {&w.begin, &w.end, &w.extra}) list->insert(list->begin(), c.i64(0));
  w.out.insert(w.out.begin(), c.i64(1));
}

}  // namespace

Expr Convolution(NodeContext& c, Expr x, Expr filter) {
  Windows w = ReadWindows(c, x, KernelOf(c, filter));
  const int64_t groups = Groups(c);
  if (c.failed()) return x;
  const bool is_line = w.rank() == 1;
  if (is_line) AddAxis(c, x, filter, w);
  if (w.rank() != 2 && w.rank() != 3) {
    c.Unsupported(absl::StrCat("convolutions over ", w.rank(), " axes"));
    return x;
  }
  const Expr padded = PaddedSpace(c, ChannelsLast(c, x), 1, w, c.scalar(x.dtype(), 0));
  const Expr filters = Filters(c, filter);
  const AttrMap attrs = {{"strides", Framed(w.strides)},
                         {"dilations", Framed(w.dilations)},
                         {"padding", std::string("VALID")}};
  Expr result;
  if (w.rank() == 2) {
    result = c.op("Conv2D", {padded, filters}, attrs);  // which does groups by itself
  } else {
    const std::vector<Expr> inputs = Parts(c, padded, 4, groups);
    const std::vector<Expr> parts = Parts(c, filters, 4, groups);
    std::vector<Expr> results;
    for (int64_t g = 0; g < groups && !c.failed(); ++g)
      results.push_back(c.op("Conv3D", {inputs[g], parts[g]}, attrs));
    if (c.failed()) return x;
    result = Concat(c, results, 4);
  }
  result = ChannelsFirst(c, result);
  return is_line ? Squeezed(c, result, {2}) : result;
}

namespace {

// A bias for each channel, of [N, C, d…].
Expr WithBias(NodeContext& c, const Expr& x, int input) {
  if (!c.has(input) || c.failed() || c.Rank(x) < 2) return x;
  std::vector<int64_t> dims(c.Rank(x) - 1, 1);
  dims[0] = -1;
  return x + AsShape(c, c.in(input), dims);
}

void Conv(NodeContext& c) {
  const Expr x = c.in(0), filter = c.in(1);
  if (c.failed()) return;
  c.out(0, WithBias(c, Convolution(c, x, filter), 2));
}

// Padding of a transposed convolution: what is cut off the full result.
struct Cut {
  std::vector<Expr> begin, end, grow;
};

Cut CutOf(NodeContext& c, const Expr& x, const Windows& w) {
  const std::vector<int64_t> pads = IntsOrAll(c, "pads", 2 * w.kernel.size(), 0);
  const std::vector<int64_t> grow = IntsOrAll(c, "output_padding", w.kernel.size(), 0);
  const std::vector<int64_t> shape = c.Ints("output_shape");
  const std::string mode = c.Text("auto_pad", "NOTSET");
  Cut cut;
  for (int d = 0; d < w.rank() && !c.failed(); ++d) {
    cut.grow.push_back(c.i64(grow[d]));
    const bool is_same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (shape.empty() && !is_same) {
      cut.begin.push_back(c.i64(mode == "VALID" ? 0 : pads[d]));
      cut.end.push_back(c.i64(mode == "VALID" ? 0 : pads[d + w.rank()]));
      continue;
    }
    const Expr size = DimOf(c, x, d + 2), stride = c.i64(w.strides[d]);
    if (!shape.empty() && shape.size() < w.kernel.size()) {
      c.Invalid("its output_shape has too few dimensions");
      break;
    }
    const Expr wanted =
        shape.empty() ? size * stride : c.i64(shape[shape.size() - w.kernel.size() + d]);
    const Expr total = (size - 1.0) * stride + static_cast<double>(w.Extent(d) + grow[d]) - wanted;
    const Expr positive = Maximum(c, total, c.i64(0));
    const Expr less = c.op("FloorDiv", {positive, c.i64(2)});
    const bool upper = mode == "SAME_UPPER";
    cut.begin.push_back(upper ? less : positive - less);
    cut.end.push_back(upper ? positive - less : less);
    cut.grow.back() = cut.grow.back() + (positive - total);
  }
  return cut;
}

void ConvTranspose(NodeContext& c) {
  Expr x = c.in(0), filter = c.in(1);
  if (c.failed()) return;
  Windows w;
  w.kernel = KernelOf(c, filter);
  w.strides = IntsOrAll(c, "strides", w.kernel.size(), 1);
  w.dilations = IntsOrAll(c, "dilations", w.kernel.size(), 1);
  RequireSizes(c, w);
  const int64_t groups = Groups(c);
  if (c.Rank(x) != w.rank() + 2 || c.failed()) return c.Invalid("input and kernel do not agree");
  Cut cut = CutOf(c, x, w);
  const bool is_line = w.rank() == 1;
  if (is_line) {
    AddAxis(c, x, filter, w);
    for (auto* list : {&cut.begin, &cut.end, &cut.grow}) list->insert(list->begin(), c.i64(0));
  }
  if (c.failed()) return;
  if (w.rank() != 2 && w.rank() != 3) return c.Unsupported("convolutions over so many axes");
  const int last = w.rank() + 1;
  const std::vector<Expr> inputs = Parts(c, ChannelsLast(c, x), last, groups);
  // [C, M, k…] → [k…, M, C]
  const std::vector<Expr> filters = Parts(c, Filters(c, filter), last, groups);
  std::vector<Expr> results;
  for (int64_t g = 0; g < groups && !c.failed(); ++g) {
    std::vector<Expr> sizes = {DimOf(c, x, 0)};
    for (int d = 0; d < w.rank(); ++d) {
      sizes.push_back((DimOf(c, x, d + 2) - 1.0) * c.i64(w.strides[d]) +
                      static_cast<double>(w.Extent(d)));
    }
    sizes.push_back(DimOf(c, filters[g], w.rank()));
    results.push_back(c.op(w.rank() == 2 ? "Conv2DBackpropInput" : "Conv3DBackpropInputV2",
                           {Cast(Pack(c, sizes), DType::kInt32), filters[g], inputs[g]},
                           {{"strides", Framed(w.strides)},
                            {"dilations", Framed(w.dilations)},
                            {"padding", std::string("VALID")}}));
  }
  if (c.failed()) return;
  Expr full = ChannelsFirst(c, Concat(c, results, last));
  Windows grown;
  grown.kernel = w.kernel;
  grown.begin.assign(w.rank(), c.i64(0));
  grown.extra = grown.begin;
  grown.end = cut.grow;
  full = PaddedSpace(c, full, 2, grown, c.scalar(x.dtype(), 0));
  std::vector<Expr> begin(2, c.i64(0)), size(2, c.i64(-1));
  for (int d = 0; d < w.rank(); ++d) {
    begin.push_back(cut.begin[d]);
    size.push_back(DimOf(c, full, d + 2) - cut.begin[d] - cut.end[d]);
  }
  Expr result = c.op("Slice", {full, Pack(c, begin), Pack(c, size)});
  if (is_line) result = Squeezed(c, result, {2});
  c.out(0, WithBias(c, result, 2));
}

// Integers less their zero points, in 32 bits.
void ConvInteger(NodeContext& c) {
  const auto centered = [&](int i, int zero_point) {
    Expr x = Cast(c.in(i), DType::kInt32);
    if (!c.has(zero_point) || c.failed()) return x;
    Expr zero = Cast(c.in(zero_point), DType::kInt32);
    if (i == 1 && c.scope().RankOf(zero) == 1 && c.Rank(x) > 0) {
      std::vector<int64_t> dims(c.Rank(x), 1);
      dims[0] = -1;
      zero = AsShape(c, zero, dims);
    }
    return x - zero;
  };
  const Expr x = centered(0, 2), filter = centered(1, 3);
  if (c.failed()) return;
  c.out(0, Convolution(c, x, filter));
}

}  // namespace

void AddConvOps(OpTable& t) {
  t.Add("Conv", Conv);
  t.Add("ConvInteger", ConvInteger);
  t.Add("ConvTranspose", ConvTranspose);
}

}  // namespace gyre::onnx

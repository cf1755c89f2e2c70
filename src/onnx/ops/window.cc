#include "onnx/ops/window.h"

#include <algorithm>
#include <limits>

#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

// What SAME_UPPER and SAME_LOWER pad, together.
Expr SamePadding(NodeContext& c, const Expr& size, const Windows& w, int d) {
  const Expr out =
      c.op("FloorDiv", {size + static_cast<double>(w.strides[d] - 1), c.i64(w.strides[d])});
  const Expr total =
      static_cast<double>(w.strides[d]) * (out - 1.0) + static_cast<double>(w.Extent(d));
  return Maximum(c, total - size, c.i64(0));
}

void AddPadding(NodeContext& c, const Expr& x, Windows& w) {
  const std::string mode = c.Text("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = IntsOrAll(c, "pads", 2 * w.kernel.size(), 0);
  for (int d = 0; d < w.rank() && !c.failed(); ++d) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const Expr total = SamePadding(c, DimOf(c, x, d + 2), w, d);
      const Expr less = c.op("FloorDiv", {total, c.i64(2)});
      w.begin.push_back(mode == "SAME_UPPER" ? less : total - less);
      w.end.push_back(mode == "SAME_UPPER" ? total - less : less);
    } else if (mode == "NOTSET" || mode == "VALID" || mode.empty()) {
      const bool is_valid = mode == "VALID";
      w.begin.push_back(c.i64(is_valid ? 0 : pads[d]));
      w.end.push_back(c.i64(is_valid ? 0 : pads[d + w.rank()]));
    } else {
      c.Invalid("auto_pad is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
    }
  }
}

// Rounded up, the last window must still begin within the input or the padding before it.
void CountWindows(NodeContext& c, const Expr& x, Windows& w) {
  const bool rounds_up = c.Int("ceil_mode", 0) != 0;
  for (int d = 0; d < w.rank() && !c.failed(); ++d) {
    const Expr size = DimOf(c, x, d + 2), stride = c.i64(w.strides[d]);
    const Expr padded = size + w.begin[d] + w.end[d];
    const Expr room = padded - static_cast<double>(w.Extent(d));
    if (!rounds_up) {
      w.out.push_back(c.op("FloorDiv", {room, stride}) + 1.0);
      w.extra.push_back(c.i64(0));
      continue;
    }
    const Expr up = c.op("FloorDiv", {room + static_cast<double>(w.strides[d] - 1), stride}) + 1.0;
    const Expr starts_late = c.op("GreaterEqual", {(up - 1.0) * stride, size + w.begin[d]});
    w.out.push_back(Where(starts_late, up - 1.0, up));
    const Expr needed = (w.out.back() - 1.0) * stride + static_cast<double>(w.Extent(d));
    w.extra.push_back(Maximum(c, needed - padded, c.i64(0)));
  }
}

}  // namespace

std::vector<int64_t> IntsOrAll(NodeContext& c, absl::string_view name, size_t count,
                               int64_t fallback) {
  std::vector<int64_t> values = c.Ints(name);
  if (values.empty()) values.assign(count, fallback);
  const bool are_small = std::all_of(values.begin(), values.end(), [](int64_t value) {
    return value == static_cast<int32_t>(value);
  });
  if (values.size() == count && are_small) return values;
  c.Invalid(are_small ? absl::StrCat("its attribute '", name, "' has ", values.size(),
                                     " numbers, not ", count)
                      : absl::StrCat("a number of its attribute '", name, "' is out of range"));
  return std::vector<int64_t>(count, fallback);
}

bool AreSizes(NodeContext& c, const std::vector<int64_t>& sizes) {
  const bool result = std::all_of(sizes.begin(), sizes.end(), [](int64_t size) {
    return size >= 1 && size <= std::numeric_limits<int32_t>::max();
  });
  if (!result) c.Invalid("a size of its windows is less than 1, or too large");
  return result;
}

Windows ReadWindows(NodeContext& c, const Expr& x, std::vector<int64_t> kernel) {
  Windows w;
  w.kernel = std::move(kernel);
  w.strides = IntsOrAll(c, "strides", w.kernel.size(), 1);
  w.dilations = IntsOrAll(c, "dilations", w.kernel.size(), 1);
  for (const auto& sizes : {w.kernel, w.strides, w.dilations}) AreSizes(c, sizes);
  const int rank = c.Rank(x);
  if (!c.failed() && rank != w.rank() + 2)
    c.Invalid(absl::StrCat("its input has rank ", rank, ", its windows have ", w.rank()));
  if (c.failed()) return w;
  AddPadding(c, x, w);
  CountWindows(c, x, w);
  return w;
}

bool IsZero(NodeContext& c, const Expr& x) {
  const auto known = c.ints(x);
  return known && known->size() == 1 && (*known)[0] == 0;
}

Expr PaddedSpace(NodeContext& c, const Expr& x, int first_axis, const Windows& w,
                 const Expr& value) {
  if (c.failed()) return x;
  const int rank = c.Rank(x);
  if (rank < first_axis + w.rank()) {
    c.Invalid("its input has too few axes");
    return x;
  }
  std::vector<Expr> before(rank, c.i64(0)), after(rank, c.i64(0));
  bool pads = false, cuts = false;
  for (int d = 0; d < w.rank(); ++d) {
    before[first_axis + d] = w.begin[d];
    after[first_axis + d] = w.end[d] + w.extra[d];
    for (const Expr& amount : {before[first_axis + d], after[first_axis + d]}) {
      pads = pads || !IsZero(c, amount);
      const auto known = c.ints(amount);
      cuts = cuts || (known && (*known)[0] < 0);
    }
  }
  if (cuts) {
    c.Unsupported("negative padding");
    return x;
  }
  if (!pads) return x;
  const Expr paddings = c.op("Pack", {Pack(c, before), Pack(c, after)}, {{"axis", int64_t{1}}});
  return c.op("PadV2", {x, paddings, value});
}

Expr AlongWindows(NodeContext& c, const Expr& x, int axis, const Windows& w, int d) {
  const Expr starts = static_cast<double>(w.strides[d]) * Iota(c, w.out[d]);
  const Expr steps = static_cast<double>(w.dilations[d]) * Iota(c, c.i64(w.kernel[d]));
  return Taken(c, x, Unsqueezed(c, starts, 1) + Unsqueezed(c, steps, 0), axis);
}

}  // namespace gyre::onnx

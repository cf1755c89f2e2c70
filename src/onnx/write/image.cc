// Convolutions, pools, normalization, resizing: channels are moved to where ONNX has them.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

// What a node says of its images.
struct Layout {
  int axes = 2;  // of space
  bool is_last = true;
  // Of space: what an attribute with one number for each axis says.
  std::vector<int64_t> Of(const std::vector<int64_t>& all) const {
    if (all.size() == 1) return std::vector<int64_t>(axes, all[0]);
    if (static_cast<int>(all.size()) != axes + 2) return {};
    const auto begin = all.begin() + (is_last ? 1 : 2);
    return {begin, begin + axes};
  }
};

Layout ReadLayout(OpWriter& w, int axes) {
  Layout layout{axes, true};
  const std::string format = w.TextOfAttr("data_format");
  layout.is_last = format.empty() || format.back() == 'C';
  if (absl::StrContains(format, "_")) w.Unsupported("the layout " + format);
  return layout;
}

ModelValue ChannelsFirst(OpWriter& w, const ModelValue& x, const Layout& layout) {
  if (!layout.is_last) return x;
  std::vector<int64_t> permutation = {0, layout.axes + 1};
  for (int d = 0; d < layout.axes; ++d) permutation.push_back(d + 1);
  return w.Transpose(x, permutation);
}
ModelValue ChannelsLast(OpWriter& w, const ModelValue& x, const Layout& layout) {
  if (!layout.is_last) return x;
  std::vector<int64_t> permutation = {0};
  for (int d = 0; d < layout.axes; ++d) permutation.push_back(d + 2);
  permutation.push_back(1);
  return w.Transpose(x, permutation);
}
// [space…, in, out] to [out, in, space…].
ModelValue FilterFirst(OpWriter& w, const ModelValue& filter, int axes) {
  std::vector<int64_t> permutation = {axes + 1, axes};
  for (int d = 0; d < axes; ++d) permutation.push_back(d);
  return w.Transpose(filter, permutation);
}

std::vector<int64_t> OrOnes(std::vector<int64_t> values, int count) {
  if (values.empty()) values.assign(count, 1);
  return values;
}

// What SAME pads before and behind, where sizes are known: some runtimes know it without dilations
// alone. Empty: not known.
std::vector<int64_t> SamePads(const Layout& layout, const PartialShape& x,
                              const std::vector<int64_t>& kernel,
                              const std::vector<int64_t>& strides,
                              const std::vector<int64_t>& dilations) {
  std::vector<int64_t> before, behind;
  if (!x.has_rank() || x.rank() != layout.axes + 2 || kernel.empty()) return {};
  for (int d = 0; d < layout.axes; ++d) {
    const int64_t size = x.dim(d + (layout.is_last ? 1 : 2));
    if (size < 0 || kernel[d] < 1 || strides[d] < 1) return {};
    const int64_t windows = (size + strides[d] - 1) / strides[d];
    const int64_t extent = dilations[d] * (kernel[d] - 1) + 1;
    const int64_t all = std::max<int64_t>((windows - 1) * strides[d] + extent - size, 0);
    before.push_back(all / 2);
    behind.push_back(all - all / 2);
  }
  before.insert(before.end(), behind.begin(), behind.end());
  return before;
}

Attrs WindowAttrs(OpWriter& w, const Layout& layout, const std::vector<int64_t>& kernel = {}) {
  Attrs attrs = {IntsAttr("strides", OrOnes(layout.Of(w.IntsOfAttr("strides")), layout.axes))};
  const std::string padding = w.TextOfAttr("padding");
  const std::vector<int64_t> known = SamePads(
      layout, w.in(0).shape, kernel, OrOnes(layout.Of(w.IntsOfAttr("strides")), layout.axes),
      OrOnes(layout.Of(w.IntsOfAttr("dilations")), layout.axes));
  if (padding == "SAME" && !known.empty()) {
    attrs.push_back(IntsAttr("pads", known));
  } else if (padding == "SAME") {
    attrs.push_back(TextAttr("auto_pad", "SAME_UPPER"));
  } else if (padding == "EXPLICIT") {
    const std::vector<int64_t> all = w.IntsOfAttr("explicit_paddings");
    std::vector<int64_t> pads;
    if (static_cast<int>(all.size()) != 2 * (layout.axes + 2)) {
      w.Invalid("its explicit_paddings are none");
      return attrs;
    }
    for (int side = 0; side < 2; ++side) {
      for (int d = 0; d < layout.axes; ++d)
        pads.push_back(all[2 * (d + (layout.is_last ? 1 : 2)) + side]);
    }
    attrs.push_back(IntsAttr("pads", pads));
  }
  return attrs;
}

// The first sizes of a filter; empty where its rank is another.
std::vector<int64_t> KernelOf(const ModelValue& filter, int axes) {
  if (filter.rank() != axes + 2) return {};
  const auto dims = filter.shape.dims();
  return {dims.begin(), dims.begin() + axes};
}

template <int kAxes>
void WriteConv(OpWriter& w) {
  const Layout layout = ReadLayout(w, kAxes);
  Attrs attrs = WindowAttrs(w, layout, KernelOf(w.in(1), kAxes));
  attrs.push_back(IntsAttr("dilations", OrOnes(layout.Of(w.IntsOfAttr("dilations")), kAxes)));
  // Integers are convolved as double, which holds what comes of them.
  const DType dtype = w.dtype(0), wide = IsFloating(dtype) ? dtype : DType::kDouble;
  const ModelValue x = ChannelsFirst(w, w.Cast(w.in(0), wide), layout);
  const ModelValue filter = w.Cast(w.in(1), wide);
  if (filter.rank() == kAxes + 2 && x.rank() == kAxes + 2 && x.shape.dim(1) > 0 &&
      filter.shape.dim(kAxes) > 0) {
    attrs.push_back(IntAttr("group", x.shape.dim(1) / filter.shape.dim(kAxes)));
  }
  const ModelValue y = w.Op("Conv", {x, FilterFirst(w, filter, kAxes)}, std::move(attrs));
  w.out(0, w.Cast(ChannelsLast(w, y, layout), dtype));
}

// [rows, columns, channels, multiplier] is [channels * multiplier, 1, rows, columns].
void WriteDepthwise(OpWriter& w) {
  const Layout layout = ReadLayout(w, 2);
  Attrs attrs = WindowAttrs(w, layout, KernelOf(w.in(1), 2));
  attrs.push_back(IntsAttr("dilations", OrOnes(layout.Of(w.IntsOfAttr("dilations")), 2)));
  const ModelValue x = ChannelsFirst(w, w.in(0), layout), &filter = w.in(1);
  const auto shape = filter.shape.ToShape();
  if (!shape || shape->rank() != 4) return w.Unsupported("a filter whose shape is not known");
  attrs.push_back(IntAttr("group", shape->dim(2)));
  const ModelValue turned =
      w.Reshape(w.Transpose(filter, {2, 3, 0, 1}),
                Emitter::I64s({shape->dim(2) * shape->dim(3), 1, shape->dim(0), shape->dim(1)}));
  w.out(0, ChannelsLast(w, w.Op("Conv", {x, turned}, std::move(attrs)), layout));
}

// The gradient of a convolution by its images: a ConvTranspose, whose padding takes away what is
// more than their sizes.
template <int kAxes>
void WriteConvTranspose(OpWriter& w) {
  const Layout layout = ReadLayout(w, kAxes);
  const std::vector<int64_t> strides = OrOnes(layout.Of(w.IntsOfAttr("strides")), kAxes);
  const std::vector<int64_t> dilations = OrOnes(layout.Of(w.IntsOfAttr("dilations")), kAxes);
  const ModelValue dy = ChannelsFirst(w, w.in(2), layout), &filter = w.in(1);
  std::vector<int64_t> sizes = w.Ints(w.in(0), "the sizes of its images");
  const auto shape = dy.shape, kernel = filter.shape;
  if (w.failed()) return;
  if (!shape.has_rank() || !kernel.has_rank() || shape.rank() != kAxes + 2 ||
      kernel.rank() != kAxes + 2) {
    return w.Unsupported("images whose shape is not known");
  }
  if (static_cast<int>(sizes.size()) == kAxes + 2) sizes = layout.Of(sizes);
  if (static_cast<int>(sizes.size()) != kAxes) return w.Invalid("its sizes are none");
  std::vector<int64_t> begins, ends, more;
  for (int d = 0; d < kAxes; ++d) {
    const int64_t in = shape.dim(d + 2), extent = dilations[d] * (kernel.dim(d) - 1) + 1;
    if (in < 0 || kernel.dim(d) < 0) return w.Unsupported("images whose shape is not known");
    const int64_t total = strides[d] * (in - 1) + extent - sizes[d];
    begins.push_back(w.TextOfAttr("padding") == "SAME" ? std::max<int64_t>(total, 0) / 2 : 0);
    const int64_t end = total - begins.back();
    ends.push_back(std::max<int64_t>(end, 0));
    more.push_back(std::max<int64_t>(-end, 0));
  }
  if (w.TextOfAttr("padding") == "EXPLICIT") return w.Unsupported("explicit padding");
  begins.insert(begins.end(), ends.begin(), ends.end());
  w.out(0, ChannelsLast(w,
                        w.Op("ConvTranspose", {dy, FilterFirst(w, filter, kAxes)},
                             {IntsAttr("strides", strides), IntsAttr("dilations", dilations),
                              IntsAttr("pads", begins), IntsAttr("output_padding", more)}),
                        layout));
}

template <int kAxes, const char* kOp>
void WritePool(OpWriter& w) {
  const Layout layout = ReadLayout(w, kAxes);
  Attrs attrs = WindowAttrs(w, layout);
  attrs.push_back(IntsAttr("kernel_shape", OrOnes(layout.Of(w.IntsOfAttr("ksize")), kAxes)));
  // Integers that a float holds are the same afterwards.
  const DType dtype = w.dtype(0);
  const bool is_narrow = IsInteger(dtype) && DTypeSize(dtype) < 4;
  if (!IsFloating(dtype) && !is_narrow)
    return w.Unsupported(absl::StrCat("pools of ", DTypeName(dtype)));
  const ModelValue x =
      ChannelsFirst(w, is_narrow ? w.Cast(w.in(0), DType::kFloat) : w.in(0), layout);
  w.out(0, w.Cast(ChannelsLast(w, w.Op(kOp, {x}, std::move(attrs)), layout), dtype));
}
constexpr char kMaxPool[] = "MaxPool", kAveragePool[] = "AveragePool";

void WriteBatchNorm(OpWriter& w) {
  const int rank = w.Rank(w.in(0));
  const Layout layout = ReadLayout(w, rank - 2);
  const float epsilon = w.attr<float>("epsilon", 1e-4f);
  if (w.failed()) return;
  const ModelValue x = ChannelsFirst(w, w.in(0), layout);
  ModelValue mean = w.in(3), variance = w.in(4);
  if (w.attr<bool>("is_training", true)) {
    std::vector<int64_t> axes = {0};
    for (int d = 2; d < rank; ++d) axes.push_back(d);
    const ModelValue over = Emitter::I64s(axes);
    mean = w.Reduce("ReduceMean", x, over, false);
    std::vector<int64_t> behind;
    for (int d = 1; d < rank - 1; ++d) behind.push_back(d);
    const ModelValue off = w.Sub(x, w.Unsqueeze(mean, behind));
    variance = w.Reduce("ReduceMean", w.Mul(off, off), over, false);
    w.out(1, mean);
  }
  w.out(0, ChannelsLast(w,
                        w.Op("BatchNormalization", {x, w.in(1), w.in(2), mean, variance},
                             {FloatAttr("epsilon", epsilon)}),
                        layout));
}

void WriteLrn(OpWriter& w) {
  const Layout layout;
  const int64_t size = 2 * w.IntOfAttr("depth_radius", 5) + 1;
  w.out(0,
        ChannelsLast(w,
                     w.Op("LRN", {ChannelsFirst(w, w.in(0), layout)},
                          {IntAttr("size", size),
                           FloatAttr("alpha", w.attr<float>("alpha", 1) * static_cast<float>(size)),
                           FloatAttr("beta", w.attr<float>("beta", 0.5f)),
                           FloatAttr("bias", w.attr<float>("bias", 1))}),
                     layout));
}

template <bool is_linear>
void WriteResize(OpWriter& w) {
  const Layout layout;
  const bool aligns = w.Flag("align_corners"), centers = w.Flag("half_pixel_centers");
  ModelValue x = ChannelsFirst(w, w.in(0), layout);
  if (is_linear) x = w.Cast(x, DType::kFloat);
  const ModelValue dims = w.ShapeOf(x);
  const ModelValue sizes =
      w.Concat({w.Slice(dims, Emitter::I64s({0}), Emitter::I64s({2}), {0}), w.AsInt64(w.in(1))}, 0);
  Attrs attrs = {TextAttr("mode", is_linear ? "linear" : "nearest"),
                 TextAttr("coordinate_transformation_mode", aligns    ? "align_corners"
                                                            : centers ? "half_pixel"
                                                                      : "asymmetric")};
  if (!is_linear)
    attrs.push_back(TextAttr("nearest_mode", aligns || centers ? "round_prefer_ceil" : "floor"));
  w.out(0, ChannelsLast(
               w, w.Op("Resize", {x, Emitter::None(), Emitter::None(), sizes}, std::move(attrs)),
               layout));
}

}  // namespace

void AddImageWriters(WriteTable& t) {
  t.Add("AvgPool", WritePool<2, kAveragePool>);
  t.Add("AvgPool3D", WritePool<3, kAveragePool>);
  t.Add("Conv2D", WriteConv<2>);
  t.Add("Conv2DBackpropInput", WriteConvTranspose<2>);
  t.Add("Conv3D", WriteConv<3>);
  t.Add("Conv3DBackpropInputV2", WriteConvTranspose<3>);
  t.Add("DepthwiseConv2dNative", WriteDepthwise);
  t.Add("FusedBatchNorm", WriteBatchNorm);
  t.Add("FusedBatchNormV2", WriteBatchNorm);
  t.Add("FusedBatchNormV3", WriteBatchNorm);
  t.Add("LRN", WriteLrn);
  t.Add("MaxPool", WritePool<2, kMaxPool>);
  t.Add("MaxPool3D", WritePool<3, kMaxPool>);
  t.Add("ResizeBilinear", WriteResize<true>);
  t.Add("ResizeNearestNeighbor", WriteResize<false>);
}

}  // namespace gyre::onnx

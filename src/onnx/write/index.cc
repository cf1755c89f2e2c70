// Slices, gathering, scattering, searching.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
constexpr int64_t kBeforeStart = std::numeric_limits<int64_t>::min();

ModelValue Element(OpWriter& w, const ModelValue& vector, int i) {
  return w.Gather(w.AsInt64(vector), Emitter::I64(i), 0);
}

// What StridedSlice says of its axes.
struct Slicing {
  std::vector<int64_t> axes;  // that are sliced
  std::vector<ModelValue> begins, ends, steps;
  std::vector<std::pair<int, ModelValue>> taken;  // axes of which one index is taken
  std::vector<int64_t> added;                     // of the result: new axes
};

// One axis: [begin, end) by a step that is known.
void AddRange(OpWriter& w, Slicing& s, int axis, int i) {
  const int64_t begin_mask = w.IntOfAttr("begin_mask"), end_mask = w.IntOfAttr("end_mask");
  const bool opens = (begin_mask >> i & 1) != 0, closes = (end_mask >> i & 1) != 0;
  const ModelValue step = Element(w, w.in(3), i);
  const auto known = Emitter::IntOf(step);
  if (opens && closes && known == 1) return;
  if ((opens || closes) && !known)
    return w.Unsupported("a step that is not known where the slice has no begin or end");
  const bool is_back = known && *known < 0;
  s.axes.push_back(axis);
  s.begins.push_back(opens ? Emitter::I64(is_back ? kEnd : 0) : Element(w, w.in(1), i));
  s.ends.push_back(closes ? Emitter::I64(is_back ? kBeforeStart : kEnd) : Element(w, w.in(2), i));
  s.steps.push_back(step);
}

Slicing ReadSlicing(OpWriter& w) {
  Slicing s;
  const auto& given = w.in(1).shape;
  const int64_t count = given.has_rank() && given.rank() == 1 ? given.dim(0) : -1;
  if (count < 0 || count > 32) {
    w.Unsupported("a slice of which it is not known how many axes it has");
    return s;
  }
  const int64_t ellipsis = w.IntOfAttr("ellipsis_mask"), fresh = w.IntOfAttr("new_axis_mask"),
                shrinks = w.IntOfAttr("shrink_axis_mask");
  int consumed = 0;
  for (int i = 0; i < count; ++i) {
    if ((ellipsis >> i & 1) == 0 && (fresh >> i & 1) == 0) ++consumed;
  }
  int axis = 0, result_axis = 0;
  for (int i = 0; i < count && !w.failed(); ++i) {
    if (ellipsis >> i & 1) {
      const int skipped = std::max(w.Rank(w.in(0)) - consumed, 0);
      axis += skipped;
      result_axis += skipped;
    } else if (fresh >> i & 1) {
      s.added.push_back(result_axis++);
    } else if (shrinks >> i & 1) {
      s.taken.emplace_back(axis++, Element(w, w.in(1), i));
    } else {
      AddRange(w, s, axis++, i);
      ++result_axis;
    }
  }
  return s;
}

void WriteStridedSlice(OpWriter& w) {
  const Slicing s = ReadSlicing(w);
  if (w.failed()) return;
  ModelValue x = w.in(0);
  if (!s.axes.empty()) {
    x = w.Op("Slice", {x, w.Pack(s.begins), w.Pack(s.ends), Emitter::I64s(s.axes), w.Pack(s.steps)},
             {}, x.dtype);
  }
  for (auto it = s.taken.rbegin(); it != s.taken.rend(); ++it)
    x = w.Gather(x, it->second, it->first);
  if (!s.added.empty()) {
    x.shape = PartialShape();
    x = w.Unsqueeze(x, s.added);
  }
  w.out(0, x);
}

// Zeros with dy in the place of the slice: the numbers of all elements go through the same slice,
// and say where dy goes.
void WriteStridedSliceGrad(OpWriter& w) {
  std::vector<ModelValue> inputs = {w.in(0), w.in(1), w.in(2), w.in(3)};
  const ModelValue dims = w.AsInt64(w.in(0));
  const ModelValue size = w.Reduce("ReduceProd", dims, Emitter::None(), false);
  ModelValue numbers = w.Reshape(w.Iota(size), dims);
  const auto known = Emitter::IntsOf(dims);
  if (known) numbers.shape = PartialShape(Dims(known->begin(), known->end()));
  inputs[0] = numbers;
  const std::vector<const ValueInfo*> infos = {nullptr};
  OpWriter slice(w.model(), w.node(), inputs, infos);
  WriteStridedSlice(slice);
  const ModelValue places = w.Unsqueeze(w.Flat(slice.outputs()[0]), {1});
  const ModelValue zeros = w.Fill(w.Unsqueeze(size, {0}), w.Number(w.dtype(4), 0));
  w.out(0, w.Reshape(w.Op("ScatterND", {zeros, places, w.Flat(w.in(4))}), dims));
}

void WriteSlice(OpWriter& w) {
  const auto& given = w.in(1).shape;
  int64_t count = given.has_rank() && given.rank() == 1 ? given.dim(0) : -1;
  if (count < 0) count = w.Rank(w.in(0));
  const ModelValue begins = w.AsInt64(w.in(1)), sizes = w.AsInt64(w.in(2));
  std::vector<int64_t> axes;
  std::vector<ModelValue> starts, ends;
  for (int d = 0; d < count && !w.failed(); ++d) {
    const ModelValue begin = Element(w, begins, d), size = Element(w, sizes, d);
    const auto known = Emitter::IntOf(size);
    if (known == -1 && Emitter::IntOf(begin) == 0) continue;
    axes.push_back(d);
    starts.push_back(begin);
    if (known) {
      ends.push_back(*known == -1 ? Emitter::I64(kEnd) : w.Add(begin, size));
    } else {
      const ModelValue is_open = w.Binary("Less", size, Emitter::I64(0));
      ends.push_back(w.Where(is_open, Emitter::I64(kEnd), w.Add(begin, size)));
    }
  }
  if (axes.empty()) return w.out(0, w.in(0));
  w.out(0, w.Slice(w.in(0), w.Pack(starts), w.Pack(ends), axes));
}

void WriteGatherV2(OpWriter& w) {
  const int64_t batch = w.IntOfAttr("batch_dims");
  int64_t axis = w.num_inputs() > 2 ? w.Int(w.in(2), "the axis") : 0;
  if (axis < 0 && w.in(0).has_rank()) axis += w.in(0).rank();
  if (batch == 0) return w.out(0, w.Gather(w.in(0), w.in(1), axis));
  const int rank = w.Rank(w.in(1), "its indices");
  if (batch != axis)
    return w.Unsupported("batch axes beside others before the one that is gathered");
  // GatherND takes places [batch…, other…, 1].
  const int64_t known = batch < 0 ? batch + rank : batch;
  w.out(0, w.Op("GatherND", {w.in(0), w.Unsqueeze(w.AsInt64(w.in(1)), {rank})},
                {IntAttr("batch_dims", known)}));
}
void WriteGather(OpWriter& w) { w.out(0, w.Gather(w.in(0), w.in(1), 0)); }

void WriteGatherNd(OpWriter& w) { w.out(0, w.Op("GatherND", {w.in(0), w.AsInt64(w.in(1))})); }

void OutScattered(OpWriter& w, const ModelValue& into, const char* reduction,
                  const ModelValue& indices, const ModelValue& updates) {
  Attrs attrs;
  if (*reduction != 0) attrs.push_back(TextAttr("reduction", reduction));
  w.out(0, w.Op("ScatterND", {into, w.AsInt64(indices), updates}, std::move(attrs), into.dtype));
}
void WriteScatterNd(OpWriter& w) {
  const ModelValue zeros = w.Fill(w.in(2), w.Number(w.dtype(1), 0));
  OutScattered(w, zeros, "add", w.in(0), w.in(1));
}
void WriteTensorScatterUpdate(OpWriter& w) { OutScattered(w, w.in(0), "", w.in(1), w.in(2)); }
void WriteTensorScatterAdd(OpWriter& w) { OutScattered(w, w.in(0), "add", w.in(1), w.in(2)); }
void WriteTensorScatterSub(OpWriter& w) {
  OutScattered(w, w.in(0), "add", w.in(1), w.Unary("Neg", w.in(2)));
}
void WriteTensorScatterMax(OpWriter& w) { OutScattered(w, w.in(0), "max", w.in(1), w.in(2)); }
void WriteTensorScatterMin(OpWriter& w) { OutScattered(w, w.in(0), "min", w.in(1), w.in(2)); }

template <typename T>
ModelValue Limit(bool highest) {
  return Emitter::Known(Tensor::Scalar<T>(highest ? std::numeric_limits<T>::max()
                                                  : std::numeric_limits<T>::lowest()));
}
ModelValue LimitOf(OpWriter& w, bool highest) {
  switch (w.dtype(0)) {
    case DType::kFloat:
      return Limit<float>(highest);
    case DType::kDouble:
      return Limit<double>(highest);
    case DType::kInt32:
      return Limit<int32_t>(highest);
    case DType::kInt64:
      return Limit<int64_t>(highest);
    default:
      w.Unsupported(absl::StrCat("segments of ", DTypeName(w.dtype(0))));
      return Emitter::I64(0);
  }
}

// Rows of `data` put together by their numbers; those of negative numbers are left out: they go to
// a row behind, which is cut off.
void Segments(OpWriter& w, const char* reduction, const ModelValue& initial) {
  const ModelValue data = w.in(0), count = w.AsInt64(w.in(2));
  const int width = w.Rank(w.in(1), "its segment_ids");
  const int rank = w.Rank(data);
  if (w.failed()) return;
  const DType dtype =
      IsInteger(data.dtype) && DTypeSize(data.dtype) < 4 ? DType::kInt32 : data.dtype;
  const ModelValue dims = w.ShapeOf(data);
  const ModelValue inner = w.Slice(dims, Emitter::I64s({width}), Emitter::I64s({kEnd}), {0});
  const ModelValue ids = w.Flat(w.AsInt64(w.in(1)));
  const ModelValue rows =
      rank == width ? w.Flat(data) : w.Reshape(data, w.Concat({Emitter::I64s({-1}), inner}, 0));
  const ModelValue more = w.Unsqueeze(w.Add(count, Emitter::I64(1)), {0});
  const ModelValue shape = rank == width ? more : w.Concat({more, inner}, 0);
  const ModelValue start = w.Fill(shape, w.Cast(initial, dtype));
  const ModelValue places = w.Where(w.Binary("Less", ids, Emitter::I64(0)), count, ids);
  const ModelValue all = w.Op("ScatterND", {start, w.Unsqueeze(places, {1}), w.Cast(rows, dtype)},
                              {TextAttr("reduction", reduction)}, dtype);
  const ModelValue kept = w.Slice(all, Emitter::I64s({0}), w.Unsqueeze(count, {0}), {0});
  w.out(0, w.Cast(kept, data.dtype));
}
void WriteUnsortedSegmentSum(OpWriter& w) { Segments(w, "add", w.Number(w.dtype(0), 0)); }
// Nothing is what no element can be less, or more, than.
void WriteUnsortedSegmentMin(OpWriter& w) { Segments(w, "min", LimitOf(w, true)); }
void WriteUnsortedSegmentMax(OpWriter& w) { Segments(w, "max", LimitOf(w, false)); }
void WriteUnsortedSegmentProd(OpWriter& w) { Segments(w, "mul", w.Number(w.dtype(0), 1)); }

void WriteOneHot(OpWriter& w) {
  // What is not in [0, depth) has no place; ONNX counts negative ones from the end.
  const ModelValue ids = w.AsInt64(w.in(0)), depth = w.AsInt64(w.in(1));
  int64_t axis = w.IntOfAttr("axis", -1);
  const int rank = w.Rank(ids, "its indices");
  if (axis < 0) axis += rank + 1;
  std::vector<int64_t> axes;
  for (int d = static_cast<int>(axis); d < rank; ++d)
    axes.push_back(d + 1 - static_cast<int>(axis));
  const ModelValue numbers = w.Unsqueeze(w.Iota(depth), axes);
  const ModelValue is_on = w.Binary("Equal", w.Unsqueeze(ids, {axis}), numbers);
  w.out(0, w.Where(is_on, w.in(2), w.in(3)));
}

void WriteTopK(OpWriter& w) {
  const ModelValue k = w.Unsqueeze(w.AsInt64(w.in(1)), {0});
  const std::vector<ModelValue> made =
      w.Ops("TopK", {w.in(0), k}, {IntAttr("axis", -1)}, {w.dtype(0), DType::kInt64});
  w.out(0, made[0]);
  w.out(1, w.Index(made[1], w.out_dtype(1)));
}

void WriteWhere(OpWriter& w) {
  ModelValue x = w.in(0);
  if (x.dtype != DType::kBool) x = w.Cast(x, DType::kBool);
  if (w.Rank(x) == 0) return w.Unsupported("the places within a scalar");
  w.out(0, w.Transpose(w.Op("NonZero", {x}, {}, DType::kInt64, PartialShape(Dims{x.rank(), -1})),
                       {1, 0}));
}

void OutReversed(OpWriter& w, const std::vector<int64_t>& axes) {
  if (axes.empty()) return w.out(0, w.in(0));
  const std::vector<int64_t> starts(axes.size(), -1), ends(axes.size(), kBeforeStart);
  w.out(0,
        w.Slice(w.in(0), Emitter::I64s(starts), Emitter::I64s(ends), axes, Emitter::I64s(starts)));
}
void WriteReverseV2(OpWriter& w) { OutReversed(w, w.Ints(w.in(1), "the axes")); }

void WriteReverseSequence(OpWriter& w) {
  const int64_t time = w.IntOfAttr("seq_dim"), batch = w.IntOfAttr("batch_dim");
  const int rank = w.Rank(w.in(0));
  if (w.failed()) return;
  // ONNX has time and batch on the first two axes.
  std::vector<int64_t> order = {time, batch}, back(rank);
  for (int d = 0; d < rank; ++d) {
    if (d != time && d != batch) order.push_back(d);
  }
  if (static_cast<int>(order.size()) != rank) return w.Invalid("its axes are none of its input's");
  for (int d = 0; d < rank; ++d) back[order[d]] = d;
  const ModelValue x = w.Transpose(w.in(0), order);
  ModelValue y = w.Op("ReverseSequence", {x, w.AsInt64(w.in(1))},
                      {IntAttr("time_axis", 0), IntAttr("batch_axis", 1)});
  y.shape = x.shape;
  w.out(0, w.Transpose(y, back));
}

void WriteRoll(OpWriter& w) {
  const std::vector<int64_t> shifts = w.Ints(w.in(1), "how far it goes");
  const std::vector<int64_t> axes = w.Ints(w.in(2), "the axes");
  const int rank = w.Rank(w.in(0));
  ModelValue x = w.in(0);
  const PartialShape shape = x.shape;
  if (shifts.size() != axes.size()) return w.Invalid("it has other shifts than axes");
  for (size_t k = 0; k < axes.size() && !w.failed(); ++k) {
    const int axis = w.Axis(axes[k], rank);
    if (shape.dim(axis) < 0) return w.Unsupported("a dimension that is not known");
    if (shape.dim(axis) == 0) continue;
    const int64_t cut = ((-shifts[k]) % shape.dim(axis) + shape.dim(axis)) % shape.dim(axis);
    if (cut == 0) continue;
    const ModelValue head = w.Slice(x, Emitter::I64s({0}), Emitter::I64s({cut}), {axis});
    const ModelValue tail = w.Slice(x, Emitter::I64s({cut}), Emitter::I64s({kEnd}), {axis});
    x = w.Concat({tail, head}, axis);
    x.shape = shape;
  }
  w.out(0, x);
}

void WriteInvertPermutation(OpWriter& w) {
  const ModelValue p = w.AsInt64(w.in(0));
  const ModelValue size = w.SizeOf(p);
  const ModelValue numbers = w.Iota(size);
  const ModelValue inverse = w.Op("ScatterND", {numbers, w.Unsqueeze(p, {1}), numbers});
  w.out(0, w.Index(inverse, w.out_dtype()));
}

void OutUnique(OpWriter& w, int64_t axis) {
  const std::vector<ModelValue> made =
      w.Ops("Unique", {w.in(0)}, {IntAttr("axis", axis), IntAttr("sorted", 0)},
            {w.dtype(0), DType::kInt64, DType::kInt64, DType::kInt64});
  const ModelValue results[3] = {made[0], made[2], made[3]};
  for (int i = 0; i < w.num_outputs() && i < 3; ++i)
    w.out(i, i == 0 ? results[i] : w.Index(results[i], w.out_dtype(i)));
}
void WriteUnique(OpWriter& w) { OutUnique(w, 0); }
void WriteUniqueV2(OpWriter& w) {
  const std::vector<int64_t> axes = w.Ints(w.in(1), "the axis");
  if (axes.size() > 1) return w.Unsupported("several axes");
  if (axes.empty() && w.Rank(w.in(0)) != 1) return w.Unsupported("a tensor of several axes");
  OutUnique(w, axes.empty() ? 0 : axes[0]);
}

void WriteNonMaxSuppression(OpWriter& w) {
  const ModelValue boxes = w.Unsqueeze(w.Cast(w.in(0), DType::kFloat), {0});
  const ModelValue scores = w.Unsqueeze(w.Cast(w.in(1), DType::kFloat), {0, 1});
  const auto limit = [&](int i) { return w.Unsqueeze(w.Cast(w.in(i), DType::kFloat), {0}); };
  const ModelValue chosen = w.Op(
      "NonMaxSuppression",
      {boxes, scores, w.Unsqueeze(w.AsInt64(w.in(2)), {0}), limit(3), limit(4)}, {}, DType::kInt64);
  w.out(0, w.Index(w.Gather(chosen, Emitter::I64(2), 1), w.out_dtype()));
}

}  // namespace

void AddIndexWriters(WriteTable& t) {
  t.Add("Gather", WriteGather);
  t.Add("GatherNd", WriteGatherNd);
  t.Add("GatherV2", WriteGatherV2);
  t.Add("InvertPermutation", WriteInvertPermutation);
  t.Add("NonMaxSuppressionV3", WriteNonMaxSuppression);
  t.Add("OneHot", WriteOneHot);
  t.Add("ReverseSequence", WriteReverseSequence);
  t.Add("ReverseV2", WriteReverseV2);
  t.Add("Roll", WriteRoll);
  t.Add("ScatterNd", WriteScatterNd);
  t.Add("Slice", WriteSlice);
  t.Add("StridedSlice", WriteStridedSlice);
  t.Add("StridedSliceGrad", WriteStridedSliceGrad);
  t.Add("TensorScatterAdd", WriteTensorScatterAdd);
  t.Add("TensorScatterMax", WriteTensorScatterMax);
  t.Add("TensorScatterMin", WriteTensorScatterMin);
  t.Add("TensorScatterSub", WriteTensorScatterSub);
  t.Add("TensorScatterUpdate", WriteTensorScatterUpdate);
  t.Add("TopKV2", WriteTopK);
  t.Add("Unique", WriteUnique);
  t.Add("UniqueWithCounts", WriteUnique);
  t.Add("UniqueWithCountsV2", WriteUniqueV2);
  t.Add("UnsortedSegmentMax", WriteUnsortedSegmentMax);
  t.Add("UnsortedSegmentMin", WriteUnsortedSegmentMin);
  t.Add("UnsortedSegmentProd", WriteUnsortedSegmentProd);
  t.Add("UnsortedSegmentSum", WriteUnsortedSegmentSum);
  t.Add("Where", WriteWhere);
}

}  // namespace gyre::onnx

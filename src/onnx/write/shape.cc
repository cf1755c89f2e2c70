// Shapes: reshaping, joining, splitting, padding, broadcasting.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

void WriteShape(OpWriter& w) {
  for (int i = 0; i < w.num_outputs(); ++i) w.out(i, w.Index(w.ShapeOf(w.in(i)), w.out_dtype(i)));
}
void WriteSize(OpWriter& w) { w.out(0, w.Index(w.SizeOf(w.in(0)), w.out_dtype())); }
void WriteRank(OpWriter& w) {
  if (w.in(0).has_rank()) return w.out(0, w.Number(DType::kInt32, w.in(0).rank()));
  w.out(0, w.Index(w.SizeOf(w.ShapeOf(w.in(0))), DType::kInt32));
}

void WriteReshape(OpWriter& w) {
  ModelValue dims = w.in(1);
  // What is known of the result serves where the shape is computed.
  if (!Emitter::IntsOf(dims) && w.out_shape().has_rank()) {
    const auto& known = w.out_shape().dims();
    const bool has_zero = std::count(known.begin(), known.end(), 0) > 0;
    if (std::count(known.begin(), known.end(), -1) <= 1 && !has_zero)
      dims = Emitter::I64s({known.begin(), known.end()});
  }
  w.out(0, w.Reshape(w.in(0), dims));
}

void WriteExpandDims(OpWriter& w) {
  int64_t axis = w.Int(w.in(1), "the axis");
  if (axis < 0 && w.in(0).has_rank()) axis += w.in(0).rank() + 1;
  w.out(0, w.Unsqueeze(w.in(0), {axis}));
}

void WriteSqueeze(OpWriter& w) {
  const std::vector<int64_t> axes = w.IntsOfAttr("squeeze_dims");
  w.out(0, axes.empty() ? w.Op("Squeeze", {w.in(0)}) : w.Squeeze(w.in(0), axes));
}

void WriteTranspose(OpWriter& w) {
  std::vector<int64_t> permutation = w.Ints(w.in(1), "the permutation");
  const int rank = static_cast<int>(permutation.size());
  for (int64_t& axis : permutation) axis = w.Axis(axis, rank);
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (int d = 0; d < rank; ++d) {
    if (sorted[d] != d) return w.Invalid("its permutation is none");
  }
  w.out(0, w.Transpose(w.in(0), permutation));
}

void WritePack(OpWriter& w) {
  int64_t axis = w.IntOfAttr("axis");
  if (axis < 0) axis += w.Rank(w.in(0)) + 1;
  std::vector<ModelValue> parts;
  for (const ModelValue& part : w.ins()) parts.push_back(w.Unsqueeze(part, {axis}));
  w.out(0, w.Concat(parts, axis));
}

void OutParts(OpWriter& w, const ModelValue& x, int64_t axis, const ModelValue& sizes, bool drops) {
  const int count = w.num_outputs();
  if (count == 1 && !drops) return w.out(0, x);
  std::vector<ModelValue> inputs = {x};
  Attrs attrs = {IntAttr("axis", axis)};
  if (sizes.dtype != DType::kInvalid) {
    inputs.push_back(w.AsInt64(sizes));
  } else {
    attrs.push_back(IntAttr("num_outputs", count));
  }
  const std::vector<ModelValue> parts =
      w.Ops("Split", inputs, std::move(attrs), std::vector<DType>(count, x.dtype));
  for (int i = 0; i < count; ++i) w.out(i, drops ? w.Squeeze(parts[i], {axis}) : parts[i]);
}
void WriteUnpack(OpWriter& w) {
  if (w.num_outputs() > 0) OutParts(w, w.in(0), w.IntOfAttr("axis"), Emitter::None(), true);
}
void WriteSplit(OpWriter& w) {
  OutParts(w, w.in(1), w.Int(w.in(0), "the axis"), Emitter::None(), false);
}
void WriteSplitV(OpWriter& w) {
  const int64_t axis = w.Int(w.in(2), "the axis");
  ModelValue sizes = w.AsInt64(w.in(1));
  const auto known = Emitter::IntsOf(sizes);
  if (!known || std::count(known->begin(), known->end(), -1) > 0) {
    // One may be left open.
    const int rank = w.Rank(w.in(0));
    const ModelValue size = w.DimOf(w.in(0), w.Axis(axis, std::max(rank, 1)));
    const ModelValue one = Emitter::I64(1);
    const ModelValue sum = w.Reduce("ReduceSum", sizes, Emitter::None(), false);
    const ModelValue rest = w.Sub(size, w.Add(sum, one));
    sizes = w.Where(w.Binary("Less", sizes, Emitter::I64(0)), rest, sizes);
  }
  OutParts(w, w.in(0), axis, sizes, false);
}

void WriteConcatV2(OpWriter& w) {
  std::vector<ModelValue> parts(w.ins().begin(), w.ins().end() - 1);
  int64_t axis = w.Int(w.ins().back(), "the axis");
  if (axis < 0 && parts[0].has_rank()) axis += parts[0].rank();
  w.out(0, w.Concat(parts, axis));
}

void WriteFill(OpWriter& w) { w.out(0, w.Fill(w.in(0), w.in(1))); }
void WriteTile(OpWriter& w) { w.out(0, w.Op("Tile", {w.in(0), w.AsInt64(w.in(1))})); }
void WriteBroadcastTo(OpWriter& w) { w.out(0, w.Expand(w.in(0), w.in(1))); }

// The shorter of two shapes, with ones before it; then the larger at each axis, or 0.
ModelValue Aligned(OpWriter& w, const ModelValue& shape, const ModelValue& other) {
  const ModelValue missing = w.Max(w.Sub(w.SizeOf(other), w.SizeOf(shape)), Emitter::I64(0));
  return w.Concat({w.Fill(w.Unsqueeze(missing, {0}), Emitter::I64(1)), shape}, 0);
}
void WriteBroadcastArgs(OpWriter& w) {
  const ModelValue x = w.AsInt64(w.in(0)), y = w.AsInt64(w.in(1));
  const ModelValue a = Aligned(w, x, y), b = Aligned(w, y, x);
  const ModelValue is_one = w.Binary("Equal", a, Emitter::I64(1));
  w.out(0, w.Index(w.Where(is_one, b, a), w.out_dtype()));
}

// Which axes of the broadcast shape each operand lacks, or has with size 1.
void WriteBroadcastGradientArgs(OpWriter& w) {
  const ModelValue x = w.AsInt64(w.in(0)), y = w.AsInt64(w.in(1));
  const ModelValue one = Emitter::I64(1);
  const ModelValue shapes[2] = {Aligned(w, x, y), Aligned(w, y, x)};
  for (int i = 0; i < 2; ++i) {
    const ModelValue is_one = w.Binary("Equal", shapes[i], one);
    const ModelValue places = w.Op("NonZero", {is_one}, {}, DType::kInt64);
    w.out(i, w.Index(w.Flat(places), w.out_dtype(i)));
  }
}

ModelValue Pads(OpWriter& w) {
  // [rank, 2] to the beginnings, then the ends.
  const ModelValue paddings = w.AsInt64(w.in(1));
  const auto known = Emitter::IntsOf(paddings);
  if (!known) return w.Flat(w.Transpose(paddings, {1, 0}));
  std::vector<int64_t> pads;
  for (size_t k = 0; k < 2; ++k) {
    for (size_t d = k; d < known->size(); d += 2) pads.push_back((*known)[d]);
  }
  return Emitter::I64s(pads);
}
void OutPadded(OpWriter& w, const char* mode, const ModelValue& value) {
  std::vector<ModelValue> inputs = {w.in(0), Pads(w)};
  if (value.dtype != DType::kInvalid) inputs.push_back(value);
  if (w.in(0).rank() == 0) return w.out(0, w.in(0));
  w.out(0, w.Op("Pad", inputs, {TextAttr("mode", mode)}));
}
void WritePad(OpWriter& w) { OutPadded(w, "constant", Emitter::None()); }
void WritePadV2(OpWriter& w) { OutPadded(w, "constant", w.in(2)); }
void WriteMirrorPad(OpWriter& w) {
  if (w.TextOfAttr("mode") != "REFLECT") return w.Unsupported("padding of mode SYMMETRIC");
  OutPadded(w, "reflect", Emitter::None());
}

void WriteRange(OpWriter& w) {
  const DType dtype = w.out_dtype();
  const bool is_fine = dtype == DType::kFloat || dtype == DType::kDouble ||
                       dtype == DType::kInt32 || dtype == DType::kInt64 || dtype == DType::kInt16;
  if (!is_fine) w.Unsupported(absl::StrCat("ONNX has no Range of ", DTypeName(dtype)));
  ModelValue result = w.Op("Range", {w.in(0), w.in(1), w.in(2)});
  result.counts = Emitter::IntOf(w.in(0)) == 0 && Emitter::IntOf(w.in(2)) == 1;
  w.out(0, result);
}

template <const char* kOp>
void WriteBlocks(OpWriter& w) {
  const std::string format = w.TextOfAttr("data_format");
  if (format != "NHWC" && format != "NCHW") return w.Unsupported("the layout " + format);
  const bool is_last = format == "NHWC";
  ModelValue x = w.in(0);
  if (is_last) x = w.Transpose(x, {0, 3, 1, 2});
  x = w.Op(kOp, {x}, {IntAttr("blocksize", w.IntOfAttr("block_size"))});
  w.out(0, is_last ? w.Transpose(x, {0, 2, 3, 1}) : x);
}

constexpr char kDepthToSpace[] = "DepthToSpace", kSpaceToDepth[] = "SpaceToDepth";

// The sizes of all before, along one axis.
void WriteConcatOffset(OpWriter& w) {
  const int64_t axis = w.Int(w.in(0), "the axis");
  ModelValue before = w.Number(w.dtype(1), 0);
  for (int i = 1; i < w.num_inputs(); ++i) {
    const ModelValue size = w.SizeOf(w.in(i));
    const ModelValue place = w.Iota(size);
    const int64_t rank = w.in(i).rank() == 1 ? w.in(i).shape.dim(0) : -1;
    const int64_t at = axis < 0 && rank >= 0 ? axis + rank : axis;
    const ModelValue is_axis = w.Binary("Equal", place, Emitter::I64(at));
    w.out(i - 1, w.Where(is_axis, before, w.Number(w.dtype(1), 0)));
    before = w.Add(before, w.Gather(w.in(i), Emitter::I64(at), 0));
  }
}

// Diagonals: which rows and columns of the matrices are near enough.
ModelValue RowsLessColumns(OpWriter& w, const ModelValue& x) {
  const int rank = w.Rank(x);
  if (rank < 2) {
    w.Invalid("it takes matrices");
    return x;
  }
  const ModelValue rows = w.Unsqueeze(w.Iota(w.DimOf(x, rank - 2)), {1});
  return w.Sub(rows, w.Unsqueeze(w.Iota(w.DimOf(x, rank - 1)), {0}));
}
void WriteMatrixBandPart(OpWriter& w) {
  const ModelValue below = RowsLessColumns(w, w.in(0)), zero = Emitter::I64(0);
  const auto within = [&](const ModelValue& distance, const ModelValue& given) {
    const ModelValue limit = w.AsInt64(given);
    return w.Binary("Or", w.Binary("Less", limit, zero), w.Binary("LessOrEqual", distance, limit));
  };
  const ModelValue keeps =
      w.Binary("And", within(below, w.in(1)), within(w.Unary("Neg", below), w.in(2)));
  w.out(0, w.Where(keeps, w.in(0), w.Number(w.dtype(0), 0)));
}
// Of the main diagonal alone.
void WriteMatrixDiag(OpWriter& w) {
  const ModelValue diagonal = w.in(0);
  const int rank = w.Rank(diagonal);
  for (int i = 1; i < 4 && i < w.num_inputs(); ++i) {
    if (w.Int(w.in(i), "which diagonals it makes") != (i == 1 ? 0 : -1))
      return w.Unsupported("other diagonals than the main one");
  }
  if (w.failed() || rank < 1) return w.Invalid("it takes diagonals");
  const ModelValue size = w.Iota(w.DimOf(diagonal, rank - 1));
  const ModelValue is_one = w.Binary("Equal", w.Unsqueeze(size, {1}), w.Unsqueeze(size, {0}));
  const ModelValue padding = w.num_inputs() > 4 ? w.in(4) : w.Number(w.dtype(0), 0);
  w.out(0, w.Where(is_one, w.Unsqueeze(diagonal, {rank}), padding));
}

}  // namespace

void AddShapeWriters(WriteTable& t) {
  t.Add("BroadcastArgs", WriteBroadcastArgs);
  t.Add("BroadcastGradientArgs", WriteBroadcastGradientArgs);
  t.Add("BroadcastTo", WriteBroadcastTo);
  t.Add("ConcatOffset", WriteConcatOffset);
  t.Add("ConcatV2", WriteConcatV2);
  t.Add("DepthToSpace", WriteBlocks<kDepthToSpace>);
  t.Add("ExpandDims", WriteExpandDims);
  t.Add("Fill", WriteFill);
  t.Add("MatrixBandPart", WriteMatrixBandPart);
  t.Add("MatrixDiag", WriteMatrixDiag);
  t.Add("MatrixDiagV3", WriteMatrixDiag);
  t.Add("MirrorPad", WriteMirrorPad);
  t.Add("Pack", WritePack);
  t.Add("Pad", WritePad);
  t.Add("PadV2", WritePadV2);
  t.Add("Range", WriteRange);
  t.Add("Rank", WriteRank);
  t.Add("Reshape", WriteReshape);
  t.Add("Shape", WriteShape);
  t.Add("ShapeN", WriteShape);
  t.Add("Size", WriteSize);
  t.Add("SpaceToDepth", WriteBlocks<kSpaceToDepth>);
  t.Add("Split", WriteSplit);
  t.Add("SplitV", WriteSplitV);
  t.Add("Squeeze", WriteSqueeze);
  t.Add("Tile", WriteTile);
  t.Add("Transpose", WriteTranspose);
  t.Add("Unpack", WriteUnpack);
}

}  // namespace gyre::onnx

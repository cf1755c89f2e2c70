// Lists and arrays as sequences, or as tensors of their elements while that is what they are;
// optionals. An array is what its flow carries: the handle says its type alone.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "onnx/write/op_writer.h"

namespace gyre::onnx {
namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

// The shape that a list's elements are said to have.
PartialShape ElementShape(const ModelValue& dims) {
  const auto known = Emitter::IntsOf(dims);
  if (!known || dims.rank() == 0) return PartialShape();
  for (const int64_t dim : *known) {
    if (dim < -1) return PartialShape();
  }
  if (known->size() > Shape::kMaxRank) return PartialShape();
  return PartialShape(Dims(known->begin(), known->end()));
}

ModelValue Reserved(OpWriter& w, const ModelValue& size, DType dtype, const ModelValue& dims) {
  ModelValue list;
  list.kind = Kind::kSequence;
  list.dtype = dtype;
  list.shape = ElementShape(dims);
  list.length = std::make_shared<const ModelValue>(w.AsInt64(size));
  if (!list.shape.IsFullyKnown() && dims.rank() == 1)
    list.dims = std::make_shared<const ModelValue>(w.AsInt64(dims));
  if (ElemOfDType(dtype) == 0) w.EmptySequence(dtype);  // says why there is none
  return list;
}

void WriteEmptyList(OpWriter& w) {
  w.out(0, Reserved(w, Emitter::I64(0), w.attr<DType>("element_dtype", DType::kInvalid), w.in(0)));
}
void WriteReserve(OpWriter& w) {
  w.out(0, Reserved(w, w.in(1), w.attr<DType>("element_dtype", DType::kInvalid), w.in(0)));
}
void WriteFromTensor(OpWriter& w) {
  if (w.in(0).kind != Kind::kTensor) return w.Unsupported("a list of lists");
  w.out(0, Emitter::ListOfRows(w.in(0)));
}

// What is known of the elements' shape from the node that asks for them.
ModelValue Shaped(OpWriter& w, int list, int dims) {
  ModelValue x = w.list(list);
  const PartialShape said = ElementShape(w.in(dims));
  const auto both = x.shape.Intersect(said);
  if (both.ok()) x.shape = *both;
  return x;
}

// … and from what is known of the tensor of all of them.
ModelValue ShapedAsRows(OpWriter& w, ModelValue list) {
  if (!w.out_shape().has_rank() || w.out_shape().rank() == 0) return list;
  const auto dims = w.out_shape().dims();
  const auto both = list.shape.Intersect(PartialShape(Dims(dims.begin() + 1, dims.end())));
  if (both.ok()) list.shape = *both;
  return list;
}

ModelValue WithItem(OpWriter& w, const ModelValue& list, const ModelValue& index,
                    const ModelValue& item, bool may_grow) {
  const ModelValue sequence = w.AsSequence(list), at = w.AsInt64(index);
  ModelValue result = list;
  result.BecomeComputed("");
  if (item.has_rank()) result.shape = list.shape.Widen(item.shape);
  if (!may_grow) {
    ModelValue without = w.Op("SequenceErase", {sequence, at});
    without.kind = Kind::kSequence;
    result.name = w.Op("SequenceInsert", {without, item, at}, {}, list.dtype).name;
    return result;
  }
  // At its end there is none to take out.
  const ModelValue is_inside = w.Binary("Less", at, w.LengthOf(sequence));
  Attrs attrs;
  for (const bool inside : {true, false}) {
    w.model().Open(inside ? "inside" : "behind");
    const ModelValue from =
        inside ? w.Op("SequenceErase", {sequence, at}, {}, list.dtype) : sequence;
    ModelValue grown = w.Op("SequenceInsert", {from, item, at}, {}, list.dtype);
    grown.kind = Kind::kSequence;
    w.model().AddOutput(grown, false);
    attrs.push_back(GraphAttr(inside ? "then_branch" : "else_branch", w.model().Close()));
  }
  result.name = w.Op("If", {is_inside}, std::move(attrs), list.dtype).name;
  return result;
}

void WriteSetItem(OpWriter& w) {
  w.out(0, WithItem(w, w.list(0), w.in(1), w.in(2), w.Flag("resize_if_index_out_of_bounds")));
}
void WriteGetItem(OpWriter& w) { w.out(0, w.Item(Shaped(w, 0, 2), w.in(1))); }
void WriteStack(OpWriter& w) { w.out(0, w.AsRows(ShapedAsRows(w, Shaped(w, 0, 1)))); }
void WriteListLength(OpWriter& w) { w.out(0, w.Index(w.LengthOf(w.list(0)), DType::kInt32)); }

void WritePushBack(OpWriter& w) {
  const ModelValue& list = w.list(0);
  if (w.in(1).kind != Kind::kTensor) return w.Unsupported("a list of lists");
  ModelValue result = list;
  result.BecomeComputed("");
  if (list.length != nullptr && Emitter::IntOf(*list.length) == 0) {
    result.name = w.Op("SequenceConstruct", {w.in(1)}).name;
  } else {
    result.name = w.Op("SequenceInsert", {w.AsSequence(list), w.in(1)}).name;
  }
  w.out(0, result);
}

void WritePopBack(OpWriter& w) {
  const ModelValue list = Shaped(w, 0, 1);
  w.out(1, w.Item(list, Emitter::I64(-1)));
  if (list.rows != nullptr) {
    ModelValue rest = w.Slice(*list.rows, Emitter::I64s({0}), Emitter::I64s({-1}), {0});
    return w.out(0, Emitter::ListOfRows(rest));
  }
  ModelValue rest = list;
  rest.BecomeComputed(
      w.Op("SequenceErase", {w.AsSequence(list), Emitter::I64(-1)}, {}, list.dtype).name);
  w.out(0, rest);
}

// Those of the first element, where there is one.
ModelValue ElementDims(OpWriter& w, const ModelValue& list) {
  if (list.dims != nullptr) return *list.dims;
  if (list.rows != nullptr)
    return w.Slice(w.ShapeOf(*list.rows), Emitter::I64s({1}), Emitter::I64s({kEnd}), {0});
  if (list.length != nullptr) return Emitter::I64(-1);
  const ModelValue is_there = w.Binary("Greater", w.LengthOf(list), Emitter::I64(0));
  std::vector<int64_t> nothing(list.has_rank() ? list.rank() : 1, 0);
  Attrs attrs;
  for (const bool there : {true, false}) {
    w.model().Open(there ? "first" : "none");
    w.model().AddOutput(there ? w.ShapeOf(w.Item(list, Emitter::I64(0))) : Emitter::I64s(nothing),
                        false);
    attrs.push_back(GraphAttr(there ? "then_branch" : "else_branch", w.model().Close()));
  }
  const PartialShape vector(Dims{list.has_rank() ? list.rank() : -1});
  return w.Op("If", {is_there}, std::move(attrs), DType::kInt64, vector);
}

void WriteElementShape(OpWriter& w) {
  const ModelValue& list = w.list(0);
  if (!list.shape.IsFullyKnown()) return w.out(0, w.Index(ElementDims(w, list), w.out_dtype()));
  const auto dims = list.shape.dims();
  w.out(0, w.Cast(Emitter::I64s({dims.begin(), dims.end()}), w.out_dtype()));
}

void WriteResize(OpWriter& w) {
  const ModelValue rows = w.AsRows(w.list(0)), size = w.Unsqueeze(w.AsInt64(w.in(1)), {0});
  const int rank = w.Rank(rows, "the elements of the list");
  if (w.failed()) return;
  const ModelValue more = w.Max(w.Sub(size, w.Unsqueeze(w.DimOf(rows, 0), {0})), Emitter::I64(0));
  const ModelValue before = Emitter::I64s(std::vector<int64_t>(rank, 0));
  const ModelValue after = Emitter::I64s(std::vector<int64_t>(rank - 1, 0));
  ModelValue longer = w.Op("Pad", {rows, w.Concat({before, more, after}, 0)});
  longer.shape = PartialShape::UnknownOfRank(rank);
  ModelValue result = Emitter::ListOfRows(w.Slice(longer, Emitter::I64s({0}), size, {0}));
  result.shape = w.list(0).shape;
  w.out(0, result);
}

// ---- several elements at once

bool IsCount(const ModelValue& indices) {
  if (indices.counts) return true;
  const auto known = Emitter::IntsOf(indices);
  if (!known) return false;
  for (size_t i = 0; i < known->size(); ++i) {
    if ((*known)[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

ModelValue Scattered(OpWriter& w, const ModelValue& list, const ModelValue& rows,
                     const ModelValue& indices) {
  const bool fills = list.length != nullptr && IsCount(indices);
  const auto size = fills ? Emitter::IntOf(*list.length) : std::nullopt;
  const int64_t count = rows.rank() > 0 ? rows.shape.dim(0) : -1;
  // Rows for all elements in their order, as far as anybody can tell.
  if (fills && (!size || count < 0 || *size == count || (*size == 0 && list.handle != nullptr)))
    return Emitter::ListOfRows(rows);
  ModelValue known = list;
  if (rows.rank() > 0) {
    const auto element = list.shape.Intersect(
        PartialShape(Dims(rows.shape.dims().begin() + 1, rows.shape.dims().end())));
    if (element.ok()) known.shape = *element;
  }
  const ModelValue places = w.Unsqueeze(w.AsInt64(indices), {1});
  ModelValue result = w.Op("ScatterND", {w.AsRows(known), places, rows});
  result.shape = rows.shape;
  if (result.has_rank() && result.rank() > 0) result.shape.set_dim(0, -1);
  return Emitter::ListOfRows(result);
}

void WriteListScatter(OpWriter& w) {
  const ModelValue& indices = w.in(1);
  ModelValue size = w.num_inputs() > 3 ? w.AsInt64(w.in(3)) : Emitter::I64(-1);
  if (Emitter::IntOf(size) == -1) {
    size =
        w.Add(w.Reduce("ReduceMax", w.AsInt64(indices), Emitter::None(), false), Emitter::I64(1));
    if (IsCount(indices)) return w.out(0, Emitter::ListOfRows(w.in(0)));
  }
  w.out(0, Scattered(w, Reserved(w, size, w.dtype(0), w.in(2)), w.in(0), indices));
}
void WriteScatterInto(OpWriter& w) { w.out(0, Scattered(w, w.list(0), w.in(1), w.in(2))); }
void WriteListGather(OpWriter& w) {
  w.out(0, w.Gather(w.AsRows(ShapedAsRows(w, Shaped(w, 0, 2))), w.in(1), 0));
}

ModelValue Joined(OpWriter& w, const ModelValue& list) {
  return w.Op("ConcatFromSequence", {w.Whole(list)}, {IntAttr("axis", 0)}, list.dtype);
}
ModelValue Pieces(OpWriter& w, const ModelValue& x, const ModelValue& lengths) {
  ModelValue result = w.Op("SplitToSequence", {x, w.AsInt64(lengths)}, {IntAttr("axis", 0)});
  result.kind = Kind::kSequence;
  return result;
}
void WriteListConcat(OpWriter& w) { w.out(0, Joined(w, Shaped(w, 0, 1))); }
void WriteListSplit(OpWriter& w) { w.out(0, Pieces(w, w.in(0), w.in(2))); }

// ---- arrays

void WriteArray(OpWriter& w) {
  auto handle = std::make_shared<Handle>();
  handle->name = w.node().name;
  handle->dtype = w.attr<DType>("dtype", DType::kInvalid);
  handle->shape = w.attr<PartialShape>("element_shape", PartialShape());
  handle->may_grow = w.Flag("dynamic_size");
  ModelValue value;
  value.dtype = DType::kResource;
  value.handle = handle;
  w.out(0, value);
  ModelValue flow = Reserved(w, w.in(0), handle->dtype, Emitter::None());
  flow.shape = handle->shape;
  flow.handle = handle;
  w.out(1, flow);
}
bool MayGrow(const ModelValue& handle) {
  return handle.handle != nullptr && handle.handle->may_grow;
}
// The elements of the array that input 0 is, by its flow.
const ModelValue& ArrayAt(OpWriter& w, int flow) {
  const ModelValue& list = w.list(flow);
  if (!w.failed() && list.handle != w.in(0).handle) w.Unsupported("an array by another one's flow");
  return list;
}
void WriteArrayWrite(OpWriter& w) {
  w.out(0, WithItem(w, ArrayAt(w, 3), w.in(1), w.in(2), MayGrow(w.in(0))));
}
void WriteArrayRead(OpWriter& w) { w.out(0, w.Item(ArrayAt(w, 2), w.in(1))); }
void WriteArrayGather(OpWriter& w) {
  const ModelValue rows = w.AsRows(ShapedAsRows(w, ArrayAt(w, 2)));
  w.out(0, w.Gather(rows, w.in(1), 0));
}
void OutFlow(OpWriter& w, ModelValue list) {
  list.handle = w.in(0).handle;
  w.out(0, std::move(list));
}
void WriteArrayScatter(OpWriter& w) { OutFlow(w, Scattered(w, ArrayAt(w, 3), w.in(2), w.in(1))); }
void WriteArrayConcat(OpWriter& w) { w.out(0, Joined(w, ArrayAt(w, 1))); }
void WriteArraySplit(OpWriter& w) { OutFlow(w, Pieces(w, w.in(1), w.in(2))); }
void WriteArraySize(OpWriter& w) { w.out(0, w.Index(w.LengthOf(ArrayAt(w, 1)), DType::kInt32)); }
void WriteNothing(OpWriter&) {}

// ---- optionals

void WriteOptional(OpWriter& w) {
  if (w.num_inputs() != 1) return w.Unsupported("an optional of several values");
  const ModelValue x = w.in(0).kind == Kind::kSequence ? w.AsSequence(w.in(0)) : w.in(0);
  if (x.kind == Kind::kOptional) return w.Unsupported("an optional of an optional");
  ModelValue result = w.Op("Optional", {x}, {}, x.dtype, x.shape);
  result.kind = Kind::kOptional;
  result.holds_list = x.kind == Kind::kSequence;
  w.out(0, result);
}
void WriteNone(OpWriter& w) {
  ModelValue none;
  none.kind = Kind::kOptional;
  w.out(0, none);
}
void WriteHasValue(OpWriter& w) {
  w.out(0, w.Op("OptionalHasElement", {w.AsOptional(w.in(0))}, {}, DType::kBool,
                PartialShape::Scalar()));
}
void WriteGetValue(OpWriter& w) {
  const ModelValue& x = w.in(0);
  ModelValue result = w.Op("OptionalGetElement", {w.AsOptional(x)}, {}, x.dtype, x.shape);
  if (x.holds_list) result.kind = Kind::kSequence;
  w.out(0, result);
}

}  // namespace

void AddListWriters(WriteTable& t) {
  t.Add("EmptyTensorList", WriteEmptyList);
  t.AddForAll("OptionalFromValue", WriteOptional);
  t.AddForAll("OptionalGetValue", WriteGetValue);
  t.AddForAll("OptionalHasValue", WriteHasValue);
  t.Add("OptionalNone", WriteNone);
  t.AddForAll("TensorArrayCloseV3", WriteNothing);
  t.AddForAll("TensorArrayConcatV3", WriteArrayConcat);
  t.AddForAll("TensorArrayGatherV3", WriteArrayGather, LoopPart::kStacks);
  t.AddForAll("TensorArrayReadV3", WriteArrayRead);
  t.AddForAll("TensorArrayScatterV3", WriteArrayScatter);
  t.AddForAll("TensorArraySizeV3", WriteArraySize, LoopPart::kStacks);
  t.AddForAll("TensorArraySplitV3", WriteArraySplit);
  t.AddForAll("TensorArrayV3", WriteArray);
  t.AddForAll("TensorArrayWriteV3", WriteArrayWrite, LoopPart::kWrites);
  t.AddForAll("TensorListConcatV2", WriteListConcat);
  t.AddForAll("TensorListElementShape", WriteElementShape);
  t.AddForAll("TensorListFromTensor", WriteFromTensor);
  t.AddForAll("TensorListGather", WriteListGather);
  t.AddForAll("TensorListGetItem", WriteGetItem);
  t.AddForAll("TensorListLength", WriteListLength, LoopPart::kStacks);
  t.AddForAll("TensorListPopBack", WritePopBack);
  t.AddForAll("TensorListPushBack", WritePushBack, LoopPart::kAppends);
  t.Add("TensorListReserve", WriteReserve);
  t.AddForAll("TensorListResize", WriteResize);
  t.AddForAll("TensorListScatterIntoExistingList", WriteScatterInto);
  t.AddForAll("TensorListScatterV2", WriteListScatter);
  t.AddForAll("TensorListSetItem", WriteSetItem, LoopPart::kSets);
  t.AddForAll("TensorListSplit", WriteListSplit);
  t.AddForAll("TensorListStack", WriteStack, LoopPart::kStacks);
}

}  // namespace gyre::onnx

// Shapes: constants, reshaping, broadcasting, joining, splitting, padding.
#include <algorithm>
#include <numeric>

#include "base/status.h"
#include "onnx/names.h"
#include "onnx/op_table.h"
#include "onnx/ops/pieces.h"

namespace gyre::onnx {
namespace {

void Constant(NodeContext& c) {
  const auto out_tensor = [&](absl::StatusOr<Tensor> tensor, int elem_type) {
    if (!tensor.ok()) return c.Fail(tensor.status());
    c.out(0, Value{c.b().Constant(*tensor), Type::Tensor(elem_type)});
  };
  Model& model = c.names().model();
  if (const auto* value = c.Find("value"))
    return out_tensor(model.Read(value->t()), value->t().data_type());
  if (const auto* value = c.Find("sparse_value")) {
    return out_tensor(model.Read(value->sparse_tensor()),
                      value->sparse_tensor().values().data_type());
  }
  using wire::TensorProto;
  if (c.HasAttr("value_int"))
    return out_tensor(Tensor::Scalar<int64_t>(c.Int("value_int", 0)), TensorProto::INT64);
  if (c.HasAttr("value_float"))
    return out_tensor(Tensor::Scalar<float>(c.Float("value_float", 0)), TensorProto::FLOAT);
  if (c.HasAttr("value_string")) {
    return out_tensor(Tensor::Scalar<std::string>(c.Text("value_string", "")), TensorProto::STRING);
  }
  const auto vector = [](const auto& values) {
    using T = typename std::decay_t<decltype(values)>::value_type;
    return Tensor::FromValues<T>(values, Shape::Vector(static_cast<int64_t>(values.size())));
  };
  if (c.HasAttr("value_ints")) return out_tensor(vector(c.Ints("value_ints")), TensorProto::INT64);
  if (c.HasAttr("value_floats"))
    return out_tensor(vector(c.Floats("value_floats")), TensorProto::FLOAT);
  if (c.HasAttr("value_strings"))
    return out_tensor(vector(c.Texts("value_strings")), TensorProto::STRING);
  c.Invalid("it has no value");
}

void ConstantOfShape(NodeContext& c) {
  const Expr dims = c.in(0);
  Value value = {c.scalar(DType::kFloat, 0), Type::Tensor(wire::TensorProto::FLOAT)};
  if (const auto* attribute = c.Find("value")) {
    const auto tensor = c.names().model().Read(attribute->t());
    if (!tensor.ok()) return c.Fail(tensor.status());
    value = {AsScalar(c, c.b().Constant(*tensor)), Type::Tensor(attribute->t().data_type())};
  }
  c.out(0, Value{c.op("Fill", {dims, value.expr}), value.type});
}

// A part of the shape from opset 15 on.
void ShapeOp(NodeContext& c) {
  const Expr x = c.value(0).expr;
  if (c.failed()) return;
  const Expr dims = DimsOf(c, x);
  if (!c.HasAttr("start") && !c.HasAttr("end")) return c.out(0, dims);
  const int64_t rank = c.Rank(x);
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t begin = clamp(c.Int("start", 0));
  const int64_t end = clamp(c.Int("end", rank));
  c.out(0, Part(c, dims, begin, std::max(begin, end)));
}

void SizeOp(NodeContext& c) { c.out(0, c.op("Size", {c.in(0)}, {{"out_type", DType::kInt64}})); }

// 0 stands for the dimension of the input, unless allowzero is set.
void ReshapeOp(NodeContext& c) {
  const Expr x = c.in(0);
  Expr dims = c.in(1);
  if (c.failed()) return;
  auto known = c.ints(dims);
  if (c.Int("allowzero", 0) == 0) {
    if (!known) {
      const Expr count = c.op("Size", {dims}, {{"out_type", DType::kInt64}});
      const Expr own = c.op("ConcatV2", {DimsOf(c, x), c.op("ZerosLike", {dims}), c.b().Int(0)});
      const Expr first = c.op("Slice", {own, c.i64s({0}), AsShape(c, count, {1})});
      dims = Where(c.op("Equal", {dims, c.i64(0)}), first, dims);
    } else if (std::count(known->begin(), known->end(), 0) > 0) {
      const PartialShape& shape = c.shape(x);
      const bool has_open = std::count(known->begin(), known->end(), -1) > 0;
      int open = 0;
      std::vector<Expr> parts;
      for (size_t i = 0; i < known->size(); ++i) {
        if ((*known)[i] == 0) {
          if (shape.has_rank() && static_cast<int>(i) >= shape.rank())
            return c.Invalid("a dimension of 0 has none of the input's to stand for");
          const bool is_known = shape.has_rank() && shape.dim(static_cast<int>(i)) >= 0;
          if (!is_known) ++open;
          parts.push_back(DimOf(c, x, static_cast<int>(i)));
          (*known)[i] = is_known ? shape.dim(static_cast<int>(i)) : -1;
        } else {
          parts.push_back(c.i64((*known)[i]));
        }
      }
      dims = open == 0 || (open == 1 && !has_open) ? c.i64s(*known) : Pack(c, parts);
    }
  }
  c.out(0, Value{c.op("Reshape", {x, dims}), c.value(0).type});
}

// To the shape that both broadcast to.
void Expand(NodeContext& c) {
  const Expr x = c.in(0), wanted = c.in(1);
  if (c.failed()) return;
  c.out(0, c.op("BroadcastTo", {x, c.op("BroadcastArgs", {DimsOf(c, x), wanted})}));
}

void Transpose(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<int64_t> permutation = c.Ints("perm");
  if (!c.HasAttr("perm")) {
    permutation.resize(c.Rank(x));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  c.out(0, c.op("Transpose", {x, c.i32s(permutation)}));
}

Expr CountOf(NodeContext& c, const Expr& x) {
  return c.op("Size", {x}, {{"out_type", DType::kInt64}});
}

// 1 for each of `count` axes that `axes` names, 0 for the others.
Expr Named(NodeContext& c, const Expr& axes, const Expr& count) {
  return WithElements(c, c.op("Fill", {Pack(c, {count}), c.i64(0)}), axes,
                      c.op("OnesLike", {axes}));
}

// The axes that `named` does not name.
Expr Unnamed(NodeContext& c, const Expr& named) {
  return AsShape(c, c.op("Where", {c.op("Equal", {named, c.i64(0)})}), {-1});
}

// x in the shape `dims`, which has `less` (or more, where negative) axes than x for each of `axes`.
Expr WithAxes(NodeContext& c, const Expr& x, Expr dims, int less, const Expr& axes) {
  const int rank = c.scope().RankOf(x);
  const int64_t count = c.Dim(axes, 0);
  if (rank >= 0 && count >= 0 && rank - less * count >= 0)
    dims = AsShape(c, dims, {rank - less * count});
  return c.op("Reshape", {x, dims});
}

Expr SqueezedAtRun(NodeContext& c, const Expr& x, const Expr& axes) {
  const Expr dims = DimsOf(c, x);
  const Expr stay = Unnamed(c, Named(c, axes, CountOf(c, dims)));
  return WithAxes(c, x, Taken(c, dims, stay, 0), 1, axes);
}

// The dimensions of x at the places that are left, in their order.
Expr UnsqueezedAtRun(NodeContext& c, const Expr& x, const Expr& axes) {
  const Expr dims = DimsOf(c, x);
  const Expr named = Named(c, axes, CountOf(c, dims) + CountOf(c, axes));
  const Expr ones = c.op("OnesLike", {named});
  return WithAxes(c, x, WithElements(c, ones, Unnamed(c, named), dims), -1, axes);
}

// Axes are an attribute below opset 13; without any, all of size 1 go.
void Squeeze(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<int64_t> axes = c.Ints("axes");
  if (c.has(1)) {
    const Expr given = Cast(c.in(1), DType::kInt64);
    const auto known = c.ints(given);
    if (!known) return c.out(0, SqueezedAtRun(c, x, given));
    if (known->empty()) return c.out(0, c.op("Identity", {x}));
    axes = *known;
  }
  c.out(0, c.op("Squeeze", {x}, {{"squeeze_dims", axes}}));
}

void Unsqueeze(NodeContext& c) {
  const Expr x = c.in(0);
  std::vector<int64_t> axes = c.Ints("axes");
  if (c.has(1)) {
    const Expr given = Cast(c.in(1), DType::kInt64);
    const auto known = c.ints(given);
    if (!known) return c.out(0, UnsqueezedAtRun(c, x, given));
    axes = *known;
  }
  if (axes.size() > Shape::kMaxRank) return c.Invalid("it names too many axes");
  if (axes.size() == 1 && axes[0] == static_cast<int32_t>(axes[0]))
    return c.out(0, Unsqueezed(c, x, static_cast<int>(axes[0])));
  const bool has_negative =
      std::any_of(axes.begin(), axes.end(), [](int64_t axis) { return axis < 0; });
  const int rank = has_negative ? c.Rank(x) + static_cast<int>(axes.size()) : Shape::kMaxRank;
  std::vector<int> places = c.Axes(axes, rank);
  if (c.failed()) return;
  std::sort(places.begin(), places.end());
  Expr result = places.empty() ? c.op("Identity", {x}) : x;
  for (const int axis : places) result = Unsqueezed(c, result, axis);
  c.out(0, result);
}

void Flatten(NodeContext& c) {
  const Expr x = c.in(0);
  const int rank = c.Rank(x);
  int64_t axis = c.Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return c.Invalid("the axis is out of range");
  c.out(0, c.op("Reshape", {x, FlatDims(c, x, static_cast<int>(axis))}));
}

void Tile(NodeContext& c) { c.out(0, c.op("Tile", {c.in(0), c.in(1)})); }

void ConcatOp(NodeContext& c) {
  const std::vector<Expr> inputs = c.ins();
  if (inputs.empty()) return c.Invalid("it has no inputs");
  if (inputs.size() == 1) return c.out(0, c.op("Identity", {inputs[0]}));
  c.out(0, Concat(c, inputs, c.Int32("axis", 1)));
}

// Equal parts where no sizes are given, the last one less where it does not come out even.
void SplitOp(NodeContext& c) {
  const Expr x = c.in(0);
  const int axis = c.Axis(c.Int("axis", 0), std::max(c.Rank(x), 1));
  const int count = c.num_outputs();
  if (count < 1) return c.Invalid("it has no outputs");
  if (c.failed()) return;
  Expr sizes;
  if (c.has(1)) {
    sizes = c.in(1);
  } else if (c.HasAttr("split")) {
    sizes = c.i64s(c.Ints("split"));
  } else {
    const Expr size = DimOf(c, x, axis);
    const Expr part = c.op("FloorDiv", {size + (count - 1.0), c.i64(count)});
    std::vector<Expr> all(count, part);
    all.back() = size - (count - 1.0) * part;
    sizes = Pack(c, all);
  }
  if (count == 1) return c.out(0, c.op("Identity", {x}));
  const std::vector<Expr> parts =
      c.b().Ops("SplitV", {x, sizes, c.b().Int(axis)}, {{"num_split", int64_t{count}}}, count);
  for (int i = 0; i < count; ++i) c.out(i, parts[i]);
}

// All of the axes that `axes` does not name.
Expr SlicedAtRun(NodeContext& c, const Expr& x, const Expr& starts, const Expr& ends,
                 const Expr& axes, const std::optional<Expr>& steps) {
  const Expr dims = DimsOf(c, x);
  Expr strides = c.op("OnesLike", {dims});
  if (steps) strides = WithElements(c, strides, axes, *steps);
  return c.op("StridedSlice", {x, WithElements(c, c.op("ZerosLike", {dims}), axes, starts),
                               WithElements(c, dims, axes, ends), strides});
}

// As numpy's, clamped; attributes below opset 10.
void SliceOp(NodeContext& c) {
  const Expr x = c.in(0);
  const auto input = [&](int i, absl::string_view name) -> std::optional<Expr> {
    if (c.has(i)) return Cast(c.in(i), DType::kInt64);
    if (c.HasAttr(name)) return c.i64s(c.Ints(name));
    return std::nullopt;
  };
  const auto starts = input(1, "starts"), ends = input(2, "ends"), given = input(3, "axes"),
             steps = input(4, "steps");
  if (!starts || !ends) return c.Invalid("it says no starts or ends");
  if (c.failed()) return;
  const int64_t count = c.Dim(*starts, 0);
  std::optional<std::vector<int64_t>> known;
  if (given) {
    known = c.ints(*given);
  } else if (count >= 0) {
    if (count > Shape::kMaxRank) return c.Invalid("there are too many starts");
    known.emplace(count);
    std::iota(known->begin(), known->end(), 0);
  }
  if (!known) {
    const Expr axes = given ? *given : Iota(c, CountOf(c, *starts));
    const Value result = {SlicedAtRun(c, x, *starts, *ends, axes, steps), c.value(0).type};
    return c.out(0, result);
  }
  const bool has_negative =
      std::any_of(known->begin(), known->end(), [](int64_t axis) { return axis < 0; });
  const int rank = has_negative ? c.Rank(x) : c.scope().RankOf(x);
  const std::vector<int> axes = c.Axes(*known, rank >= 0 ? rank : Shape::kMaxRank);
  if (c.failed()) return;
  const int width = axes.empty() ? 0 : *std::max_element(axes.begin(), axes.end()) + 1;
  if (axes.empty()) return c.out(0, c.op("Identity", {x}));
  // One element for each axis up to the last that is sliced; those between are masked.
  const auto spread = [&](const Expr& values, int64_t fill) {
    std::vector<Expr> elements(width, c.i64(fill));
    for (size_t i = 0; i < axes.size(); ++i)
      elements[axes[i]] = Taken(c, values, c.b().Int(static_cast<int>(i)), 0);
    return Pack(c, elements);
  };
  if (width > 31) return c.Unsupported("slices of more than 31 axes");
  int64_t mask = (int64_t{1} << width) - 1;
  for (const int axis : axes) mask &= ~(int64_t{1} << axis);
  const Expr strides = steps ? spread(*steps, 1) : c.i64s(std::vector<int64_t>(width, 1));
  c.out(0, Value{c.op("StridedSlice", {x, spread(*starts, 0), spread(*ends, 0), strides},
                      {{"begin_mask", mask}, {"end_mask", mask}}),
                 c.value(0).type});
}

void RangeOp(NodeContext& c) {
  std::vector<Expr> bounds;
  for (int i = 0; i < 3; ++i) bounds.push_back(AsScalar(c, c.in(i)));
  c.out(0, c.op("Range", bounds));
}

// Rows and columns of a matrix, to be compared.
std::pair<Expr, Expr> RowsAndColumns(NodeContext& c, const Expr& x) {
  const int rank = c.Rank(x);
  if (rank < 2) c.Invalid("it takes matrices");
  if (c.failed()) return {x, x};
  return {Unsqueezed(c, Iota(c, DimOf(c, x, rank - 2)), 1),
          Unsqueezed(c, Iota(c, DimOf(c, x, rank - 1)), 0)};
}

void EyeLike(NodeContext& c) {
  const Value x = c.value(0);
  const auto [rows, columns] = RowsAndColumns(c, x.expr);
  const Expr is_one = c.op("Equal", {rows + static_cast<double>(c.Int("k", 0)), columns});
  const int elem_type = c.Int32("dtype", x.type.elem_type);
  if (!c.failed()) c.out(0, ToElem(c, {is_one, Type::Tensor(wire::TensorProto::BOOL)}, elem_type));
}

void Trilu(NodeContext& c) {
  const Expr x = c.in(0);
  const auto [rows, columns] = RowsAndColumns(c, x);
  const Expr k = c.has(1) ? AsScalar(c, c.in(1)) : c.i64(0);
  const bool is_upper = c.Int("upper", 1) != 0;
  const Expr keeps = c.op(is_upper ? "GreaterEqual" : "LessEqual", {columns - rows, k});
  c.out(0, Where(keeps, x, c.op("ZerosLike", {x})));
}

void DepthToSpace(NodeContext& c) {
  const Expr x = c.in(0);
  const int64_t block = c.Int32("blocksize", 0);
  if (c.Rank(x) != 4 || block < 1) return c.Invalid("it takes images [N, C, H, W] and a blocksize");
  const Expr n = DimOf(c, x, 0), channels = DimOf(c, x, 1), h = DimOf(c, x, 2), w = DimOf(c, x, 3);
  const Expr size = c.i64(block);
  const Expr depth = c.op("FloorDiv", {channels, c.i64(block * block)});
  const bool is_crd = c.Text("mode", "DCR") == "CRD";
  const std::vector<Expr> split = is_crd ? std::vector<Expr>{n, depth, size, size, h, w}
                                         : std::vector<Expr>{n, size, size, depth, h, w};
  const std::vector<int64_t> order =
      is_crd ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  const Expr blocks = Transposed(c, c.op("Reshape", {x, Pack(c, split)}), order);
  c.out(0, c.op("Reshape", {blocks, Pack(c, {n, depth, h * size, w * size})}));
}

void SpaceToDepth(NodeContext& c) {
  const Expr x = c.in(0);
  const int64_t block = c.Int32("blocksize", 0);
  if (c.Rank(x) != 4 || block < 1) return c.Invalid("it takes images [N, C, H, W] and a blocksize");
  const Expr n = DimOf(c, x, 0), channels = DimOf(c, x, 1), size = c.i64(block);
  const Expr h = c.op("FloorDiv", {DimOf(c, x, 2), size});
  const Expr w = c.op("FloorDiv", {DimOf(c, x, 3), size});
  const Expr blocks = Transposed(c, c.op("Reshape", {x, Pack(c, {n, channels, h, size, w, size})}),
                                 {0, 3, 5, 1, 2, 4});
  c.out(0, c.op("Reshape", {blocks, Pack(c, {n, channels * c.i64(block * block), h, w})}));
}

void ReverseSequence(NodeContext& c) {
  c.out(0, c.op("ReverseSequence", {c.in(0), Cast(c.in(1), DType::kInt64)},
                {{"seq_dim", c.Int("time_axis", 0)}, {"batch_dim", c.Int("batch_axis", 1)}}));
}

}  // namespace

void AddShapeOps(OpTable& t) {
  t.Add("Concat", ConcatOp);
  t.Add("Constant", Constant);
  t.Add("ConstantOfShape", ConstantOfShape);
  t.Add("DepthToSpace", DepthToSpace);
  t.Add("Expand", Expand);
  t.Add("EyeLike", EyeLike);
  t.Add("Flatten", Flatten);
  t.Add("Range", RangeOp);
  t.Add("Reshape", ReshapeOp);
  t.Add("ReverseSequence", ReverseSequence);
  t.Add("Shape", ShapeOp);
  t.Add("Size", SizeOp);
  t.Add("Slice", SliceOp);
  t.Add("SpaceToDepth", SpaceToDepth);
  t.Add("Split", SplitOp);
  t.Add("Squeeze", Squeeze);
  t.Add("Tile", Tile);
  t.Add("Transpose", Transpose);
  t.Add("Trilu", Trilu);
  t.Add("Unsqueeze", Unsqueeze);
}

}  // namespace gyre::onnx

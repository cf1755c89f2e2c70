// TensorArrayGatherV3, ScatterV3, ConcatV3, SplitV3: many elements of an array at once.
#include <algorithm>

#include "base/checked_math.h"
#include "ops/array/layout.h"
#include "ops/join.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"
#include "ops/state/tensor_array_ops.h"

namespace gyre {
namespace {

// `rest` behind a new first dimension.
PartialShape WithRows(int64_t rows, const PartialShape& rest) {
  if (!rest.has_rank()) return PartialShape::Unknown();
  Dims dims{rows};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(std::move(dims));
}

absl::StatusOr<Shape> RowsOf(int64_t rows, const Shape& rest) {
  Dims dims{rows};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return Shape::Make(dims);
}

// The shape of a tensor without its first dimension. Requirement, not checked: rank >= 1.
absl::StatusOr<Shape> RowShape(const Shape& shape) { return Shape::Make(shape.dims().subspan(1)); }
PartialShape RowShape(const PartialShape& shape) {
  if (!shape.has_rank()) return shape;
  return PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
}

absl::StatusOr<absl::Span<const int32_t>> IndicesInput(const KernelContext& ctx) {
  const Tensor& indices = ctx.input(1);
  if (indices.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected indices to be a vector, but received shape: ", indices.shape().ToString()));
  }
  return indices.values<int32_t>();
}

absl::StatusOr<std::vector<Tensor>> ReadAll(const KernelContext& ctx, TensorArrayObject& array,
                                            absl::Span<const int32_t> indices) {
  std::vector<Tensor> values;
  for (const int32_t index : indices) {
    if (values.size() % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(), array.Read(ctx, index));
  }
  return values;
}

struct GatherAttrs {
  explicit GatherAttrs(const Node& node)
      : element_shape(NodeAttr<PartialShape>(node, "element_shape")) {}
  PartialShape element_shape;
};

absl::Status Gather(KernelContext& ctx, const GatherAttrs& attrs) {
  const DType dtype = ctx.output_dtype(0);
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, dtype));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, array->NarrowElementShape(attrs.element_shape));
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, IndicesInput(ctx));
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, ReadAll(ctx, *array, indices));
  Shape shape;
  if (!values.empty()) {
    shape = values[0].shape();
  } else if (const std::optional<Shape> known = element.ToShape()) {
    shape = *known;
  } else {
    return absl::UnimplementedError(absl::StrCat(
        "TensorArray ", array->name(), ": nothing to gather, but element shape ",
        element.ToString(), " is not fully defined, so the shape of the result is not known"));
  }
  if (!element.Allows(shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray was passed element_shape ", element.ToString(),
        " which does not match the Tensor at index ", indices[0], ": ", shape.ToString()));
  }
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i].shape() != shape) {
      return absl::InvalidArgumentError(absl::StrCat("TensorArray has inconsistent shapes.  Index ",
                                                     indices[0], " has shape: ", shape.ToString(),
                                                     " but index ", indices[i],
                                                     " has shape: ", values[i].shape().ToString()));
    }
  }
  GYRE_ASSIGN_OR_RETURN(const Shape joined, RowsOf(static_cast<int64_t>(values.size()), shape));
  GYRE_ASSIGN_OR_RETURN(Tensor result, JoinParts(ctx, dtype, joined, values));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status Scatter(KernelContext& ctx) {
  const Tensor value = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, value.dtype()));
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, IndicesInput(ctx));
  if (value.rank() == 0) {
    return absl::InvalidArgumentError(
        "Input value for unpack must be at least a vector but received shape: []");
  }
  const int64_t rows = value.dim(0);
  if (rows != static_cast<int64_t>(indices.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ", rows));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  const auto last = std::max_element(indices.begin(), indices.end());
  if (!indices.empty() && *last >= size && !array->dynamic_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Max scatter index must be < array size (", *last, " vs. ", size, ")"));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape row, RowShape(value.shape()));
  for (int64_t i = 0; i < rows; ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(Tensor element, TakeRows(ctx, value, i, 1, row));
    GYRE_RETURN_IF_ERROR(array->Write(ctx, indices[static_cast<size_t>(i)], std::move(element)));
  }
  ctx.set_output(0, ctx.TakeInput(3));
  return absl::OkStatus();
}

struct ConcatAttrs {
  explicit ConcatAttrs(const Node& node)
      : except0(NodeAttr<PartialShape>(node, "element_shape_except0")) {}
  PartialShape except0;
};

// The shape of the joined values: their rows added up, over what they have in common.
absl::StatusOr<Shape> ConcatShape(absl::Span<const Tensor> values, const PartialShape& except0) {
  std::optional<Shape> rest;
  int64_t rows = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Concat saw a scalar shape at index ", i,
                       " but requires at least vectors.  Did you mean to call pack?"));
    }
    GYRE_ASSIGN_OR_RETURN(Shape row, RowShape(values[i].shape()));
    if (!except0.Allows(row)) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorArray was passed element_shape_except0 ", except0.ToString(),
                       " but index ", i, " has (excepting dimension 0) shape: ", row.ToString()));
    }
    if (rest && *rest != row) {
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
          rest->ToString(), " but index ", i,
          " has (excepting dimension 0) shape: ", row.ToString()));
    }
    rest = std::move(row);
    const std::optional<int64_t> sum = CheckedAdd(rows, values[i].dim(0));
    if (!sum) return absl::InvalidArgumentError("the elements have more rows than an int64 counts");
    rows = *sum;
  }
  if (!rest) rest = except0.ToShape();
  if (!rest) {
    return absl::UnimplementedError(
        absl::StrCat("TensorArray has size zero, but element_shape_except0 ", except0.ToString(),
                     " is not fully defined, so the shape of the result is not known"));
  }
  return RowsOf(rows, *rest);
}

absl::Status Concat(KernelContext& ctx, const ConcatAttrs& attrs) {
  const DType dtype = ctx.output_dtype(0);
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, dtype));
  GYRE_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  std::vector<Tensor> values;
  for (int64_t i = 0; i < size; ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(values.emplace_back(), array->Read(ctx, i));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ConcatShape(values, attrs.except0));
  GYRE_ASSIGN_OR_RETURN(Tensor lengths, ctx.Allocate(DType::kInt64, Shape::Vector(size)));
  for (int64_t i = 0; i < size; ++i)
    lengths.mutable_values<int64_t>()[i] = values[static_cast<size_t>(i)].dim(0);
  GYRE_ASSIGN_OR_RETURN(Tensor result, JoinParts(ctx, dtype, shape, values));
  ctx.set_output(0, std::move(result));
  ctx.set_output(1, std::move(lengths));
  return absl::OkStatus();
}

absl::Status CheckLengths(absl::Span<const int64_t> lengths, const Shape& value) {
  int64_t total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const std::optional<int64_t> sum = CheckedAdd(total, lengths[i]);
    if (lengths[i] < 0 || !sum) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths[", i, "] = ", lengths[i], " is not a length"));
    }
    total = *sum;
  }
  if (total == value.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
                   total, " and value's shape is: ", value.ToString()));
}

absl::Status Split(KernelContext& ctx) {
  const Tensor value = ctx.input(1);
  const Tensor lengths = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(TensorArrayObject * array, TensorArrayInput(ctx, value.dtype()));
  if (lengths.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected lengths to be a vector, received shape: ", lengths.shape().ToString()));
  }
  if (value.rank() == 0) {
    return absl::InvalidArgumentError(
        "Expected value to be at least a vector, but received shape: []");
  }
  const absl::Span<const int64_t> sizes = lengths.values<int64_t>();
  GYRE_RETURN_IF_ERROR(CheckLengths(sizes, value.shape()));
  GYRE_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  const int64_t n = static_cast<int64_t>(sizes.size());
  if (size != n && !(array->dynamic_size() && size < n)) {
    return absl::InvalidArgumentError(
        absl::StrCat("TensorArray's size is not equal to the size of lengths (", size, " vs. ", n,
                     "), and the TensorArray is not marked as dynamically resizeable"));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape row, RowShape(value.shape()));
  int64_t begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const int64_t rows = sizes[static_cast<size_t>(i)];
    GYRE_ASSIGN_OR_RETURN(const Shape piece, RowsOf(rows, row));
    GYRE_ASSIGN_OR_RETURN(Tensor element, TakeRows(ctx, value, begin, rows, piece));
    GYRE_RETURN_IF_ERROR(array->Write(ctx, i, std::move(element)));
    begin += rows;
  }
  ctx.set_output(0, ctx.TakeInput(3));
  return absl::OkStatus();
}

absl::Status GatherShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape known, TensorArrayElementShape(c, c.output_dtype(0)));
  const PartialShape asked =
      c.attrs().GetOr<PartialShape>("element_shape", PartialShape::Unknown());
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, known.Intersect(asked));
  c.set_output(0, WithRows(c.input(1).has_rank() ? c.input(1).dim(0) : -1, element));
  return absl::OkStatus();
}

absl::Status ScatterShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, TensorArrayElementShape(c, c.input_dtype(2)));
  const PartialShape& value = c.input(2);
  if (value.has_rank()) {
    if (value.rank() == 0)
      return absl::InvalidArgumentError("value must be at least a vector, but is a scalar");
    GYRE_RETURN_IF_ERROR(element.Intersect(RowShape(value)).status());
  }
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

absl::Status ConcatShapeRule(ShapeContext& c) {
  const PartialShape except0 =
      c.attrs().GetOr<PartialShape>("element_shape_except0", PartialShape::Unknown());
  c.set_output(0, WithRows(-1, except0));
  c.set_output(1, PartialShape::UnknownOfRank(1));
  return TensorArrayElementShape(c, c.output_dtype(0)).status();
}

absl::Status SplitShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_RETURN_IF_ERROR(TensorArrayElementShape(c, c.input_dtype(1)).status());
  if (c.input(1).has_rank() && c.input(1).rank() == 0) {
    return absl::InvalidArgumentError("value must be at least a vector, but is a scalar");
  }
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

void ScatterGradient(GradientContext& g) {
  AddElementsOrZeros(g, 2, 1);
  g.Add(3, g.grad());
}

void ConcatGradient(GradientContext& g) {
  g.Add(1, g.op("TensorListSplit", {g.grad(), g.builder().Int(-1), g.output(1)}));
}

void SplitGradient(GradientContext& g) {
  g.Add(3, g.grad());
  if (!g.wants(1)) return;
  const Expr pieces = g.op("TensorListResize", {g.grad(), g.op("Size", {g.input(2)})});
  g.Add(1, JoinedPieces(g, pieces, 1, 2));
}

}  // namespace

void RegisterTensorArrayBulk(OpRegistry& ops) {
  // Reading marks the elements, and by default clears them.
  ops.Add({.schema = "TensorArrayGatherV3(handle: resource, indices: int32, flow_in: float) -> "
                     "value: dtype {dtype: "
                     "type; element_shape: shape = ?}",
           .doc = "Stacks the elements of an array that `indices` name.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = GatherShape,
           .gradient = {[](GradientContext& g) { AddToElements(g, 2, 1); }},
           .kinds = kinds::Plain,
           .kernel = Compute<Gather>()});
  ops.Add({.schema = "TensorArrayScatterV3(handle: resource, indices: int32, value: T, flow_in: "
                     "float) -> flow_out: "
                     "float {T: type}",
           .doc = "Writes the rows of `value` to the elements of an array that `indices` name.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = ScatterShape,
           .gradient = {ScatterGradient},
           .kinds = kinds::FlowLast,
           .kernel = Compute<Scatter>()});
  ops.Add(
      {.schema = "TensorArrayConcatV3(handle: resource, flow_in: float) -> value: dtype, lengths: "
                 "int64 {dtype: "
                 "type; element_shape_except0: shape = ?}",
       .doc = "Joins all elements of an array along dimension 0, and says how many rows each had.",
       .traits = {.effect = Effect::kWrite, .role = Role::kArray},
       .shape = ConcatShapeRule,
       .gradient = {ConcatGradient},
       .kernel = Compute<Concat>()});
  ops.Add({.schema = "TensorArraySplitV3(handle: resource, value: T, lengths: int64, flow_in: "
                     "float) -> flow_out: "
                     "float {T: type}",
           .doc = "Writes pieces of `value`, of `lengths` rows, to the elements of an array.",
           .traits = {.effect = Effect::kWrite, .role = Role::kArray},
           .shape = SplitShape,
           .gradient = {SplitGradient},
           .kinds = kinds::FlowLast,
           .kernel = Compute<Split>()});
}

}  // namespace gyre

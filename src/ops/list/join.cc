// TensorListStack, TensorListGather, TensorListConcat, TensorListConcatV2: elements joined to one
// tensor.
#include <algorithm>

#include "base/checked_math.h"
#include "ops/dispatch.h"
#include "ops/list/list_batch.h"
#include "ops/list/list_ops.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// The one shape of all elements that a stack of `n` of them takes them to have: `shape`, narrowed
// to those that are there where the list itself does not say it.
absl::StatusOr<Shape> CommonShape(const KernelContext& ctx, const TensorList& list,
                                  PartialShape shape, int64_t n) {
  if (!shape.IsFullyKnown() && n == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Tried to stack elements of an empty list with non-fully-defined element_shape: ",
        shape.ToString()));
  }
  if (!list.element_shape.IsFullyKnown()) {
    GYRE_ASSIGN_OR_RETURN(shape, NarrowToElements(ctx, list, std::move(shape)));
  }
  if (const std::optional<Shape> known = shape.ToShape()) return *known;
  return absl::InvalidArgumentError(absl::StrCat(
      "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
      "element_shape: ",
      shape.ToString()));
}

struct StackAttrs {
  explicit StackAttrs(const Node& node) : num_elements(NodeAttr<int64_t>(node, "num_elements")) {}
  int64_t num_elements;
};

absl::Status Stack(KernelContext& ctx, const StackAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  const int64_t n = list->size();
  if (attrs.num_elements != -1 && attrs.num_elements != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("Operation expected a list with ", attrs.num_elements,
                     " elements but got a list with ", n, " elements."));
  }
  GYRE_ASSIGN_OR_RETURN(PartialShape known, ElementShapeInput(ctx, 1, *list));
  GYRE_ASSIGN_OR_RETURN(const Shape element, CommonShape(ctx, *list, std::move(known), n));
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfRows(n, element));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(list->dtype(), shape));
  if (shape.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(CopyItems(
        ctx, n, [&](int64_t k) { return list->elements.PeekRun(k); },
        [&](int64_t) { return element.num_elements(); }, result));
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status CheckIndices(absl::Span<const int32_t> indices, int64_t size) {
  for (const int32_t i : indices) {
    if (i < 0 || i >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("Trying to gather element ", i, " in a list with ", size, " elements."));
    }
  }
  return absl::OkStatus();
}

// The shape of the elements that `indices` name, given what is known of it.
absl::StatusOr<Shape> GatheredShape(const TensorList& list, absl::Span<const int32_t> indices,
                                    PartialShape shape) {
  if (!shape.IsFullyKnown() && indices.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Tried to gather 0-elements from a list with non-fully-defined shape: ", shape.ToString()));
  }
  for (size_t k = 0; k < indices.size(); ++k) {
    const ChunkedVector::Item item = list.elements.Peek(indices[k]);
    if (item.data == nullptr) continue;
    absl::StatusOr<PartialShape> both = shape.Intersect(*item.shape);
    if (!both.ok()) {
      return MergeError(shape, *item.shape, absl::StrCat("element ", indices[k]));
    }
    shape = *std::move(both);
  }
  if (const std::optional<Shape> known = shape.ToShape()) return *known;
  return absl::InvalidArgumentError(absl::StrCat(
      "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: ",
      shape.ToString()));
}

absl::Status Gather(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  const Tensor& input = ctx.input(1);
  if (input.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected indices to be a vector, but received shape: ", input.shape().ToString()));
  }
  const absl::Span<const int32_t> indices = input.values<int32_t>();
  GYRE_RETURN_IF_ERROR(CheckIndices(indices, list->size()));
  GYRE_ASSIGN_OR_RETURN(PartialShape known, ElementShapeInput(ctx, 2, *list));
  GYRE_ASSIGN_OR_RETURN(const Shape element, GatheredShape(*list, indices, std::move(known)));
  const int64_t n = input.num_elements();
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfRows(n, element));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(list->dtype(), shape));
  GYRE_RETURN_IF_ERROR(CopyItems(
      ctx, n, [&](int64_t k) { return list->elements.Peek(indices[static_cast<size_t>(k)]); },
      [&](int64_t) { return element.num_elements(); }, result));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// What joining the elements along dimension 0 comes to.
struct Joined {
  Shape shape;
  Tensor lengths;  // int64: rows of each element
};

// The rows that an element has by what is known of its shape, or else as all that are initialised
// have; -1 if that says nothing.
absl::StatusOr<int64_t> CommonRows(const KernelContext& ctx, const TensorList& list,
                                   const PartialShape& known) {
  if (known.has_rank() && known.dim(0) >= 0) return known.dim(0);
  int64_t rows = -1;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const ChunkedVector::Item item = list.elements.Peek(i);
    if (item.data == nullptr || item.shape->rank() == 0) continue;
    if (rows >= 0 && rows != item.shape->dim(0)) return -1;
    rows = item.shape->dim(0);
  }
  return rows;
}

// Rows of an element: its own, or for one that is uninitialised what `leading_dims` says, or else
// `common`.
absl::StatusOr<int64_t> RowsOf(const ChunkedVector::Item& item, int64_t i,
                               absl::Span<const int64_t> leading_dims, int64_t common) {
  if (item.data != nullptr) {
    if (item.shape->rank() > 0) return item.shape->dim(0);
    return absl::InvalidArgumentError(
        absl::StrCat("Concat saw a scalar shape at index ", i, " but requires at least vectors."));
  }
  if (i < static_cast<int64_t>(leading_dims.size())) {
    if (leading_dims[static_cast<size_t>(i)] >= 0) return leading_dims[static_cast<size_t>(i)];
    return absl::InvalidArgumentError(absl::StrCat("leading_dims[", i, "] is negative"));
  }
  if (common >= 0) return common;
  return absl::InvalidArgumentError(absl::StrCat("List contains uninitialized tensor at index ", i,
                                                 " but leading_dims has only ", leading_dims.size(),
                                                 " elements."));
}

// `known`: what the op and the list say of an element's shape.
absl::StatusOr<Joined> JoinedShape(const KernelContext& ctx, const TensorList& list,
                                   const PartialShape& known,
                                   absl::Span<const int64_t> leading_dims) {
  if (known.has_rank() && known.rank() == 0) {
    return absl::InvalidArgumentError(
        "Concat requires elements to be at least vectors, found scalars instead.");
  }
  PartialShape rest;
  if (known.has_rank()) rest = PartialShape(Dims(known.dims().begin() + 1, known.dims().end()));
  GYRE_ASSIGN_OR_RETURN(const int64_t common, CommonRows(ctx, list, known));
  std::vector<int64_t> lengths;
  int64_t rows = 0;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const ChunkedVector::Item item = list.elements.Peek(i);
    GYRE_ASSIGN_OR_RETURN(lengths.emplace_back(), RowsOf(item, i, leading_dims, common));
    const std::optional<int64_t> sum = CheckedAdd(rows, lengths.back());
    if (!sum) return absl::InvalidArgumentError("the elements have more rows than an int64 counts");
    rows = *sum;
    if (item.data == nullptr) continue;
    const PartialShape row(Dims(item.shape->dims().begin() + 1, item.shape->dims().end()));
    absl::StatusOr<PartialShape> both = rest.Intersect(row);
    if (!both.ok()) {
      return MergeError(rest, row, absl::StrCat("element ", i, " behind its first dimension"));
    }
    rest = *std::move(both);
  }
  const std::optional<Shape> row = rest.ToShape();
  if (!row) {
    return absl::InvalidArgumentError(
        absl::StrCat("All except the first dimension must be fully defined when concating an empty "
                     "tensor list or one "
                     "of uninitialized tensors only. element_shape: ",
                     known.ToString()));
  }
  Joined joined;
  GYRE_ASSIGN_OR_RETURN(joined.shape, ShapeOfRows(rows, *row));
  GYRE_ASSIGN_OR_RETURN(joined.lengths, ctx.Allocate(DType::kInt64, Shape::Vector(list.size())));
  std::copy(lengths.begin(), lengths.end(), joined.lengths.mutable_values<int64_t>().begin());
  return joined;
}

absl::Status ConcatElements(KernelContext& ctx, const TensorList& list, const PartialShape& asked,
                            absl::Span<const int64_t> leading_dims) {
  const absl::StatusOr<PartialShape> known = asked.Intersect(list.element_shape);
  if (!known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Incompatible shapes during merge: element_shape is ", asked.ToString(),
                     ", but the list's elements have shape ", list.element_shape.ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Joined joined, JoinedShape(ctx, list, *known, leading_dims));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(list.dtype(), joined.shape));
  if (result.num_elements() > 0) {
    const int64_t row = result.num_elements() / result.dim(0);
    const absl::Span<const int64_t> lengths = joined.lengths.values<int64_t>();
    GYRE_RETURN_IF_ERROR(CopyItems(
        ctx, list.size(), [&](int64_t k) { return list.elements.PeekRun(k); },
        [&](int64_t k) { return lengths[static_cast<size_t>(k)] * row; }, result));
  }
  ctx.set_output(0, std::move(result));
  ctx.set_output(1, std::move(joined.lengths));
  return absl::OkStatus();
}

struct ConcatAttrs {
  explicit ConcatAttrs(const Node& node)
      : element_shape(NodeAttr<PartialShape>(node, "element_shape")) {}
  PartialShape element_shape;
};

absl::Status Concat(KernelContext& ctx, const ConcatAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  return ConcatElements(ctx, *list, attrs.element_shape, {});
}

absl::Status ConcatV2(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape asked, PartialShapeInput(ctx, 1, "element_shape"));
  if (ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected leading_dims to be a vector, but received shape: ",
                     ctx.input(2).shape().ToString()));
  }
  return ConcatElements(ctx, *list, asked, ctx.input(2).values<int64_t>());
}

absl::Status StackShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, AskedElementShape(c, 1, c.output_dtype(0)));
  const int64_t n = c.attrs().GetOr<int64_t>("num_elements", -1);
  c.set_output(0, RowsShape(n < 0 ? -1 : n, element));
  return absl::OkStatus();
}

absl::Status GatherShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, AskedElementShape(c, 2, c.output_dtype(0)));
  c.set_output(0, RowsShape(c.input(1).has_rank() ? c.input(1).dim(0) : -1, element));
  return absl::OkStatus();
}

absl::Status SetConcatShape(ShapeContext& c, const PartialShape& asked) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_ASSIGN_OR_RETURN(const PartialShape known, KnownElementShape(c, 0, c.output_dtype(0)));
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, known.Intersect(asked));
  c.set_output(1, PartialShape::UnknownOfRank(1));
  if (!element.has_rank()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const PartialShape row, RowShape(element));
  c.set_output(0, RowsShape(-1, row));
  return absl::OkStatus();
}

absl::Status ConcatShape(ShapeContext& c) {
  return SetConcatShape(c, c.attrs().GetOr<PartialShape>("element_shape", PartialShape::Unknown()));
}

absl::Status ConcatV2Shape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_ASSIGN_OR_RETURN(const PartialShape asked, c.InputAsShape(1));
  return SetConcatShape(c, asked);
}

void StackGradient(GradientContext& g) {
  g.Add(0, g.op("TensorListFromTensor", {g.grad(), g.builder().Int(-1)}));
}

void ConcatGradient(GradientContext& g) {
  g.Add(0, g.op("TensorListSplit", {g.grad(), g.builder().Int(-1), g.output(1)}));
}

absl::Status StackListBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  const Expr stack = c.op("TensorListStack", {c.input(0), list_batch::ElementShape(c, 1)},
                          {{"element_dtype", c.node().signature.outputs[0].dtype},
                           {"num_elements", c.attr<int64_t>("num_elements", -1)}});
  c.Set(0, batch::FirstAxesSwapped(stack, batch::RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

absl::Status GatherListBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedTensors(c));
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  const Expr elements =
      c.op("TensorListGather", {c.input(0), c.input(1), list_batch::ElementShape(c, 2)},
           {{"element_dtype", c.node().signature.outputs[0].dtype}});
  c.Set(0, batch::FirstAxesSwapped(elements, batch::RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

}  // namespace

void RegisterListJoin(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "TensorListStack(input_handle: variant, element_shape: int32) -> tensor: element_dtype "
           "{element_dtype: type; num_elements: int = -1}",
       .doc = "The list's elements as the rows of one tensor; uninitialised ones are zeros.",
       .shape = StackShape,
       .gradient = {StackGradient},
       .batch = {.rule = StackListBatch, .knows_lists = true},
       .kernel = Compute<Stack>()});
  ops.Add({.schema = "TensorListGather(input_handle: variant, indices: int32, element_shape: "
                     "int32) -> values: "
                     "element_dtype {element_dtype: type}",
           .doc = "The list's elements at `indices` as the rows of one tensor; uninitialised ones "
                  "are zeros.",
           .shape = GatherShape,
           .gradient = {[](GradientContext& g) { AddToElements(g, 0, 1); }},
           .batch = {.rule = GatherListBatch, .knows_lists = true},
           .kernel = Compute<Gather>()});
  ops.Add({.schema =
               "TensorListConcat(input_handle: variant) -> tensor: element_dtype, lengths: int64 "
               "{element_dtype: type; element_shape: shape = ?}",
           .doc = "The list's elements joined along dimension 0, and how many rows each has.",
           .shape = ConcatShape,
           .gradient = {ConcatGradient},
           .kernel = Compute<Concat>()});
  ops.Add({.schema =
               "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: "
               "int64) -> "
               "tensor: element_dtype, lengths: int64 {element_dtype: type; shape_type: indextype}",
           .doc = "The list's elements joined along dimension 0, where uninitialised ones are "
                  "`leading_dims` rows of "
                  "zeros, and how many rows each has.",
           .shape = ConcatV2Shape,
           .gradient = {ConcatGradient},
           .kernel = Compute<ConcatV2>()});
}

}  // namespace gyre

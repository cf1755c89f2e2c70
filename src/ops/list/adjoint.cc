// _TensorListAddAt, _TensorListClearAt, _TensorListItemsOrZeros, _TensorListSum: gradients of lists
// and of arrays, in which an element that is not there is zero.
#include <algorithm>

#include "ops/array/layout.h"
#include "ops/list/list_batch.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_ops.h"
#include "ops/list/list_rules.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Adds `value` to one element, in place where nobody else sees that. Requirement, not checked: the
// list is that long and may have the value as its element.
absl::Status AddToElement(KernelContext& ctx, TensorList& list, int64_t index, Tensor value) {
  ChunkedVector& elements = list.elements;
  if (!IsTrivial(value.dtype())) {
    const NestingGuard guard;  // elements that are lists lie within one
    GYRE_ASSIGN_OR_RETURN(const Tensor sum, elements.Get(index, ctx.alloc()));
    if (sum.has_value()) {
      GYRE_ASSIGN_OR_RETURN(value, AddTensors(ctx, sum, value));
    }
    return elements.Set(index, std::move(value), ctx.alloc());
  }
  GYRE_ASSIGN_OR_RETURN(const ChunkedVector::Place sum, elements.Open(index, ctx.alloc()));
  if (sum.shape == nullptr) return elements.Set(index, std::move(value), ctx.alloc());
  if (*sum.shape != value.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a tensor of shape ", value.shape().ToString(), " to element ",
                     index, " of the list, which has shape ", sum.shape->ToString()));
  }
  return AddInto(ctx, value, sum.data);
}

// The scalar or vector of indices in input 1, none negative.
absl::StatusOr<absl::Span<const int32_t>> IndicesInput(const KernelContext& ctx) {
  const Tensor& indices = ctx.input(1);
  if (indices.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices must be a scalar or a vector, but have shape ", indices.shape().ToString()));
  }
  const absl::Span<const int32_t> values = indices.values<int32_t>();
  for (const int32_t i : values) {
    if (i < 0) return absl::InvalidArgumentError(absl::StrCat("index ", i, " is negative"));
  }
  return values;
}

// The shape of one element, where `shape` is that of all that the indices name.
absl::StatusOr<Shape> ElementShape(const Tensor& indices, const Shape& shape) {
  if (indices.rank() == 0) return shape;
  GYRE_ASSIGN_OR_RETURN(const Shape element, ElementShapeOfRows(shape));
  if (shape.dim(0) == indices.num_elements()) return element;
  return absl::InvalidArgumentError(absl::StrCat(
      "there are ", indices.num_elements(), " indices for values of shape ", shape.ToString()));
}

absl::Status GrowFor(const KernelContext& ctx, absl::Span<const int32_t> indices,
                     TensorList& list) {
  const int64_t size = int64_t{*std::max_element(indices.begin(), indices.end())} + 1;
  if (size <= list.size()) return absl::OkStatus();
  if ((list.max_size >= 0 && size > list.max_size) || size > TensorList::kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("index ", size - 1, " is too large for a list of at most ",
                     list.max_size >= 0 ? list.max_size : TensorList::kMaxSize, " elements"));
  }
  return list.elements.Resize(size, ctx.alloc());
}

absl::Status AddAt(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(ListInput(ctx, 0, ctx.input_dtype(2)).status());
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, IndicesInput(ctx));
  GYRE_ASSIGN_OR_RETURN(const Shape element, ElementShape(ctx.input(1), ctx.input(2).shape()));
  RefPtr<TensorList> list = TakeList(ctx, 0);
  Tensor values = ctx.TakeInput(2);
  GYRE_RETURN_IF_ERROR(CheckElement(*list, values.dtype(), element, "add"));
  if (!indices.empty()) GYRE_RETURN_IF_ERROR(GrowFor(ctx, indices, *list));
  if (ctx.input(1).rank() == 0) {
    GYRE_RETURN_IF_ERROR(AddToElement(ctx, *list, indices[0], std::move(values)));
  } else {
    for (size_t k = 0; k < indices.size(); ++k) {
      if (k % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
      GYRE_ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, values, static_cast<int64_t>(k), 1, element));
      GYRE_RETURN_IF_ERROR(AddToElement(ctx, *list, indices[k], std::move(row)));
    }
  }
  ctx.set_output(0, ListTensor(std::move(list)));
  return absl::OkStatus();
}

// Element `i` if it is there. INVALID_ARGUMENT when it has another shape.
absl::StatusOr<ChunkedVector::Item> ItemOfShape(const TensorList& list, int64_t i,
                                                const Shape& shape) {
  if (i >= list.size()) return ChunkedVector::Item();
  const ChunkedVector::Item item = list.elements.Peek(i);
  if (item.shape == nullptr || *item.shape == shape) return item;
  return absl::InvalidArgumentError(absl::StrCat("element ", i, " of the list has shape ",
                                                 item.shape->ToString(), " instead of ",
                                                 shape.ToString()));
}

absl::Status ItemsOrZeros(KernelContext& ctx) {
  const DType dtype = ctx.output_dtype(0);
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, dtype));
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, IndicesInput(ctx));
  if (ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("dims must be a vector, but have shape ", ctx.input(2).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(2, "dims"));
  GYRE_ASSIGN_OR_RETURN(const Shape element, ElementShape(ctx.input(1), shape));
  bool is_zero = true;
  for (const int32_t i : indices) {
    GYRE_ASSIGN_OR_RETURN(const ChunkedVector::Item item, ItemOfShape(*list, i, element));
    is_zero &= item.shape == nullptr;
  }
  Tensor values;
  if (is_zero) {
    GYRE_ASSIGN_OR_RETURN(values, ctx.AllocateZeros(dtype, shape));
  } else if (ctx.input(1).rank() == 0) {
    GYRE_ASSIGN_OR_RETURN(values, list->elements.Get(indices[0], ctx.alloc()));
  } else {
    GYRE_ASSIGN_OR_RETURN(values, ctx.Allocate(dtype, shape));
    const auto item = [&](int64_t k) {
      const int64_t i = indices[static_cast<size_t>(k)];
      return i < list->size() ? list->elements.Peek(i) : ChunkedVector::Item();
    };
    GYRE_RETURN_IF_ERROR(CopyItems(
        ctx, static_cast<int64_t>(indices.size()), item,
        [&](int64_t) { return element.num_elements(); }, values));
  }
  ctx.set_output(0, std::move(values));
  return absl::OkStatus();
}

// Whether `a` has no more elements than `b`. Takes as long as one of them is long.
bool HasNoMore(const ChunkedVector& a, const ChunkedVector& b) {
  int64_t i = a.NextStored(0), j = b.NextStored(0);
  while (i < a.size() && j < b.size()) {
    i = a.NextStored(i + 1);
    j = b.NextStored(j + 1);
  }
  return i >= a.size();
}

// The elements of the list that has fewer of them are added to the other's.
absl::StatusOr<RefPtr<TensorList>> SumOf(KernelContext& ctx, RefPtr<TensorList> a,
                                         RefPtr<TensorList> b) {
  if (a->dtype() != b->dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot add a list of ", DTypeName(a->dtype()),
                                                   " and one of ", DTypeName(b->dtype())));
  }
  if (HasNoMore(a->elements, b->elements)) std::swap(a, b);
  RefPtr<TensorList> sum = a->IsUnique() ? std::move(a) : a->Copy();
  const ChunkedVector& more = b->elements;
  if (more.size() > sum->size())
    GYRE_RETURN_IF_ERROR(sum->elements.Resize(more.size(), ctx.alloc()));
  for (int64_t i = more.NextStored(0); i < more.size(); i = more.NextStored(i + 1)) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(Tensor value, more.Get(i, ctx.alloc()));
    GYRE_RETURN_IF_ERROR(CheckElement(*sum, value.dtype(), value.shape(), "add"));
    GYRE_RETURN_IF_ERROR(AddToElement(ctx, *sum, i, std::move(value)));
  }
  return sum;
}

absl::Status SumLists(KernelContext& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(ListInput(ctx, i).status());
  RefPtr<TensorList> sum = ctx.TakeInput(0).TakeObject<TensorList>();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(sum,
                          SumOf(ctx, std::move(sum), ctx.TakeInput(i).TakeObject<TensorList>()));
  }
  ctx.set_output(0, ListTensor(std::move(sum)));
  return absl::OkStatus();
}

absl::Status AddAtShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_ASSIGN_OR_RETURN(const PartialShape known, KnownElementShape(c, 0, c.input_dtype(2)));
  if (c.input(1).has_rank()) {
    if (c.input(1).rank() > 1) GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
    PartialShape element = c.input(2);
    if (c.input(1).rank() == 1) {
      GYRE_ASSIGN_OR_RETURN(element, RowShape(c.input(2)));
    }
    GYRE_RETURN_IF_ERROR(known.Intersect(element).status());
  }
  c.set_output(0, PartialShape::Scalar());
  c.set_output_handle(0, {c.input_dtype(2), known});
  return absl::OkStatus();
}

absl::Status ItemsShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  GYRE_RETURN_IF_ERROR(KnownElementShape(c, 0, c.output_dtype(0)).status());
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(2));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Nothing is known to depend on these elements: what is behind the list's end is not there anyway.
absl::Status ClearAt(KernelContext& ctx) {
  GYRE_RETURN_IF_ERROR(ListInput(ctx, 0).status());
  GYRE_ASSIGN_OR_RETURN(const absl::Span<const int32_t> indices, IndicesInput(ctx));
  const RefPtr<TensorList> list = TakeList(ctx, 0);
  for (size_t k = 0; k < indices.size(); ++k) {
    if (k % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (indices[k] < list->size())
      GYRE_RETURN_IF_ERROR(list->elements.Clear(indices[k], ctx.alloc()));
  }
  ctx.set_output(0, ListTensor(list));
  return absl::OkStatus();
}

absl::Status ClearAtShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  c.set_output(0, PartialShape::Scalar());
  if (c.input_handle(0)) c.set_output_handle(0, *c.input_handle(0));
  return absl::OkStatus();
}

absl::Status SumShape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  c.set_output(0, PartialShape::Scalar());
  if (c.input_handle(0)) c.set_output_handle(0, {c.input_handle(0)->dtype, PartialShape()});
  return absl::OkStatus();
}

void AddAtGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, ResizedLike(g, g.grad(), 0));
  AddElementsOrZeros(g, 2, 1);
}

void SumGradient(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.wants(i)) g.Add(i, ResizedLike(g, g.grad(), i));
  }
}

// What is added to elements: to one, or to several, whose rows go in front.
absl::Status AddAtBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(list_batch::NeedElements(c));
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  if (c.input_dtype(2) == DType::kVariant) {
    if (c.rows_of(2) != Rows::kElements) return batch::Refuse("a list for all rows is added to it");
    return c.Emit({c.input(0), c.input(1), c.input(2)}, {}, {Rows::kElements});
  }
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  const Expr values = c.stacked(2);
  return c.Emit(
      {c.input(0), c.input(1),
       rank == 0 ? values : batch::FirstAxesSwapped(values, batch::RankWithRows(c.row_shape(2)))},
      {}, {Rows::kElements});
}

absl::Status ClearAtBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.input(1)}, {}, {Rows::kElements});
}

absl::Status ItemsOrZerosBatch(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  if (c.node().signature.outputs[0].dtype == DType::kVariant)
    return batch::Refuse("it is a list of lists");
  GYRE_ASSIGN_OR_RETURN(const int rank, c.NeedRank(1));
  if (rank == 0) return c.Emit({c.input(0), c.input(1), c.with_rows(c.input(2))});
  const Expr count = c.op("Size", {c.input(1)});
  const Expr dims = batch::Joined(
      {c.op("ExpandDims", {count, c.builder().Int(0)}), c.with_rows(batch::Behind(c.input(2)))});
  const Expr items = c.op("_TensorListItemsOrZeros", {c.input(0), c.input(1), dims},
                          {{"T", c.node().signature.outputs[0].dtype}});
  c.Set(0, batch::FirstAxesSwapped(items, batch::RankWithRows(c.output_row_shape(0))));
  return absl::OkStatus();
}

absl::Status SumOfListsBatch(BatchContext& c) {
  std::vector<Expr> lists;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.rows_of(i) != Rows::kElements) return batch::Refuse("a list for all rows is added to it");
    lists.push_back(c.input(i));
  }
  return c.Emit(lists, {}, {Rows::kElements});
}

}  // namespace

void RegisterListAdjoint(OpRegistry& ops) {
  ops.Add({.schema =
               "_TensorListAddAt(list: variant, indices: int32, values: T) -> output: variant "
               "{T: {bfloat16, half, float, double, complex64, complex128, int8, uint8, "
               "int16, uint16, int32, uint32, int64, uint64, variant}}",
           .doc = "The list with `values`, or rows of it, added to the elements at `indices`, a "
                  "scalar or a vector; elements that are not there are zero.",
           .shape = AddAtShape,
           .gradient = {AddAtGradient},
           .batch = {.rule = AddAtBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = Compute<AddAt>()});
  ops.Add({.schema = "_TensorListClearAt(list: variant, indices: int32) -> output: variant",
           .doc = "The list without its elements at `indices`, a scalar or a vector: it stays as "
                  "long, and they are not there.",
           .shape = ClearAtShape,
           .gradient = {[](GradientContext& g) {
             g.Add(0, g.op("_TensorListClearAt", {g.grad(), g.input(1)}));
           }},
           .batch = {.rule = ClearAtBatch, .knows_lists = true},
           .kinds = kinds::List,
           .kernel = Compute<ClearAt>()});
  ops.Add({.schema = "_TensorListItemsOrZeros(list: variant, indices: int32, dims: int32) -> "
                     "values: T {T: type}",
           .doc = "The list's elements at `indices`, a scalar or a vector, as one tensor of shape "
                  "`dims`; elements that are not there are zero.",
           .shape = ItemsShape,
           .gradient = {[](GradientContext& g) { AddToElements(g, 0, 1); }},
           .batch = {.rule = ItemsOrZerosBatch, .knows_lists = true},
           .kinds = kinds::Plain,
           .kernel = Compute<ItemsOrZeros>()});
  ops.Add({.schema = "_TensorListSum(lists: N * variant) -> sum: variant {N: int >= 1}",
           .doc = "The lists added element by element, as long as the longest; elements that are "
                  "not there are zero.",
           .shape = SumShape,
           .gradient = {SumGradient},
           .batch = {.rule = SumOfListsBatch, .knows_lists = true},
           .kernel = Compute<SumLists>()});
}

}  // namespace gyre

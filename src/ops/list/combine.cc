// TensorListConcatLists, TensorListPushBackBatch: tensors of lists, list by list.
#include <algorithm>

#include "ops/array/layout.h"
#include "ops/list/list_kinds.h"
#include "ops/list/list_ops.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct DTypeAttrs {
  explicit DTypeAttrs(const Node& node) : dtype(NodeAttr<DType>(node, "element_dtype")) {}
  DType dtype;
};

// The list in element i of input `input`, which is any tensor of variants.
absl::StatusOr<const TensorList*> ListElement(const KernelContext& ctx, int input, size_t i,
                                              DType dtype) {
  const auto* list =
      dynamic_cast<const TensorList*>(ctx.input(input).values<RefPtr<Object>>()[i].get());
  if (list == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input ", input, " has no TensorList at position ", i));
  }
  if (list->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid data types; op elements ",
                                                   DTypeName(dtype), " but list elements ",
                                                   DTypeName(list->dtype())));
  }
  return list;
}

absl::StatusOr<RefPtr<Object>> Concatenation(const KernelContext& ctx, const TensorList& a,
                                             const TensorList& b) {
  if (a.element_shape != b.element_shape) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_a and input_b TensorList element shapes are not identical. Saw ",
                     a.element_shape.ToString(), " vs. ", b.element_shape.ToString()));
  }
  if (a.size() + b.size() > TensorList::kMaxSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a list holds at most ", TensorList::kMaxSize, " elements"));
  }
  RefPtr<TensorList> result = a.Copy();
  const int64_t offset = a.size();
  GYRE_RETURN_IF_ERROR(result->elements.Resize(offset + b.size(), ctx.alloc()));
  for (int64_t i = b.elements.NextStored(0); i < b.size(); i = b.elements.NextStored(i + 1)) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(Tensor element, b.elements.Get(i, ctx.alloc()));
    GYRE_RETURN_IF_ERROR(result->elements.Set(offset + i, std::move(element), ctx.alloc()));
  }
  return RefPtr<Object>(std::move(result));
}

absl::Status ConcatLists(KernelContext& ctx, const DTypeAttrs& attrs) {
  const Shape& shape = ctx.input(0).shape();
  if (shape != ctx.input(1).shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_a and input_b must have the same shape: ", shape.ToString(), " vs. ",
                     ctx.input(1).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(DType::kVariant, shape));
  for (size_t i = 0; i < static_cast<size_t>(shape.num_elements()); ++i) {
    GYRE_ASSIGN_OR_RETURN(const TensorList* a, ListElement(ctx, 0, i, attrs.dtype));
    GYRE_ASSIGN_OR_RETURN(const TensorList* b, ListElement(ctx, 1, i, attrs.dtype));
    GYRE_ASSIGN_OR_RETURN(result.mutable_values<RefPtr<Object>>()[i], Concatenation(ctx, *a, *b));
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// The dimensions of `values` behind those of the batch of lists.
absl::StatusOr<Shape> BatchElementShape(const Shape& batch, const Shape& values) {
  const bool fits = values.rank() >= batch.rank() &&
                    std::equal(batch.dims().begin(), batch.dims().end(), values.dims().begin());
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected tensor's shape to start with that of input_handles, but saw ",
                     values.ToString(), " and ", batch.ToString()));
  }
  return Shape::Make(values.dims().subspan(static_cast<size_t>(batch.rank())));
}

absl::Status PushBackBatch(KernelContext& ctx, const DTypeAttrs& attrs) {
  const Shape& batch = ctx.input(0).shape();
  GYRE_ASSIGN_OR_RETURN(const Shape element, BatchElementShape(batch, ctx.input(1).shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor result, ctx.Allocate(DType::kVariant, batch));
  // One row per list.
  GYRE_ASSIGN_OR_RETURN(const Shape rows_shape, ShapeOfRows(batch.num_elements(), element));
  const Tensor rows = ctx.input(1).Reshaped(rows_shape);
  for (int64_t i = 0; i < batch.num_elements(); ++i) {
    const size_t k = static_cast<size_t>(i);
    GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListElement(ctx, 0, k, attrs.dtype));
    GYRE_RETURN_IF_ERROR(CheckElement(*list, attrs.dtype, element, "append"));
    if ((list->max_size >= 0 && list->size() >= list->max_size) ||
        list->size() >= TensorList::kMaxSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tried to push item into a full list list size: ", list->size(),
                       " max_num_elements: ", list->max_size));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, rows, i, 1, element));
    RefPtr<TensorList> longer = list->Copy();
    GYRE_RETURN_IF_ERROR(longer->elements.Append(std::move(row), ctx.alloc()));
    result.mutable_values<RefPtr<Object>>()[k] = std::move(longer);
  }
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status ConcatListsShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.input(0).Intersect(c.input(1)));
  c.set_output(0, std::move(shape));
  const DType dtype = c.attrs().GetOr<DType>("element_dtype", DType::kInvalid);
  GYRE_ASSIGN_OR_RETURN(const PartialShape a, KnownElementShape(c, 0, dtype));
  GYRE_ASSIGN_OR_RETURN(const PartialShape b, KnownElementShape(c, 1, dtype));
  GYRE_ASSIGN_OR_RETURN(PartialShape element, a.Intersect(b));
  c.set_output_handle(0, {dtype, std::move(element)});
  return absl::OkStatus();
}

absl::Status PushBackBatchShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape element, KnownElementShape(c, 0, c.input_dtype(1)));
  c.set_output(0, c.input(0));
  c.set_output_handle(0, {c.input_dtype(1), element});
  if (!c.input(0).has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  const int batch = c.input(0).rank();
  if (c.input(1).rank() < batch) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor must have at least the rank of input_handles, but their "
                     "shapes are ",
                     c.input(1).ToString(), " and ", c.input(0).ToString()));
  }
  const absl::Span<const int64_t> dims = c.input(1).dims();
  GYRE_RETURN_IF_ERROR(
      c.input(0).Intersect(PartialShape(Dims(dims.begin(), dims.begin() + batch))).status());
  return element.Intersect(PartialShape(Dims(dims.begin() + batch, dims.end()))).status();
}

}  // namespace

void RegisterListCombine(OpRegistry& ops) {
  ops.Add(
      {.schema = "TensorListConcatLists(input_a: variant, input_b: variant) -> output: variant "
                 "{element_dtype: "
                 "type}",
       .doc = "For each pair of lists, the elements of the first followed by those of the second.",
       .shape = ConcatListsShape,
       .gradient = RefusesGradient("append the elements one by one, with TensorListPushBack"),
       .kernel = Compute<ConcatLists>()});
  ops.Add({.schema = "TensorListPushBackBatch(input_handles: variant, tensor: element_dtype) -> "
                     "output_handles: "
                     "variant {element_dtype: type}",
           .doc = "Every list of a batch with one more element at its end, taken from `tensor`.",
           .shape = PushBackBatchShape,
           .gradient = RefusesGradient("use TensorListPushBack on each list"),
           .kinds = kinds::List,
           .kernel = Compute<PushBackBatch>()});
}

}  // namespace gyre

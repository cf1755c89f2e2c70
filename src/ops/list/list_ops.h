// What the ops on TensorLists share: getting at lists, and the rules of element types and shapes.
#pragma once

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"
#include "ops/list/tensor_list.h"

namespace gyre {

namespace internal {
absl::Status NoListError(const KernelContext& ctx, int i);
absl::Status NoScalarError(const Tensor& input, absl::string_view what);
absl::Status ElementError(const TensorList& list, DType dtype, const Shape& shape,
                          absl::string_view verb);
}  // namespace internal

// The list in input i, to be read. INVALID_ARGUMENT when there is none.
inline absl::StatusOr<const TensorList*> ListInput(const KernelContext& ctx, int i) {
  if (const auto* list = ctx.input(i).object_as<TensorList>()) [[likely]]
    return list;
  return internal::NoListError(ctx, i);
}
// The list in input i if its elements are of type `dtype`.
absl::StatusOr<const TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype);

// Input i's list, to be changed: the input itself when nobody else refers to it, else a copy.
// Requirement: ListInput(ctx, i) is OK. The input has no value afterwards.
inline RefPtr<TensorList> TakeList(KernelContext& ctx, int i) {
  RefPtr<TensorList> list = ctx.TakeInput(i).TakeObject<TensorList>();
  return list->IsUnique() ? std::move(list) : list->Copy();
}

// `list` as a scalar variant.
inline Tensor ListTensor(RefPtr<TensorList> list) {
  return Tensor::FromObject(DType::kVariant, std::move(list));
}

// Input i, dimensions of which -1 are unknown (the scalar -1: unknown rank), as a shape.
absl::StatusOr<PartialShape> PartialShapeInput(const KernelContext& ctx, int i,
                                               absl::string_view what);
// Whether an element shape is the int32 scalar -1: any.
inline bool IsAnyShape(const Tensor& shape) {
  return shape.dtype() == DType::kInt32 && shape.rank() == 0 && shape.scalar<int32_t>() == -1;
}
// Input i narrowed to what `list` says of its elements.
absl::StatusOr<PartialShape> ElementShapeInput(const KernelContext& ctx, int i,
                                               const TensorList& list);

// `shape` narrowed to the shapes of all initialised elements of `list`.
absl::StatusOr<PartialShape> NarrowToElements(const KernelContext& ctx, const TensorList& list,
                                              PartialShape shape);

// Input i, an int32 scalar.
inline absl::StatusOr<int32_t> Int32Input(const KernelContext& ctx, int i, absl::string_view what) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() == DType::kInt32 && input.rank() == 0) [[likely]]
    return input.scalar<int32_t>();
  return internal::NoScalarError(input, what);
}

// OK if a tensor of this dtype and shape may be an element of `list`; `verb` says what was tried.
inline absl::Status CheckElement(const TensorList& list, DType dtype, const Shape& shape,
                                 absl::string_view verb) {
  if (list.dtype() == dtype && list.element_shape.Allows(shape)) [[likely]]
    return absl::OkStatus();
  return internal::ElementError(list, dtype, shape, verb);
}

// That `what`, of shape `other`, does not fit what is known of the elements' shape.
absl::Status MergeError(const PartialShape& known, const PartialShape& other,
                        absl::string_view what);

// The shape of a tensor without its first dimension. INVALID_ARGUMENT for a scalar.
absl::StatusOr<Shape> ElementShapeOfRows(const Shape& rows);
// A shape with `n` in front of the dimensions of `element`.
absl::StatusOr<Shape> ShapeOfRows(int64_t n, const Shape& element);

// Makes row k of `rows` the element of `list` at indices[k], or at k, for every k. INVALID_ARGUMENT
// when the list has no such elements. Requirement, not checked: the list is that long.
absl::Status SetRows(KernelContext& ctx, const Tensor& rows, TensorList& list,
                     std::optional<absl::Span<const int32_t>> indices = std::nullopt);

// Copies the items that `item(k)` gives for k in [0, n), those of a run at once, one behind the
// other, to `result`, where an item that is not stored takes `missing(k)` elements of zero.
// Requirement, not checked: they fill the result.
absl::Status CopyItems(const KernelContext& ctx, int64_t n,
                       absl::FunctionRef<ChunkedVector::Item(int64_t k)> item,
                       absl::FunctionRef<int64_t(int64_t k)> missing, Tensor& result);

// For shape rules.

// The handle info of a list made by this node, whose element shape is input `shape_input`.
absl::StatusOr<HandleInfo> NewListInfo(const ShapeContext& c, int shape_input);
// What is known of the elements of the list at input i, which the op takes to be of type `dtype`.
// INVALID_ARGUMENT when it is known to be of another.
absl::StatusOr<PartialShape> KnownElementShape(const ShapeContext& c, int i, DType dtype);
// Input `i`, an element shape, narrowed to what is known of the list at input 0.
absl::StatusOr<PartialShape> AskedElementShape(const ShapeContext& c, int i, DType dtype);
// `element` behind a first dimension of n (-1: unknown).
PartialShape RowsShape(int64_t n, const PartialShape& element);
// `rows` without its first dimension; INVALID_ARGUMENT for a scalar.
absl::StatusOr<PartialShape> RowShape(const PartialShape& rows);

}  // namespace gyre

#include "ops/list/list_ops.h"

#include <algorithm>

#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/mover.h"

namespace gyre {
namespace {

// Elements, or runs of them, between two looks at cancellation.
constexpr int64_t kPollEvery = 1024;

}  // namespace

absl::Status internal::NoListError(const KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  const std::string found =
      input.object() != nullptr ? absl::StrCat("a ", input.object()->type_name())
      : input.rank() == 0       ? std::string("an empty variant")
                                : absl::StrCat("a tensor of shape ", input.shape().ToString());
  return absl::InvalidArgumentError(absl::StrCat("Input ", i, " is not a TensorList but ", found));
}

absl::StatusOr<const TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, i));
  if (list->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid data types; op elements ",
                                                   DTypeName(dtype), " but list elements ",
                                                   DTypeName(list->dtype())));
  }
  return list;
}

absl::StatusOr<PartialShape> PartialShapeInput(const KernelContext& ctx, int i,
                                               absl::string_view what) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ctx.IntVector(i, what));
  if (ctx.input(i).rank() == 0) {
    if (dims[0] == -1) return PartialShape::Unknown();
    return absl::InvalidArgumentError(
        absl::StrCat("The only valid scalar ", what,
                     " is the fully unknown shape specified as -1, not ", dims[0]));
  }
  if (dims.size() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", dims.size(), " dimensions, more than ", Shape::kMaxRank));
  }
  for (const int64_t d : dims) {
    if (d < -1) return absl::InvalidArgumentError(absl::StrCat(what, " has the dimension ", d));
  }
  return PartialShape(Dims(dims.begin(), dims.end()));
}

absl::StatusOr<PartialShape> ElementShapeInput(const KernelContext& ctx, int i,
                                               const TensorList& list) {
  if (IsAnyShape(ctx.input(i))) return list.element_shape;
  GYRE_ASSIGN_OR_RETURN(const PartialShape asked, PartialShapeInput(ctx, i, "element_shape"));
  absl::StatusOr<PartialShape> both = asked.Intersect(list.element_shape);
  if (both.ok()) return both;
  return MergeError(list.element_shape, asked, "element_shape");
}

absl::Status MergeError(const PartialShape& known, const PartialShape& other,
                        absl::string_view what) {
  if (known.has_rank() && other.has_rank() && known.rank() != other.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Incompatible ranks during merge: ", known.rank(), " vs. ", other.rank(),
                     " of ", what, ", which has shape ", other.ToString()));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Incompatible shapes during merge: ", known.ToString(), " vs. ",
                   other.ToString(), " of ", what));
}

absl::StatusOr<PartialShape> NarrowToElements(const KernelContext& ctx, const TensorList& list,
                                              PartialShape shape) {
  const Shape* last = nullptr;
  const ChunkedVector& elements = list.elements;
  ChunkedVector::Item item;
  int64_t until_poll = 0;
  for (int64_t i = elements.NextStored(0); i < list.size(); i = elements.NextStored(i + item.run)) {
    if (until_poll-- == 0) {
      until_poll = kPollEvery;
      GYRE_RETURN_IF_ERROR(ctx.Poll());
    }
    item = elements.PeekRun(i);
    if (last != nullptr && *last == *item.shape) continue;
    last = item.shape;
    absl::StatusOr<PartialShape> both = shape.Intersect(*item.shape);
    if (!both.ok()) {
      return MergeError(shape, *item.shape, absl::StrCat("element ", i));
    }
    shape = *std::move(both);
  }
  return shape;
}

absl::Status internal::NoScalarError(const Tensor& input, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be a scalar, but it has shape ", input.shape().ToString()));
}

absl::Status internal::ElementError(const TensorList& list, DType dtype, const Shape& shape,
                                    absl::string_view verb) {
  if (list.dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid data types; list elements ",
                                                   DTypeName(list.dtype()), " but tried to ", verb,
                                                   " ", DTypeName(dtype)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "Tried to ", verb, " a tensor with incompatible shape to a list. Op element shape: ",
      shape.ToString(), " list shape: ", list.element_shape.ToString()));
}

absl::StatusOr<Shape> ElementShapeOfRows(const Shape& rows) {
  if (rows.rank() == 0) {
    return absl::InvalidArgumentError("Tensor must be at least a vector, but saw shape: []");
  }
  return Shape::Make(rows.dims().subspan(1));
}

absl::StatusOr<Shape> ShapeOfRows(int64_t n, const Shape& element) {
  Dims dims{n};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  return Shape::Make(dims);
}

absl::Status SetRows(KernelContext& ctx, const Tensor& rows, TensorList& list,
                     std::optional<absl::Span<const int32_t>> indices) {
  GYRE_ASSIGN_OR_RETURN(const Shape element, ElementShapeOfRows(rows.shape()));
  if (!list.element_shape.Allows(element)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Specified a list with shape ", list.element_shape.ToString(),
                     " from a tensor with shape ", element.ToString()));
  }
  const int64_t n = rows.dim(0);
  const auto index_of = [&](int64_t k) {
    return indices ? int64_t{(*indices)[static_cast<size_t>(k)]} : k;
  };
  const size_t bytes = n == 0 ? 0 : rows.bytes() / static_cast<size_t>(n);
  const bool is_packed = IsTrivial(rows.dtype()) && ChunkedVector::IsPacked(bytes);
  const int64_t step = is_packed && !indices ? kPollEvery : 1;
  for (int64_t k = 0; k < n; k += step) {
    if (k % kPollEvery == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (is_packed) {
      const char* const data =
          static_cast<const char*>(rows.raw_data()) + static_cast<size_t>(k) * bytes;
      GYRE_RETURN_IF_ERROR(
          list.elements.SetRun(index_of(k), std::min(step, n - k), element, data, ctx.alloc()));
    } else {
      GYRE_ASSIGN_OR_RETURN(Tensor row, TakeRows(ctx, rows, k, 1, element));
      GYRE_RETURN_IF_ERROR(list.elements.Set(index_of(k), std::move(row), ctx.alloc()));
    }
  }
  return absl::OkStatus();
}

absl::Status CopyItems(const KernelContext& ctx, int64_t n,
                       absl::FunctionRef<ChunkedVector::Item(int64_t k)> item,
                       absl::FunctionRef<int64_t(int64_t k)> missing, Tensor& result) {
  return VisitElement(result.dtype(), [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    T* to = result.mutable_values<T>().data();
    Mover<T> mover(ctx, result);
    int64_t run = 0, next_poll = 0;
    for (int64_t k = 0; k < n; k += run) {
      if (k >= next_poll) {
        next_poll = k + kPollEvery;
        GYRE_RETURN_IF_ERROR(ctx.Poll());
      }
      const ChunkedVector::Item from = item(k);
      run = from.run;
      const int64_t count = from.data == nullptr ? missing(k) : from.shape->num_elements() * run;
      if (from.data == nullptr) {
        std::fill_n(to, count, T());
      } else if (count == 1) {  // most often: no call for it
        mover.Set(*to, *static_cast<const T*>(from.data));
      } else {
        mover.Copy(static_cast<const T*>(from.data), count, to);
      }
      to += count;
    }
    return mover.status();
  });
}

absl::StatusOr<HandleInfo> NewListInfo(const ShapeContext& c, int shape_input) {
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(shape_input));
  return HandleInfo{c.attrs().GetOr<DType>("element_dtype", DType::kInvalid), std::move(shape)};
}

absl::StatusOr<PartialShape> KnownElementShape(const ShapeContext& c, int i, DType dtype) {
  const std::optional<HandleInfo>& handle = c.input_handle(i);
  if (!handle) return PartialShape::Unknown();
  if (handle->dtype != DType::kInvalid && dtype != DType::kInvalid && handle->dtype != dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the list's elements are of type ", DTypeName(handle->dtype), ", not ", DTypeName(dtype)));
  }
  return handle->shape;
}

absl::StatusOr<PartialShape> AskedElementShape(const ShapeContext& c, int i, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(const PartialShape known, KnownElementShape(c, 0, dtype));
  GYRE_ASSIGN_OR_RETURN(const PartialShape asked, c.InputAsShape(i));
  return known.Intersect(asked);
}

PartialShape RowsShape(int64_t n, const PartialShape& element) {
  if (!element.has_rank()) return PartialShape::Unknown();
  Dims dims{n};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  return PartialShape(std::move(dims));
}

absl::StatusOr<PartialShape> RowShape(const PartialShape& rows) {
  if (!rows.has_rank()) return rows;
  if (rows.rank() == 0) {
    return absl::InvalidArgumentError("Tensor must be at least a vector, but saw shape: []");
  }
  return PartialShape(Dims(rows.dims().begin() + 1, rows.dims().end()));
}

}  // namespace gyre

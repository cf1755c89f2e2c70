#include "ops/list/tensor_list.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace gyre {

thread_local int NestingGuard::depth_ = 0;

absl::Status NestingGuard::Check() const {
  constexpr int kMaxDepth = 500;
  if (depth_ <= kMaxDepth) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("lists or optionals are nested more than ",
                                                 kMaxDepth,
                                                 " deep: they cannot be added or zeroed"));
}

RefPtr<TensorList> TensorList::Copy() const {
  return RefPtr<TensorList>::Adopt(new TensorList(*this, element_shape));
}

const void* TensorList::FirstWord() {
  const TensorList any(DType::kFloat, PartialShape());
  const void* word = nullptr;
  std::memcpy(&word, &any, sizeof word);
  return word;
}

absl::StatusOr<RefPtr<Object>> TensorList::Add(KernelContext& ctx, const Object& other) const {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  const auto* list = dynamic_cast<const TensorList*>(&other);
  if (list == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add a ", kTypeName, " and a ", other.type_name()));
  }
  if (dtype() != list->dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to add two lists of tensors of different dtypes. One is ",
                     DTypeName(dtype()), " and the other is ", DTypeName(list->dtype())));
  }
  // Lists within lists are sums of gradients on their way: what one lacks is zero.
  if (size() < list->size() && guard.IsNested()) return list->Add(ctx, *this);
  if (size() != list->size() && !guard.IsNested()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Trying to add two lists of tensors with different lengths. One is size ",
                     size(), " and the other is size ", list->size()));
  }
  const absl::StatusOr<PartialShape> shape = element_shape.Intersect(list->element_shape);
  if (!shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Trying to add two lists of tensors with incompatible element shapes. One is ",
        element_shape.ToString(), " and the other is ", list->element_shape.ToString()));
  }
  RefPtr<TensorList> sum = RefPtr<TensorList>::Adopt(new TensorList(*this, *shape));
  for (int64_t i = list->elements.NextStored(0); i < list->size();
       i = list->elements.NextStored(i + 1)) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(Tensor b, list->elements.Get(i, ctx.alloc()));
    GYRE_ASSIGN_OR_RETURN(const Tensor a, elements.Get(i, ctx.alloc()));
    if (a.has_value()) {
      GYRE_ASSIGN_OR_RETURN(b, AddTensors(ctx, a, b));
    }
    GYRE_RETURN_IF_ERROR(sum->elements.Set(i, std::move(b), ctx.alloc()));
  }
  return RefPtr<Object>(std::move(sum));
}

int64_t TensorList::PayloadBytes() const {
  const NestingGuard guard;
  if (!guard.Check().ok()) return 0;
  int64_t bytes = 0;
  for (int64_t i = elements.NextStored(0); i < size(); i = elements.NextStored(i + 1)) {
    const ChunkedVector::Item item = elements.Peek(i);
    if (item.shape == nullptr) continue;
    bytes += item.shape->num_elements() * static_cast<int64_t>(DTypeSize(dtype()));
    if (dtype() != DType::kVariant) continue;
    const auto* objects = static_cast<const RefPtr<Object>*>(item.data);
    for (int64_t k = 0; k < item.shape->num_elements(); ++k) {
      if (const auto* object = dynamic_cast<const AddableObject*>(objects[k].get()))
        bytes += object->PayloadBytes();
    }
  }
  return bytes;
}

absl::StatusOr<RefPtr<Object>> TensorList::ZerosLike(KernelContext& ctx) const {
  const NestingGuard guard;
  GYRE_RETURN_IF_ERROR(guard.Check());
  auto zeros = MakeRef<TensorList>(dtype(), element_shape, max_size);
  GYRE_RETURN_IF_ERROR(zeros->elements.Resize(size(), ctx.alloc()));
  for (int64_t i = elements.NextStored(0); i < size(); i = elements.NextStored(i + 1)) {
    if (i % 1024 == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    GYRE_ASSIGN_OR_RETURN(const Tensor element, elements.Get(i, ctx.alloc()));
    GYRE_ASSIGN_OR_RETURN(Tensor zero, ZerosLikeTensor(ctx, element));
    GYRE_RETURN_IF_ERROR(zeros->elements.Set(i, std::move(zero), ctx.alloc()));
  }
  return RefPtr<Object>(std::move(zeros));
}

absl::StatusOr<Tensor> ZerosLikeTensor(KernelContext& ctx, const Tensor& t) {
  GYRE_ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateZeros(t.dtype(), t.shape()));
  if (t.dtype() == DType::kResource) return absl::InvalidArgumentError("a resource has no zero");
  if (t.dtype() != DType::kVariant) return zeros;
  const absl::Span<const RefPtr<Object>> from = t.values<RefPtr<Object>>();
  const absl::Span<RefPtr<Object>> to = zeros.mutable_values<RefPtr<Object>>();
  for (size_t i = 0; i < from.size(); ++i) {
    const auto* addable = dynamic_cast<const AddableObject*>(from[i].get());
    if (addable == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          from[i] ? from[i]->type_name() : absl::string_view("an empty variant"), " has no zero"));
    }
    GYRE_ASSIGN_OR_RETURN(to[i], addable->ZerosLike(ctx));
  }
  return zeros;
}

}  // namespace gyre

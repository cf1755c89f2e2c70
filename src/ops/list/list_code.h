// What ops do to lists of scalars, for code that is generated (ops/object_code.h).
#pragma once

#include <cstring>
#include <new>

#include "base/status.h"
#include "ops/list/tensor_list.h"
#include "ops/object_code.h"

namespace gyre::list_code {

// An operand that is a list of scalars of type T as far as the list itself says; else null.
template <typename T>
TensorList* ListOf(void* operand) {
  Object* const object = *static_cast<Object**>(operand);
  if (typeid(*object) != typeid(TensorList)) return nullptr;
  auto* const list = static_cast<TensorList*>(object);
  return list->dtype() == DTypeOf<T> && list->element_shape.Allows(Shape()) ? list : nullptr;
}

// Element i, if it is there and a scalar; else null.
inline const void* ScalarAt(const TensorList& list, int64_t i) {
  const ChunkedVector::Item item = list.elements.Peek(i);
  return item.data != nullptr && item.shape->rank() == 0 ? item.data : nullptr;
}

// `change` turns the operand, or a copy if others have it too, into the list that `output` is to
// have. OK if that was done.
template <typename Change>
bool ChangeList(TensorList* list, void* output, const Change& change) noexcept {
  try {
    RefPtr<TensorList> copy;
    if (!list->IsUnique()) copy = list->Copy();
    TensorList* const own = copy ? copy.get() : list;
    if (!change(own->elements).ok()) return false;
    if (copy) {
      list->Unref();
      (void)copy.release();
    }
    *static_cast<Object**>(output) = own;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

template <typename T>
struct PushBack {
  static constexpr absl::string_view kInputs = "Ox", kOutputs = "O";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<T>(operands[0]);
    if (list == nullptr) return false;
    const int64_t most = list->max_size >= 0 ? list->max_size : TensorList::kMaxSize;
    if (list->size() >= most) return false;
    return ChangeList(list, operands[2], [&](ChunkedVector& elements) {
      return elements.AppendScalar(operands[1], alloc);
    });
  }
};

template <typename T>
struct PopBack {
  static constexpr absl::string_view kInputs = "O-", kOutputs = "Ox";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<T>(operands[0]);
    if (list == nullptr || list->size() == 0) return false;
    const void* const last = ScalarAt(*list, list->size() - 1);
    if (last == nullptr) return false;
    T value;
    std::memcpy(&value, last, sizeof(T));
    const bool done = ChangeList(list, operands[1],
                                 [&](ChunkedVector& elements) { return elements.DropLast(alloc); });
    if (done) std::memcpy(operands[2], &value, sizeof(T));
    return done;
  }
};

template <typename T>
struct GetItem {
  static constexpr absl::string_view kInputs = "ox-", kOutputs = "x";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const TensorList* const list = ListOf<T>(operands[0]);
    const int32_t index = *static_cast<const int32_t*>(operands[1]);
    if (list == nullptr || index < 0 || index >= list->size()) return false;
    const void* const item = ScalarAt(*list, index);
    if (item != nullptr) std::memcpy(operands[2], item, sizeof(T));
    return item != nullptr;
  }
};

template <typename T, bool kGrows>
struct SetAt {
  static constexpr absl::string_view kInputs = "Oxx", kOutputs = "O";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<T>(operands[0]);
    const int32_t index = *static_cast<const int32_t*>(operands[1]);
    if (list == nullptr || index < 0) return false;
    if (index >= (kGrows ? TensorList::kMaxSize : list->size())) return false;
    return ChangeList(list, operands[3], [&](ChunkedVector& elements) -> absl::Status {
      if (kGrows && index >= elements.size())
        GYRE_RETURN_IF_ERROR(elements.Resize(int64_t{index} + 1, alloc));
      return elements.SetScalar(index, operands[2], alloc);
    });
  }
};
template <typename T>
using SetItem = SetAt<T, false>;
// With resize_if_index_out_of_bounds.
template <typename T>
using SetItemOrGrow = SetAt<T, true>;

struct Length {
  static constexpr absl::string_view kInputs = "o", kOutputs = "x";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const Object* const object = *static_cast<Object**>(operands[0]);
    if (typeid(*object) != typeid(TensorList)) return false;
    *static_cast<int32_t*>(operands[1]) =
        static_cast<int32_t>(static_cast<const TensorList*>(object)->size());
    return true;
  }
};

}  // namespace gyre::list_code

// What ops do to lists of scalars and of small tensors, for code that is generated
// (ops/object_code.h).
#pragma once

#include <cstring>
#include <new>

#include "base/status.h"
#include "ops/list/tensor_list.h"
#include "ops/object_code.h"

namespace gyre::list_code {

// What an operand is that stands for an element.
template <typename T>
struct ScalarElement {
  using Type = T;
  static constexpr bool kIsScalar = true;
  static bool Fits(const PartialShape& shape, const void*) { return shape.Allows(Shape()); }
  static bool Is(const Shape& shape, const void*) { return shape.rank() == 0; }
  static T At(const void* operand) {
    T value;
    std::memcpy(&value, operand, sizeof value);
    return value;
  }
  static void Load(const void* from, void* operand) { std::memcpy(operand, from, sizeof(T)); }
  static absl::Status Set(ChunkedVector& elements, int64_t i, const void* operand,
                          const Tensor::Alloc& alloc) {
    return elements.SetScalar(i, operand, alloc);
  }
  static absl::Status Append(ChunkedVector& elements, const void* operand,
                             const Tensor::Alloc& alloc) {
    return elements.AppendScalar(operand, alloc);
  }
};
template <typename T>
struct TensorElement {
  using Type = T;
  static constexpr bool kIsScalar = false;
  static const SmallTensor& At(const void* operand) {
    return *static_cast<const SmallTensor*>(operand);
  }
  static bool Fits(const PartialShape& shape, const void* operand) {
    return shape.Allows(*At(operand).shape);
  }
  static bool Is(const Shape& shape, const void* operand) { return shape == *At(operand).shape; }
  static void Load(const void* from, void* operand) {
    const SmallTensor& to = At(operand);
    std::memcpy(to.elements, from, static_cast<size_t>(to.shape->num_elements()) * sizeof(T));
  }
  static absl::Status Set(ChunkedVector& elements, int64_t i, const void* operand,
                          const Tensor::Alloc& alloc) {
    return elements.SetRun(i, 1, *At(operand).shape, At(operand).elements, alloc);
  }
  static absl::Status Append(ChunkedVector& elements, const void* operand,
                             const Tensor::Alloc& alloc) {
    return elements.AppendBytes(*At(operand).shape, At(operand).elements, alloc);
  }
};

// The list that an operand is, if it may hold such an element as far as it says itself; else null.
template <typename Element>
TensorList* ListOf(void* operand, const void* element) {
  Object* const object = *static_cast<Object**>(operand);
  if (typeid(*object) != typeid(TensorList)) return nullptr;
  auto* const list = static_cast<TensorList*>(object);
  return list->dtype() == DTypeOf<typename Element::Type> &&
                 Element::Fits(list->element_shape, element)
             ? list
             : nullptr;
}

// Element i where it lies, if it is there and is such a one; else null.
template <typename Element>
const void* ElementAt(const TensorList& list, int64_t i, const void* element) {
  const ChunkedVector::Item item = list.elements.Peek(i);
  return item.data != nullptr && Element::Is(*item.shape, element) ? item.data : nullptr;
}

// Elements that it may hold.
inline int64_t MostOf(const TensorList& list) {
  return list.max_size >= 0 ? list.max_size : TensorList::kMaxSize;
}

// Of quick code: the first operand, and an element that is a scalar.
inline TensorList& FirstList(void* const* operands) {
  return *static_cast<TensorList*>(*static_cast<Object**>(operands[0]));
}
struct OfLists {
  static const void* FirstWord() { return TensorList::FirstWord(); }
};
template <typename Element>
concept IsScalar = Element::kIsScalar;

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

template <typename Element>
struct PushBackCode : OfLists {
  static constexpr absl::string_view kInputs = Element::kIsScalar ? "Ox" : "Oe", kOutputs = "O";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<Element>(operands[0], operands[1]);
    if (list == nullptr) return false;
    if (list->size() >= MostOf(*list)) return false;
    return ChangeList(list, operands[2], [&](ChunkedVector& elements) {
      return Element::Append(elements, operands[1], alloc);
    });
  }
  static bool Quick(void* const* operands) noexcept
    requires IsScalar<Element>
  {
    TensorList& list = FirstList(operands);
    if (list.max_size >= 0 || list.size() >= TensorList::kMaxSize || !list.IsUnique()) return false;
    if (!list.elements.TryAppend(Element::At(operands[1]))) return false;
    *static_cast<Object**>(operands[2]) = &list;
    return true;
  }
  static bool OpenEnd(Object* object, void** next, void** end) noexcept
    requires IsScalar<Element>
  {
    TensorList* const list = ListOf<Element>(&object, nullptr);
    if (list == nullptr || !list->IsUnique()) return false;
    return list->elements.OpenEnd<typename Element::Type>(MostOf(*list), next, end);
  }
  static void CloseEnd(Object* object, void* next) noexcept
    requires IsScalar<Element>
  {
    static_cast<TensorList*>(object)->elements.CloseEnd<typename Element::Type>(next);
  }
};

template <typename Element>
struct PopBackCode : OfLists {
  static constexpr absl::string_view kInputs = "O-", kOutputs = Element::kIsScalar ? "Ox" : "Oe";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<Element>(operands[0], operands[2]);
    if (list == nullptr || list->size() == 0) return false;
    const void* const last = ElementAt<Element>(*list, list->size() - 1, operands[2]);
    if (last == nullptr) return false;
    Element::Load(last, operands[2]);
    return ChangeList(list, operands[1],
                      [&](ChunkedVector& elements) { return elements.DropLast(alloc); });
  }
  static bool Quick(void* const* operands) noexcept
    requires IsScalar<Element>
  {
    TensorList& list = FirstList(operands);
    typename Element::Type last;
    if (!list.IsUnique() || !list.elements.TryPop(&last)) return false;
    *static_cast<Object**>(operands[1]) = &list;
    std::memcpy(operands[2], &last, sizeof last);
    return true;
  }
};

template <typename Element>
struct GetItemCode : OfLists {
  static constexpr absl::string_view kInputs = "ox-", kOutputs = Element::kIsScalar ? "x" : "e";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    TensorList* const list = ListOf<Element>(operands[0], operands[2]);
    const int32_t index = *static_cast<const int32_t*>(operands[1]);
    if (list == nullptr || index < 0 || index >= list->size()) return false;
    const void* const item = ElementAt<Element>(*list, index, operands[2]);
    if (item == nullptr) return false;
    Element::Load(item, operands[2]);
    if (Element::kIsScalar && list->IsUnique()) list->elements.OpenLeafOf(index);
    return true;
  }
  static bool Quick(void* const* operands) noexcept
    requires IsScalar<Element>
  {
    typename Element::Type item;
    if (!FirstList(operands).elements.TryGet(ScalarElement<int32_t>::At(operands[1]), &item))
      return false;
    std::memcpy(operands[2], &item, sizeof item);
    return true;
  }
};

template <typename Element, bool kGrows>
struct SetItemCode : OfLists {
  static constexpr absl::string_view kInputs = Element::kIsScalar ? "Oxx" : "Oxe", kOutputs = "O";
  static bool Run(const Tensor::Alloc& alloc, void* const* operands) noexcept {
    TensorList* const list = ListOf<Element>(operands[0], operands[2]);
    const int32_t index = *static_cast<const int32_t*>(operands[1]);
    if (list == nullptr || index < 0) return false;
    if (index >= (kGrows ? TensorList::kMaxSize : list->size())) return false;
    return ChangeList(list, operands[3], [&](ChunkedVector& elements) -> absl::Status {
      if (kGrows && index >= elements.size())
        GYRE_RETURN_IF_ERROR(elements.Resize(int64_t{index} + 1, alloc));
      return Element::Set(elements, index, operands[2], alloc);
    });
  }
  static bool Quick(void* const* operands) noexcept
    requires IsScalar<Element>
  {
    TensorList& list = FirstList(operands);
    if (!list.IsUnique() ||
        !list.elements.TrySet(ScalarElement<int32_t>::At(operands[1]), Element::At(operands[2]))) {
      return false;
    }
    *static_cast<Object**>(operands[3]) = &list;
    return true;
  }
};

// What WithObjectCode takes: of scalars, and of small tensors.
template <typename T>
using PushBack = PushBackCode<ScalarElement<T>>;
template <typename T>
using PushBackTensor = PushBackCode<TensorElement<T>>;
template <typename T>
using PopBack = PopBackCode<ScalarElement<T>>;
template <typename T>
using PopBackTensor = PopBackCode<TensorElement<T>>;
template <typename T>
using GetItem = GetItemCode<ScalarElement<T>>;
template <typename T>
using GetItemTensor = GetItemCode<TensorElement<T>>;
template <typename T>
using SetItem = SetItemCode<ScalarElement<T>, false>;
template <typename T>
using SetItemTensor = SetItemCode<TensorElement<T>, false>;
// With resize_if_index_out_of_bounds.
template <typename T>
using SetItemOrGrow = SetItemCode<ScalarElement<T>, true>;
template <typename T>
using SetItemTensorOrGrow = SetItemCode<TensorElement<T>, true>;

struct Length : OfLists {
  static constexpr absl::string_view kInputs = "o", kOutputs = "x";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    const Object* const object = *static_cast<Object**>(operands[0]);
    if (typeid(*object) != typeid(TensorList)) return false;
    *static_cast<int32_t*>(operands[1]) =
        static_cast<int32_t>(static_cast<const TensorList*>(object)->size());
    return true;
  }
  static bool Quick(void* const* operands) noexcept {
    *static_cast<int32_t*>(operands[1]) = static_cast<int32_t>(FirstList(operands).size());
    return true;
  }
};

}  // namespace gyre::list_code

// Tensor: an immutable value of a dtype and a shape, 24 bytes, cheap to copy.
//
// A scalar of plain bytes (<= 16) lives inside the Tensor: copying it touches no memory and no
// atomic. Everything else sits in a reference-counted buffer aligned to 64 bytes; copies share it.
// Scalars of dtype resource or variant hold a reference to an `Object` (a variable, an array, a
// list, …).
//
// Values are immutable once they have been handed on. A kernel may write into a tensor it has just
// made, or into one whose buffer nobody else holds (`IsUnique`). Distinct Tensors that share a
// buffer may be read from many threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/dtype.h"
#include "gyre/core/export.h"
#include "gyre/core/shape.h"

namespace gyre {

// Intrusive reference counting for objects that travel inside tensors. A RefCounted starts with one
// reference, owned by whoever created it; MakeRef hands that reference to a RefPtr. The count is
// atomic, so a RefPtr may be copied on one thread and dropped on another. What the object itself
// holds is guarded by its own rules.
class GYRE_EXPORT RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  void Ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }

  // Drops one reference; deletes the object with the last.
  void Unref() const {
    // acq_rel: the deleting thread must see every write made before another thread's drop.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // True when the caller holds the only reference, so nobody else can observe a mutation.
  bool IsUnique() const { return refs_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<int32_t> refs_{1};
};

// Owns one reference to a T, or none.
template <typename T>
class RefPtr {
 public:
  RefPtr() = default;
  RefPtr(std::nullptr_t) {}
  RefPtr(const RefPtr& other) : ptr_(other.ptr_) {
    if (ptr_) ptr_->Ref();
  }
  RefPtr(RefPtr&& other) noexcept : ptr_(std::exchange(other.ptr_, nullptr)) {}
  template <typename U>
  RefPtr(RefPtr<U> other) : ptr_(other.release()) {}
  ~RefPtr() {
    if (ptr_) ptr_->Unref();
  }
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(ptr_, other.ptr_);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static RefPtr Adopt(T* ptr) {
    RefPtr result;
    result.ptr_ = ptr;
    return result;
  }
  // Adds a reference to an object that somebody else keeps.
  static RefPtr Share(T* ptr) {
    if (ptr) ptr->Ref();
    return Adopt(ptr);
  }

  T* get() const { return ptr_; }
  T* operator->() const { return ptr_; }
  T& operator*() const { return *ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }
  // Gives the reference to the caller, who must drop it.
  T* release() { return std::exchange(ptr_, nullptr); }

 private:
  T* ptr_ = nullptr;
};

template <typename T, typename... Args>
RefPtr<T> MakeRef(Args&&... args) {
  return RefPtr<T>::Adopt(new T(std::forward<Args>(args)...));
}

// What a scalar of dtype resource or variant refers to. Implementations state their own locking.
class GYRE_EXPORT Object : public RefCounted {
 public:
  // "Variable", "TensorList", …: shown in errors.
  virtual absl::string_view type_name() const = 0;
};

// A limit on the bytes held by the tensors and containers of one run. Outlives the run as long as
// one of its tensors does. Thread-safe, lock-free.
class GYRE_EXPORT MemoryBudget : public RefCounted {
 public:
  explicit MemoryBudget(int64_t limit = std::numeric_limits<int64_t>::max()) : limit_(limit) {}

  // Takes `bytes` out of the budget; false (and nothing taken) when they don't fit.
  bool Charge(int64_t bytes);
  // Takes `bytes` whether they fit or not. For what has been made already; CheckLimit tells.
  void ChargeAlways(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void Release(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // RESOURCE_EXHAUSTED once more is taken than there is.
  absl::Status CheckLimit() const;

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
};

class Device;  // src/devices

// Where buffers come from. Thread-safe. Outlives the tensors that it made.
class GYRE_EXPORT Allocator {
 public:
  // `device`: whose memory it is, if the host's code cannot read and write it.
  explicit Allocator(Device* device = nullptr) : device_(device) {}
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // At least `bytes` bytes, aligned to 64; nullptr when there are none to be had.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Deallocate(void* data, size_t bytes) = 0;
  // What a tensor does not fit where Allocate gives null: "this machine's memory".
  virtual std::string name() const;

  Device* device() const { return device_; }

 private:
  Device* const device_;
};

// The host's heap. Lives for ever.
GYRE_EXPORT Allocator& HostAllocator();

class Tensor;

namespace internal {

// Header of a shared buffer. Elements of dtype string, resource or variant are constructed objects
// (std::string, RefPtr<Object>) and destroyed with it.
struct GYRE_EXPORT TensorRep {
  mutable std::atomic<int32_t> refs{1};
  DType dtype = DType::kInvalid;
  Shape shape;
  void* data = nullptr;
  size_t bytes = 0;           // charged and allocated size
  TensorRep* base = nullptr;  // owner of `data` when this is a view
  Allocator* allocator = nullptr;
  RefPtr<MemoryBudget> budget;    // charged with `bytes`; may be null
  std::function<void()> release;  // for memory that somebody else owns

  void Ref() const { refs.fetch_add(1, std::memory_order_relaxed); }
  void Unref() const {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy(const_cast<TensorRep*>(this));
  }
  static void Destroy(TensorRep* rep);
};

GYRE_EXPORT extern const Shape kScalarShape;

// C++ types of numbers that make constants: int, size_t, float, complex64, …
template <typename T>
concept Number =
    std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
    std::is_same_v<T, complex64> || std::is_same_v<T, complex128>;

// The element type that holds a number of type T.
template <Number T>
auto ToElement(T number) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr bool kSigned = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 8) {
      return static_cast<std::conditional_t<kSigned, int64_t, uint64_t>>(number);
    } else if constexpr (sizeof(T) == 4) {
      return static_cast<std::conditional_t<kSigned, int32_t, uint32_t>>(number);
    } else if constexpr (sizeof(T) == 2) {
      return static_cast<std::conditional_t<kSigned, int16_t, uint16_t>>(number);
    } else {
      return static_cast<std::conditional_t<kSigned, int8_t, uint8_t>>(number);
    }
  } else if constexpr (std::is_same_v<T, long double>) {
    return static_cast<double>(number);
  } else {
    return number;
  }
}

template <typename T>
concept Element = requires { DTypeOfImpl<std::remove_cv_t<T>>::value; };

// Whether a buffer of elements of `dtype` may be seen as one of T. Quantised elements, which have
// no type of their own, are seen as the integers that they are kept in, bool as what it is kept in,
// too; and what is no element type as so many bytes.
template <typename T>
inline bool HoldsElements(DType dtype) {
  if constexpr (std::is_same_v<T, RefPtr<Object>>) {
    return dtype == DType::kResource || dtype == DType::kVariant;
  } else if constexpr (Element<T>) {
    if (dtype == DTypeOf<T>) return true;
    if constexpr (std::is_same_v<T, int8_t>) return dtype == DType::kQint8;
    if constexpr (std::is_same_v<T, uint8_t>)
      return dtype == DType::kQuint8 || dtype == DType::kBool;
    if constexpr (std::is_same_v<T, int16_t>) return dtype == DType::kQint16;
    if constexpr (std::is_same_v<T, uint16_t>) return dtype == DType::kQuint16;
    if constexpr (std::is_same_v<T, int32_t>) return dtype == DType::kQint32;
    return false;
  } else {
    return DTypeSize(dtype) == sizeof(T);
  }
}
// Throws BadTensorAccess.
[[noreturn]] GYRE_EXPORT void ThrowWrongElements(const Tensor& tensor, DType wanted);
[[noreturn]] GYRE_EXPORT void ThrowNotOne(const Tensor& tensor);
[[noreturn]] GYRE_EXPORT void ThrowWrongCount(size_t values, const Shape& shape);

template <typename T>
constexpr DType WantedDType() {
  if constexpr (std::is_same_v<T, RefPtr<Object>>) {
    return DType::kVariant;
  } else if constexpr (Element<T>) {
    return DTypeOf<T>;
  } else {
    return DType::kInvalid;
  }
}

}  // namespace internal

// A mistake of a program in C++: a tensor that was read as what it is not. What data and graphs do
// wrong is a Status.
class GYRE_EXPORT BadTensorAccess : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

class GYRE_EXPORT Tensor {
 public:
  // Where a new buffer comes from and who is charged for it. Null members: host heap, nobody.
  struct Alloc {
    Allocator* allocator = nullptr;
    MemoryBudget* budget = nullptr;
  };

  Tensor() = default;  // no value; has_value() is false
  Tensor(const Tensor& other) { CopyFrom(other); }
  Tensor(Tensor&& other) noexcept { MoveFrom(other); }
  Tensor& operator=(const Tensor& other) {
    if (this != &other) {
      Drop();
      CopyFrom(other);
    }
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    if (this != &other) {
      Drop();
      MoveFrom(other);
    }
    return *this;
  }
  ~Tensor() { Drop(); }

  // A tensor whose elements are yet to be written: plain bytes are uninitialised, strings empty,
  // objects null. RESOURCE_EXHAUSTED when the bytes don't fit the budget or the memory. INTERNAL
  // for strings and objects in a device's own memory, which holds plain bytes alone.
  static absl::StatusOr<Tensor> Make(DType dtype, const Shape& shape, Alloc alloc);
  static absl::StatusOr<Tensor> Make(DType dtype, const Shape& shape) {
    return Make(dtype, shape, Alloc());
  }
  // As Make, with all bytes zero.
  static absl::StatusOr<Tensor> Zeros(DType dtype, const Shape& shape, Alloc alloc);
  // A scalar; T is an element type (std::string included).
  template <typename T>
  static Tensor Scalar(T value);
  // Row-major copy of `values`. BadTensorAccess unless values.size() == shape.num_elements(). For
  // tests and small host data: nobody is charged, and running out of memory throws std::bad_alloc.
  template <typename T>
  static Tensor FromValues(absl::Span<const T> values, const Shape& shape);
  template <typename T>
  static Tensor FromValues(std::initializer_list<T> values, const Shape& shape) {
    return FromValues<T>(absl::Span<const T>(values.begin(), values.size()), shape);
  }
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return FromValues<T>(values, Shape::Vector(static_cast<int64_t>(values.size())));
  }
  // A scalar of dtype kResource or kVariant that holds `object` (may be null).
  static Tensor FromObject(DType dtype, RefPtr<Object> object);
  // A reference to a variable whose elements have type `dtype`: see ops/resources/variable.h.
  static Tensor FromRef(DType dtype, RefPtr<Object> variable);
  // Wraps memory that somebody else owns; `release` is called once the last reference is gone.
  static Tensor External(DType dtype, const Shape& shape, void* data,
                         std::function<void()> release);

  bool has_value() const { return head_.kind != Kind::kNone; }
  DType dtype() const { return head_.dtype; }
  // A handle to a variable rather than a value: what the wire calls a Ref type.
  bool is_ref() const { return head_.is_ref; }
  const Shape& shape() const {
    return head_.kind == Kind::kBuffer ? rep_->shape : internal::kScalarShape;
  }
  int rank() const { return shape().rank(); }
  int64_t dim(int i) const { return shape().dim(i); }
  int64_t num_elements() const {
    return head_.kind == Kind::kBuffer ? rep_->shape.num_elements() : 1;
  }
  // Bytes of the elements; for strings, resources and variants the size of their handles.
  size_t bytes() const;

  // A scalar of plain bytes, held in the Tensor itself.
  bool is_inline() const { return head_.kind == Kind::kInline; }

  // In whose memory the elements are: only its Copier reads and writes them, and raw_data() is an
  // address there. Null: the host's, where all else that is said here holds.
  Device* device() const {
    if (head_.kind != Kind::kBuffer) return nullptr;
    const Allocator* const allocator = (rep_->base != nullptr ? rep_->base : rep_)->allocator;
    return allocator != nullptr ? allocator->device() : nullptr;
  }

  // Elements in row-major order. BadTensorAccess unless T is the C++ type of dtype()
  // (RefPtr<Object> for resource, variant).
  template <typename T>
  absl::Span<const T> values() const {
    CheckElements<T>();
    // Not in braces: those would pick Span<const bool>'s constructor from a list of elements.
    return absl::Span<const T>(static_cast<const T*>(raw_data()),
                               static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    CheckElements<T>();
    return {static_cast<T*>(mutable_raw_data()), static_cast<size_t>(num_elements())};
  }
  // The only element. BadTensorAccess unless there is one, of type T.
  template <typename T>
  const T& scalar() const {
    CheckElements<T>();
    if (head_.kind == Kind::kBuffer && num_elements() != 1) [[unlikely]]
      internal::ThrowNotOne(*this);
    return *static_cast<const T*>(raw_data());
  }
  const void* raw_data() const {
    return head_.kind == Kind::kBuffer ? rep_->data : static_cast<const void*>(inline_);
  }
  void* mutable_raw_data() {
    return head_.kind == Kind::kBuffer ? rep_->data : static_cast<void*>(inline_);
  }

  // The object of a scalar resource, variant or Ref; null when there is none.
  Object* object() const {
    if (head_.kind == Kind::kObject) return object_;
    return nullptr;
  }
  // As object(), if it is a T.
  template <typename T>
  T* object_as() const {
    Object* const o = object();
    if constexpr (std::is_final_v<T>) {  // nothing derives from it: no search
      return o != nullptr && typeid(*o) == typeid(T) ? static_cast<T*>(o) : nullptr;
    } else {
      return dynamic_cast<T*>(o);
    }
  }

  // Moves the object out, with the reference that this Tensor held: it has no value afterwards.
  // Null, and nothing moved, if it holds no T.
  template <typename T>
  RefPtr<T> TakeObject() {
    T* const o = object_as<T>();
    if (o != nullptr) head_.kind = Kind::kNone;
    return RefPtr<T>::Adopt(o);
  }

  // Nobody else can see the elements: they may be overwritten in place.
  bool IsUnique() const;
  // The same elements under another shape, without a copy. Requirement, not checked: equal number
  // of elements.
  Tensor Reshaped(const Shape& shape) const;
  // Elements [begin, begin+n) along dimension 0, sharing the buffer. Requirement, not checked: rank
  // >= 1, in range. The result may be less than 64-byte aligned.
  Tensor SliceRows(int64_t begin, int64_t n) const;
  // The same bytes seen as another dtype of equal element size (bitcast). Requirement: both plain
  // bytes.
  Tensor Bitcast(DType dtype) const;

 private:
  // The latter two are shared, and counted.
  enum class Kind : uint8_t { kNone, kInline, kObject, kBuffer };

  // What a Tensor is, in one word: written and read as a whole, so that handing a value on never
  // waits for parts of it to be put together.
  struct Head {
    DType dtype = DType::kInvalid;
    Kind kind = Kind::kNone;
    bool is_ref = false;
    uint8_t unused = 0;
  };
  // The payload likewise.
  using Payload [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = uint64_t;

  template <typename T>
  void CheckElements() const {
    if (!internal::HoldsElements<T>(head_.dtype)) [[unlikely]]
      internal::ThrowWrongElements(*this, internal::WantedDType<T>());
  }
  static Tensor FromRep(DType dtype, internal::TensorRep* rep);
  void CopyFrom(const Tensor& other) {
    head_ = other.head_;
    payload_ = other.payload_;
    if (head_.kind == Kind::kBuffer) {
      rep_->Ref();
    } else if (head_.kind == Kind::kObject && object_ != nullptr) {
      object_->Ref();
    }
  }
  void MoveFrom(Tensor& other) {
    head_ = other.head_;
    payload_ = other.payload_;
    other.head_.kind = Kind::kNone;
  }
  void Drop() {
    if (head_.kind >= Kind::kObject) DropShared();
    head_.kind = Kind::kNone;
  }
  void DropShared();

  Head head_;
  union {
    alignas(8) unsigned char inline_[16];
    Payload payload_ = {0, 0};
    internal::TensorRep* rep_;
    Object* object_;
  };
};

template <typename T>
Tensor Tensor::Scalar(T value) {
  if constexpr (std::is_same_v<T, std::string>) {
    Tensor t = *Make(DType::kString, Shape());
    t.mutable_values<std::string>()[0] = std::move(value);
    return t;
  } else {
    static_assert(sizeof(T) <= 16);
    Tensor t;
    t.head_ = {DTypeOf<T>, Kind::kInline};
    if constexpr (sizeof(T) <= 8) {
      uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      t.payload_ = Payload{bits, 0};
    } else {
      std::memcpy(&t.payload_, &value, sizeof(T));
    }
    return t;
  }
}

template <typename T>
Tensor Tensor::FromValues(absl::Span<const T> values, const Shape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.num_elements())
    internal::ThrowWrongCount(values.size(), shape);
  absl::StatusOr<Tensor> t = Make(DTypeOf<T>, shape);
  if (!t.ok()) throw std::bad_alloc();
  std::copy(values.begin(), values.end(), t->template mutable_values<T>().begin());
  return *std::move(t);
}

// The values as nested lists, a few of each row: "[[1, 2], [3, 4]]"; "no value" without one.
GYRE_EXPORT std::string to_string(const Tensor& tensor);

namespace internal {

template <Number T>
Tensor ToVector(const T* begin, size_t size) {
  using Element = decltype(ToElement(T()));
  std::vector<std::conditional_t<std::is_same_v<Element, bool>, uint8_t, Element>> copy;
  for (size_t i = 0; i < size; ++i) copy.push_back(ToElement(begin[i]));
  return Tensor::FromValues<Element>(
      absl::Span<const Element>(reinterpret_cast<const Element*>(copy.data()), size),
      Shape::Vector(static_cast<int64_t>(size)));
}

}  // namespace internal

}  // namespace gyre

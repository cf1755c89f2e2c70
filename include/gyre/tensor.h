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

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/dtype.h"
#include "gyre/ref.h"
#include "gyre/shape.h"

namespace gyre {

// What a scalar of dtype resource or variant refers to. Implementations state their own locking.
class Object : public RefCounted {
 public:
  // "Variable", "TensorList", …: shown in errors.
  virtual absl::string_view type_name() const = 0;
};

// A limit on the bytes held by the tensors and containers of one run. Outlives the run as long as
// one of its tensors does. Thread-safe, lock-free.
class MemoryBudget : public RefCounted {
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
class Allocator {
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
Allocator& HostAllocator();

namespace internal {

// Header of a shared buffer. Elements of dtype string, resource or variant are constructed objects
// (std::string, RefPtr<Object>) and destroyed with it.
struct TensorRep {
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

extern const Shape kScalarShape;

}  // namespace internal

class Tensor {
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
  // Row-major copy of `values`. Requirement, not checked: values.size() == shape.num_elements().
  // For tests and small host data: nobody is charged, and running out of memory throws
  // std::bad_alloc.
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

  // Elements in row-major order. Requirement: T is the C++ type of dtype() (RefPtr<Object> for
  // resource, variant).
  template <typename T>
  absl::Span<const T> values() const {
    // Not in braces: those would pick Span<const bool>'s constructor from a list of elements.
    return absl::Span<const T>(static_cast<const T*>(raw_data()),
                               static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    return {static_cast<T*>(mutable_raw_data()), static_cast<size_t>(num_elements())};
  }
  // The only element. Requirement: num_elements() == 1.
  template <typename T>
  const T& scalar() const {
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
  absl::StatusOr<Tensor> t = Make(DTypeOf<T>, shape);
  if (!t.ok()) throw std::bad_alloc();
  std::copy(values.begin(), values.end(), t->template mutable_values<T>().begin());
  return *std::move(t);
}

}  // namespace gyre

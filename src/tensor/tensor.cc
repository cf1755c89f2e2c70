#include "gyre/core/tensor.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "tensor/format.h"
#include "tensor/text_charge.h"

namespace gyre {
namespace internal {

const Shape kScalarShape;

void ThrowWrongElements(const Tensor& tensor, DType wanted) {
  throw BadTensorAccess(
      tensor.has_value()
          ? absl::StrCat("a tensor of ", DTypeName(tensor.dtype()), " ", tensor.shape().ToString(),
                         " was read as one of ",
                         wanted == DType::kInvalid ? "elements of another size" : DTypeName(wanted))
          : absl::StrCat("a tensor without a value was read as one of ", DTypeName(wanted)));
}

void ThrowNotOne(const Tensor& tensor) {
  throw BadTensorAccess(absl::StrCat("a tensor of ", DTypeName(tensor.dtype()), " ",
                                     tensor.shape().ToString(), " was read as a scalar"));
}

void ThrowWrongCount(size_t values, const Shape& shape) {
  throw BadTensorAccess(
      absl::StrCat("a tensor of shape ", shape.ToString(), " was made of ", values, " values"));
}

namespace {
// The header sits in front of the elements when they are in the host's memory: one allocation,
// elements aligned.
struct HostRep : TensorRep {
  std::atomic<int64_t> text_bytes{0};  // charged beside `bytes`; of strings alone
};
constexpr size_t kHeaderBytes = (sizeof(HostRep) + 63) / 64 * 64;
bool HoldsHeaders(const Allocator& allocator) { return allocator.device() == nullptr; }

size_t ElementSize(DType dtype) {
  switch (dtype) {
    case DType::kString:
      return sizeof(std::string);
    case DType::kResource:
    case DType::kVariant:
      return sizeof(RefPtr<Object>);
    default:
      return DTypeSize(dtype);
  }
}

void DestroyElements(TensorRep* rep) {
  const int64_t n = rep->shape.num_elements();
  if (rep->dtype == DType::kString) {
    std::destroy_n(static_cast<std::string*>(rep->data), n);
  } else if (rep->dtype == DType::kResource || rep->dtype == DType::kVariant) {
    std::destroy_n(static_cast<RefPtr<Object>*>(rep->data), n);
  }
}

void ConstructElements(TensorRep* rep) {
  const int64_t n = rep->shape.num_elements();
  if (rep->dtype == DType::kString) {
    std::uninitialized_default_construct_n(static_cast<std::string*>(rep->data), n);
  } else if (rep->dtype == DType::kResource || rep->dtype == DType::kVariant) {
    std::uninitialized_default_construct_n(static_cast<RefPtr<Object>*>(rep->data), n);
  }
}
}  // namespace

// What a view takes beside the buffer that it shares.
constexpr int64_t kViewBytes = sizeof(TensorRep) + 2 * sizeof(void*);

// Another header for the buffer behind `rep`, whose budget it is charged to. It always fits: who
// makes views without end is stopped where the run looks at its budget.
TensorRep* NewView(TensorRep& rep, DType dtype) {
  auto* view = new TensorRep;
  view->base = rep.base != nullptr ? rep.base : &rep;
  view->base->Ref();
  view->dtype = dtype;
  if (view->base->budget) view->base->budget->ChargeAlways(kViewBytes);
  return view;
}

void TensorRep::Destroy(TensorRep* rep) {
  if (rep->base != nullptr) {
    if (rep->base->budget) rep->base->budget->Release(kViewBytes);
    rep->base->Unref();
    delete rep;
    return;
  }
  if (rep->release) {
    rep->release();
    delete rep;
    return;
  }
  DestroyElements(rep);
  if (rep->budget) rep->budget->Release(static_cast<int64_t>(rep->bytes));
  Allocator* allocator = rep->allocator;
  const size_t bytes = rep->bytes;
  if (HoldsHeaders(*allocator)) {
    auto* const host_rep = static_cast<HostRep*>(rep);
    if (rep->budget) rep->budget->Release(host_rep->text_bytes.load(std::memory_order_relaxed));
    host_rep->~HostRep();
    allocator->Deallocate(rep, bytes + kHeaderBytes);
  } else {
    allocator->Deallocate(rep->data, bytes);
    delete rep;
  }
}

}  // namespace internal

std::string Allocator::name() const { return "this machine's memory"; }

absl::Status MemoryBudget::CheckLimit() const {
  if (used() <= limit_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the run's memory budget of ", limit_, " bytes is used up"));
}

bool MemoryBudget::Charge(int64_t bytes) {
  const int64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (used > limit_ || used < bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  return true;
}

namespace {
// Larger requests are refused before they reach the heap: no machine has them, and sanitizers abort
// on them.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 39;

// `allocator`: that had no memory; null: it is the budget that has no room.
absl::Status Exhausted(DType dtype, const Shape& shape, const MemoryBudget* budget,
                       const Allocator* allocator) {
  const std::string why = allocator != nullptr
                              ? allocator->name()
                              : absl::StrCat("the run's memory budget of ", budget->limit(),
                                             " bytes, of which ", budget->used(), " are in use");
  return absl::ResourceExhaustedError(absl::StrCat("a tensor of type ", DTypeName(dtype),
                                                   " and shape ", shape.ToString(),
                                                   " does not fit ", why));
}
}  // namespace

absl::StatusOr<Tensor> Tensor::Make(DType dtype, const Shape& shape, Alloc alloc) {
  if (shape.IsScalar() && IsTrivial(dtype)) {
    Tensor t;
    t.head_.dtype = dtype;
    t.head_.kind = Kind::kInline;
    return t;
  }
  if (shape.IsScalar() && (dtype == DType::kResource || dtype == DType::kVariant))
    return FromObject(dtype, nullptr);
  const std::optional<int64_t> bytes =
      CheckedMul(shape.num_elements(), static_cast<int64_t>(internal::ElementSize(dtype)));
  Allocator& allocator = alloc.allocator != nullptr ? *alloc.allocator : HostAllocator();
  if (!bytes || *bytes > kMaxTensorBytes) {
    const bool is_limited =
        alloc.budget != nullptr && alloc.budget->limit() != std::numeric_limits<int64_t>::max();
    return Exhausted(dtype, shape, alloc.budget, is_limited ? nullptr : &allocator);
  }
  if (allocator.device() != nullptr && !IsTrivial(dtype)) {
    return BugError(absl::StrCat("a tensor of type ", DTypeName(dtype), " was to be made in ",
                                 allocator.name()));
  }
  if (alloc.budget != nullptr && !alloc.budget->Charge(*bytes))
    return Exhausted(dtype, shape, alloc.budget, nullptr);
  const size_t size = static_cast<size_t>(*bytes);
  internal::TensorRep* rep = nullptr;
  if (internal::HoldsHeaders(allocator)) {
    void* block = allocator.Allocate(size + internal::kHeaderBytes);
    if (block != nullptr) {
      rep = new (block) internal::HostRep;
      rep->data = static_cast<char*>(block) + internal::kHeaderBytes;
    }
  } else if (void* data = allocator.Allocate(size); data != nullptr) {
    rep = new (std::nothrow) internal::TensorRep;
    if (rep == nullptr) {
      allocator.Deallocate(data, size);
    } else {
      rep->data = data;
    }
  }
  if (rep == nullptr) {
    if (alloc.budget != nullptr) alloc.budget->Release(*bytes);
    // Scalar() has no other way to say so.
    if (dtype == DType::kString && shape.IsScalar()) throw std::bad_alloc();
    return Exhausted(dtype, shape, nullptr, &allocator);
  }
  rep->bytes = size;
  rep->allocator = &allocator;
  rep->budget = RefPtr<MemoryBudget>::Share(alloc.budget);
  Tensor t = FromRep(dtype, rep);
  rep->shape = shape;  // may throw: without a dtype, there are no elements to destroy
  rep->dtype = dtype;
  internal::ConstructElements(rep);
  return t;
}

bool ChargeText(Tensor& strings, int64_t bytes) {
  void* const elements = strings.mutable_raw_data();
  auto* const rep =
      reinterpret_cast<internal::HostRep*>(static_cast<char*>(elements) - internal::kHeaderBytes);
  if (!rep->budget) return true;
  if (!rep->budget->Charge(bytes)) return false;
  rep->text_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

absl::StatusOr<Tensor> Tensor::Zeros(DType dtype, const Shape& shape, Alloc alloc) {
  absl::StatusOr<Tensor> t = Make(dtype, shape, alloc);
  if (t.ok() && IsTrivial(dtype)) std::memset(t->mutable_raw_data(), 0, t->bytes());
  return t;
}

Tensor Tensor::FromRep(DType dtype, internal::TensorRep* rep) {
  Tensor t;
  t.head_.dtype = dtype;
  t.head_.kind = Kind::kBuffer;
  t.rep_ = rep;
  return t;
}

Tensor Tensor::FromObject(DType dtype, RefPtr<Object> object) {
  Tensor t;
  t.head_.dtype = dtype;
  t.head_.kind = Kind::kObject;
  t.object_ = object.release();
  return t;
}

Tensor Tensor::FromRef(DType dtype, RefPtr<Object> variable) {
  Tensor t = FromObject(dtype, std::move(variable));
  t.head_.is_ref = true;
  return t;
}

Tensor Tensor::External(DType dtype, const Shape& shape, void* data,
                        std::function<void()> release) {
  auto rep = std::make_unique<internal::TensorRep>();
  rep->dtype = dtype;
  rep->shape = shape;
  rep->data = data;
  rep->release = release ? std::move(release) : [] {};
  return FromRep(dtype, rep.release());
}

size_t Tensor::bytes() const {
  return static_cast<size_t>(num_elements()) * internal::ElementSize(head_.dtype);
}

void Tensor::DropShared() {
  if (head_.kind == Kind::kBuffer) {
    rep_->Unref();
  } else if (object_ != nullptr) {
    object_->Unref();
  }
}

bool Tensor::IsUnique() const {
  switch (head_.kind) {
    case Kind::kNone:
    case Kind::kInline:
      return true;
    case Kind::kObject:
      return object_ != nullptr && object_->IsUnique();
    case Kind::kBuffer:
      return !rep_->release && rep_->refs.load(std::memory_order_acquire) == 1 &&
             (rep_->base == nullptr ||
              (!rep_->base->release && rep_->base->refs.load(std::memory_order_acquire) == 1));
  }
  return false;
}

Tensor Tensor::Reshaped(const Shape& shape) const {
  if (shape == this->shape()) return *this;
  if (shape.IsScalar() && head_.kind == Kind::kBuffer && head_.dtype != DType::kString) {
    Tensor t;
    t.head_.dtype = head_.dtype;
    if (IsTrivial(head_.dtype)) {
      t.head_.kind = Kind::kInline;
      std::memcpy(t.inline_, rep_->data, DTypeSize(head_.dtype));
      return t;
    }
    return FromObject(head_.dtype, static_cast<const RefPtr<Object>*>(rep_->data)[0]);
  }
  if (head_.kind != Kind::kBuffer) {  // an inline scalar gets a buffer of one element
    absl::StatusOr<Tensor> t = Make(head_.dtype, shape);
    if (!t.ok()) throw std::bad_alloc();
    if (head_.kind == Kind::kObject) {
      t->mutable_values<RefPtr<Object>>()[0] = RefPtr<Object>::Share(object_);
    } else {
      std::memcpy(t->mutable_raw_data(), inline_, DTypeSize(head_.dtype));
    }
    return *std::move(t);
  }
  Tensor view = FromRep(head_.dtype, internal::NewView(*rep_, head_.dtype));
  view.rep_->shape = shape;
  view.rep_->data = rep_->data;
  return view;
}

Tensor Tensor::SliceRows(int64_t begin, int64_t n) const {
  Dims dims(shape().dims().begin(), shape().dims().end());
  const int64_t row = dims[0] == 0 ? 0 : num_elements() / dims[0];
  dims[0] = n;
  internal::TensorRep* view = internal::NewView(*rep_, head_.dtype);
  view->shape = Shape::Trusted(std::move(dims));
  view->data = static_cast<char*>(rep_->data) +
               static_cast<size_t>(begin * row) * internal::ElementSize(head_.dtype);
  return FromRep(head_.dtype, view);
}

Tensor Tensor::Bitcast(DType dtype) const {
  Tensor t = *this;
  if (head_.kind == Kind::kBuffer) {
    t = FromRep(dtype, internal::NewView(*rep_, dtype));
    t.rep_->shape = rep_->shape;
    t.rep_->data = rep_->data;
  }
  t.head_.dtype = dtype;
  return t;
}

std::string to_string(const Tensor& tensor) {
  constexpr int64_t kEntries = 3;
  if (!tensor.has_value()) return "no value";
  return FormatTensor(tensor, kEntries, TensorFormat::kNested);
}

}  // namespace gyre

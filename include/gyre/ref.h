// Intrusive reference counting for objects that travel inside tensors.
//
// A `RefCounted` starts with one reference, owned by whoever created it; `MakeRef` hands that
// reference to a `RefPtr`. The count is atomic, so a RefPtr may be copied on one thread and dropped
// on another. What the object itself holds is guarded by its own rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace gyre {

class RefCounted {
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

}  // namespace gyre

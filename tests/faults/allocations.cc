#include "faults/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "absl/base/config.h"

namespace gyre::faults {
namespace {

std::atomic<int64_t> live_blocks{0};
std::atomic<int64_t> live_bytes{0};
std::atomic<bool> is_counting{false};
std::atomic<int64_t> counted_allocations{0};
std::atomic<int64_t> number_that_fails{0};
std::atomic<bool> one_has_failed{false};

bool IsToFail() {
  if (!is_counting.load(std::memory_order_relaxed)) return false;
  const int64_t number = counted_allocations.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number != number_that_fails.load(std::memory_order_relaxed)) return false;
  one_has_failed.store(true, std::memory_order_relaxed);
  return true;
}

void* Allocate(size_t bytes, size_t alignment) noexcept {
  if (IsToFail()) return nullptr;
  void* block = nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    block = std::malloc(bytes);
  } else if (posix_memalign(&block, alignment, bytes) != 0) {
    block = nullptr;
  }
  if (block == nullptr) return nullptr;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  return block;
}

void* AllocateOrThrow(size_t bytes, size_t alignment) {
  void* const block = Allocate(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void Free(void* block) noexcept {
  if (block == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  live_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  std::free(block);
}

constexpr size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

LiveMemory Live() { return {live_blocks.load(), live_bytes.load()}; }

FailAllocation::FailAllocation(int64_t number) {
  counted_allocations = 0;
  number_that_fails = number;
  one_has_failed = false;
  is_counting = true;
}
FailAllocation::~FailAllocation() { is_counting = false; }
int64_t FailAllocation::counted() const { return counted_allocations; }
bool FailAllocation::has_failed() const { return one_has_failed; }

}  // namespace gyre::faults

using gyre::faults::Allocate;
using gyre::faults::AllocateOrThrow;
using gyre::faults::Free;
using gyre::faults::kUsual;

void* operator new(size_t n) { return AllocateOrThrow(n, kUsual); }
void* operator new[](size_t n) { return AllocateOrThrow(n, kUsual); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kUsual); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return Allocate(n, kUsual); }
void* operator new(size_t n, std::align_val_t a) {
  return AllocateOrThrow(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
  return AllocateOrThrow(n, static_cast<size_t>(a));
}
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return Allocate(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { Free(p); }
void operator delete[](void* p) noexcept { Free(p); }
void operator delete(void* p, size_t) noexcept { Free(p); }
void operator delete[](void* p, size_t) noexcept { Free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { Free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t) noexcept { Free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { Free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { Free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { Free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { Free(p); }

// Buffers of tensors. The sanitizer's own take their place under asan.
#ifndef ABSL_HAVE_ADDRESS_SANITIZER
extern "C" {
void* __libc_memalign(size_t alignment, size_t bytes);

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (!gyre::faults::IsToFail()) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}
}
#endif

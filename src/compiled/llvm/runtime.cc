// What this library, LLVM included, has of its own instead of the C library's, so that no thread
// that compiles can take the process with it. LLVM and the C++ library are built in
// (cmake/compiled.cmake); their calls come here.
//
// The end of the process: no object goes. exit() runs on one thread while others compile, and would
// take from them what they use. What a compiler writes for each static object that has a destructor
// is a call of __cxa_atexit.
//
// Memory: LLVM cannot do without any that it asks for. What malloc refuses comes from a reserve of
// addresses, which takes no memory until then; no compilation begins without one (HasReserve).
#include "compiled/llvm/runtime.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }

// The linker (--wrap) makes the library's calls of malloc calls of __wrap_malloc, and so on.
void* __real_malloc(size_t bytes);
void* __real_realloc(void* block, size_t bytes);
void __real_free(void* block);
void* __wrap_malloc(size_t bytes);
void __wrap_free(void* block);
}

namespace gyre::compiled {
namespace {

// Several times what the largest region needs at its peak.
constexpr size_t kReserveBytes = size_t{256} << 20;

// Blocks are powers of two, behind a header; those given back are kept by size.
class Reserve {
 public:
  bool Holds(const void* block) const {
    const auto* const at = static_cast<const char*>(block);
    return base_ != nullptr && at >= base_ && at < base_ + kReserveBytes;
  }

  // False: the addresses cannot be had, or too many of them are in use.
  bool IsReady() {
    const Lock lock(mutex_);
    if (base_ == nullptr) {
      void* const base = mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base == MAP_FAILED) return false;
      base_ = static_cast<char*>(base);
    }
    return used_ < kReserveBytes / 4;
  }

  // Not null: where nothing is left, the process ends.
  void* Allocate(size_t bytes) {
    const Lock lock(mutex_);
    if (bytes > kReserveBytes) EndProcess();
    const int order = std::bit_width(bytes + sizeof(Header) - 1);
    Header* header = order < kOrders ? free_[order] : nullptr;
    if (header != nullptr) {
      free_[order] = header->next;
    } else {
      if (base_ == nullptr || order >= kOrders || (size_t{1} << order) > kReserveBytes - used_)
        EndProcess();
      header = reinterpret_cast<Header*>(base_ + used_);
      used_ += size_t{1} << order;
      header->order = order;
    }
    return header + 1;
  }

  void Free(void* block) {
    const Lock lock(mutex_);
    Header* const header = static_cast<Header*>(block) - 1;
    header->next = free_[header->order];
    free_[header->order] = header;
  }

  static size_t SizeOf(const void* block) {
    return (size_t{1} << (static_cast<const Header*>(block) - 1)->order) - sizeof(Header);
  }

 private:
  struct alignas(16) Header {
    int order;
    Header* next;
  };
  static constexpr int kOrders = 29;

  class Lock {
   public:
    explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~Lock() { pthread_mutex_unlock(&mutex_); }

   private:
    pthread_mutex_t& mutex_;
  };

  [[noreturn]] static void EndProcess() {
    constexpr char kText[] = "gyre: the code generator has run out of memory\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    abort();
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  char* base_ = nullptr;
  size_t used_ = 0;
  Header* free_[kOrders] = {};
};
constinit Reserve reserve;

void* AllocateAligned(size_t bytes, std::align_val_t align) {
  const auto alignment = static_cast<size_t>(align);
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return __wrap_malloc(bytes);
  void* block = nullptr;
  if (posix_memalign(&block, alignment, bytes) == 0) return block;
  // From the reserve, moved forward to where it is aligned, and never given back: LLVM hardly ever
  // asks for it.
  const auto at = reinterpret_cast<uintptr_t>(reserve.Allocate(bytes + alignment));
  return reinterpret_cast<void*>((at + alignment - 1) & ~(alignment - 1));
}

void FreeAligned(void* block, std::align_val_t align) {
  if (static_cast<size_t>(align) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return __wrap_free(block);
  if (!reserve.Holds(block)) __real_free(block);
}

}  // namespace

bool HasReserve() { return reserve.IsReady(); }

}  // namespace gyre::compiled

using gyre::compiled::reserve;

extern "C" {
void* __wrap_malloc(size_t bytes) {
  void* const block = __real_malloc(bytes);
  return block != nullptr ? block : reserve.Allocate(bytes);
}
void __wrap_free(void* block) {
  if (reserve.Holds(block)) {
    reserve.Free(block);
  } else {
    __real_free(block);
  }
}
void* __wrap_calloc(size_t n, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(n, bytes, &all)) return nullptr;
  void* const block = __wrap_malloc(all);
  memset(block, 0, all);
  return block;
}
void* __wrap_realloc(void* block, size_t bytes) {
  if (!reserve.Holds(block)) {
    void* const moved = __real_realloc(block, bytes);
    if (moved != nullptr || bytes == 0) return moved;
  }
  void* const larger = __wrap_malloc(bytes);
  if (block == nullptr) return larger;
  const size_t had = reserve.Holds(block) ? reserve.SizeOf(block) : malloc_usable_size(block);
  memcpy(larger, block, had < bytes ? had : bytes);
  __wrap_free(block);
  return larger;
}
}

void* operator new(size_t n) { return __wrap_malloc(n); }
void* operator new[](size_t n) { return __wrap_malloc(n); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return __wrap_malloc(n); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return __wrap_malloc(n); }
void operator delete(void* p) noexcept { __wrap_free(p); }
void operator delete[](void* p) noexcept { __wrap_free(p); }
void operator delete(void* p, size_t) noexcept { __wrap_free(p); }
void operator delete[](void* p, size_t) noexcept { __wrap_free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { __wrap_free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { __wrap_free(p); }

using gyre::compiled::AllocateAligned;
using gyre::compiled::FreeAligned;
using Align = std::align_val_t;

void* operator new(size_t n, Align a) { return AllocateAligned(n, a); }
void* operator new[](size_t n, Align a) { return AllocateAligned(n, a); }
void* operator new(size_t n, Align a, const std::nothrow_t&) noexcept {
  return AllocateAligned(n, a);
}
void* operator new[](size_t n, Align a, const std::nothrow_t&) noexcept {
  return AllocateAligned(n, a);
}
void operator delete(void* p, Align a) noexcept { FreeAligned(p, a); }
void operator delete[](void* p, Align a) noexcept { FreeAligned(p, a); }
void operator delete(void* p, size_t, Align a) noexcept { FreeAligned(p, a); }
void operator delete[](void* p, size_t, Align a) noexcept { FreeAligned(p, a); }
void operator delete(void* p, Align a, const std::nothrow_t&) noexcept { FreeAligned(p, a); }
void operator delete[](void* p, Align a, const std::nothrow_t&) noexcept { FreeAligned(p, a); }

// What code for GPUs stands on: types, addresses, threads. Compiled by clang for NVPTX, and without
// the C++ library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace gyre::gpu {

// Of the GPU's memory, and of what the threads of a block share.
#define GYRE_GLOBAL __attribute__((address_space(1)))
#define GYRE_SHARED __attribute__((address_space(3)))
// What the driver calls: see compiled/llvm/gpu_library.cc. It takes one structure.
#define GYRE_KERNEL extern "C" void

inline uint64_t ThreadOfBlock() { return __nvvm_read_ptx_sreg_tid_x(); }
inline uint64_t ThreadsOfBlock() { return __nvvm_read_ptx_sreg_ntid_x(); }
inline uint64_t Block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
inline uint64_t Blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }
inline uint64_t Thread() { return Block() * ThreadsOfBlock() + ThreadOfBlock(); }
inline uint64_t Threads() { return Blocks() * ThreadsOfBlock(); }
// All threads of the block come here.
inline void Meet() { __syncthreads(); }

template <typename T>
T Load(uint64_t base, uint64_t i) {
  return reinterpret_cast<const GYRE_GLOBAL T*>(base)[i];
}
template <typename T>
void Store(uint64_t base, uint64_t i, T value) {
  reinterpret_cast<GYRE_GLOBAL T*>(base)[i] = value;
}

// As many bytes as the launch says.
extern "C" GYRE_SHARED unsigned char gyre_shared[] __attribute__((aligned(16)));
template <typename T>
GYRE_SHARED T* Shared() {
  return reinterpret_cast<GYRE_SHARED T*>(&gyre_shared[0]);
}

// An element type: how it is stored, and in what it is computed.
template <typename S, typename A = S>
struct Plain {
  using Stored = S;
  using Computed = A;
  static A Up(S x) { return static_cast<A>(x); }
  static S Down(A x) { return static_cast<S>(x); }
};
using Float32 = Plain<float>;
using Float64 = Plain<double>;
using Float16 = Plain<_Float16, float>;
struct Bfloat16 {
  using Stored = uint16_t;
  using Computed = float;
  static float Up(uint16_t x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x) << 16); }
  // To nearest, ties to even; a NaN stays one.
  static uint16_t Down(float x) {
    const auto bits = __builtin_bit_cast(uint32_t, x);
    if (x != x) return static_cast<uint16_t>((bits >> 16) | 0x40);
    return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};

}  // namespace gyre::gpu

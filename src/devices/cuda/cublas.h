// cuBLAS, NVIDIA's library of matrix products: libcublas.so.13 or .12, opened when somebody first
// asks for it, and never linked. Types, numbers and functions are those of its interface
// (docs.nvidia.com/cuda/cublas), which is stable within a number; members are called as the
// function without its "cublas".
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "devices/cuda/gpu.h"
#include "ops/linalg/gemm.h"

namespace gyre::cuda {

enum class CublasResult : int { kSuccess = 0, kAllocFailed = 3 };  // cublasStatus_t, of many

struct Cublas {
  using Handle = struct CublasTag*;

  CublasResult (*Create)(Handle* handle);
  CublasResult (*SetStream)(Handle handle, StreamHandle stream);
  const char* (*GetStatusName)(CublasResult result);
  // Of matrices whose columns lie one after the other. `alpha` and `beta` are numbers of the type
  // that is computed in.
  CublasResult (*GemmStridedBatchedEx)(Handle handle, int turn_a, int turn_b, int m, int n, int k,
                                       const void* alpha, const void* a, int a_type, int a_column,
                                       long long a_stride, const void* b, int b_type, int b_column,
                                       long long b_stride, const void* beta, void* c, int c_type,
                                       int c_column, long long c_stride, int count, int compute,
                                       int algorithm);
};

// That of this machine; it stays for ever. The environment's GYRE_CUBLAS is the library's path;
// otherwise the loader finds it. FAILED_PRECONDITION, saying what is missing, without one.
const absl::StatusOr<const Cublas*>& TheCublas();

// Whether it multiplies this type: float, double, half, bfloat16.
bool IsCublasType(DType dtype);

// Puts the products into the stream. Half and bfloat16 are computed as float, and floats as floats
// (not as TF32). UNIMPLEMENTED for sizes beyond its interface's. Requirements: the GPU is current,
// one thread at a time, IsCublasType, and no product is empty or of nothing.
absl::Status CublasMultiply(const Gpu& gpu, StreamHandle stream, const GemmBatch& product);

}  // namespace gyre::cuda

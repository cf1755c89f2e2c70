// A fake cuBLAS, in the fake driver's library: products of matrices as loops, in the order of the
// stream that it is told.
#include <cmath>
#include <cstring>
#include <vector>

#include "fake_cuda/half.h"
#include "fake_cuda/memory.h"
#include "fake_cuda/work.h"

// NOLINTBEGIN(bugprone-easily-swappable-parameters)
namespace fake_cuda {
namespace {

struct FakeHandle {
  gyre::cuda::StreamHandle stream = nullptr;
};

constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 14;
constexpr int kComputeFloat = 68, kComputeDouble = 70;
constexpr int kInvalid = 7;  // CUBLAS_STATUS_INVALID_VALUE

size_t SizeOf(int type) { return type == kDouble ? 8 : type == kFloat ? 4 : 2; }

double Read(const char* at, int type) {
  switch (type) {
    case kDouble: {
      double value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    case kFloat: {
      float value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    default: {
      uint16_t bits;
      std::memcpy(&bits, at, sizeof(bits));
      return type == kHalf ? ToFloat(Half{bits})
                           : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    }
  }
}

void Write(char* at, int type, double value) {
  switch (type) {
    case kDouble:
      std::memcpy(at, &value, sizeof(value));
      return;
    case kFloat: {
      const auto number = static_cast<float>(value);
      std::memcpy(at, &number, sizeof(number));
      return;
    }
    default: {
      uint16_t bits = ToHalf(value).bits;
      if (type == kBfloat16) {
        const auto word = std::bit_cast<uint32_t>(static_cast<float>(value));
        bits = static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
      }
      std::memcpy(at, &bits, sizeof(bits));
    }
  }
}

struct Product {
  bool turn_a, turn_b;
  int m, n, k;
  double alpha, beta;
  uint64_t a, b, c;
  int type, a_column, b_column, c_column;
  long long a_stride, b_stride, c_stride;
  int count;

  Result Run() const {
    const auto size = static_cast<long long>(SizeOf(type));
    for (int i = 0; i < count; ++i) {
      for (int column = 0; column < n; ++column) {
        for (int row = 0; row < m; ++row) {
          double sum = 0;
          for (int l = 0; l < k; ++l) {
            const long long at_a = turn_a ? l + 1LL * row * a_column : row + 1LL * l * a_column;
            const long long at_b =
                turn_b ? column + 1LL * l * b_column : l + 1LL * column * b_column;
            const char* const x = At(a + static_cast<uint64_t>((i * a_stride + at_a) * size));
            const char* const y = At(b + static_cast<uint64_t>((i * b_stride + at_b) * size));
            if (x == nullptr || y == nullptr) return Result{700};
            sum += Read(x, type) * Read(y, type);
          }
          char* const to =
              At(c + static_cast<uint64_t>((i * c_stride + row + 1LL * column * c_column) * size));
          if (to == nullptr) return Result{700};
          Write(to, type, alpha * sum + (beta == 0 ? 0 : beta * Read(to, type)));
        }
      }
    }
    return Result::kSuccess;
  }

  char* At(uint64_t address) const {
    return static_cast<char*>(TheMemory().Host(address, SizeOf(type)));
  }
};

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT int cublasCreate_v2(FakeHandle** handle) {
  if (const Result fault = Enter("cublasCreate"); fault != Result::kSuccess) return 3;
  *handle = new FakeHandle;
  return 0;
}
EXPORT int cublasSetStream_v2(FakeHandle* handle, gyre::cuda::StreamHandle stream) {
  handle->stream = stream;
  return 0;
}
EXPORT const char* cublasGetStatusName(int) { return "an error of the fake cuBLAS"; }
EXPORT int cublasGemmStridedBatchedEx(FakeHandle* handle, int turn_a, int turn_b, int m, int n,
                                      int k, const void* alpha, uint64_t a, int a_type,
                                      int a_column, long long a_stride, uint64_t b, int b_type,
                                      int b_column, long long b_stride, const void* beta,
                                      uint64_t c, int c_type, int c_column, long long c_stride,
                                      int count, int compute, int) {
  if (Enter("cublasGemmStridedBatchedEx") != Result::kSuccess) return 14;
  const int rows_a = turn_a != 0 ? k : m, rows_b = turn_b != 0 ? n : k;
  if (a_type != b_type || a_type != c_type || m <= 0 || n <= 0 || k <= 0 || count <= 0 ||
      a_column < rows_a || b_column < rows_b || c_column < m ||
      compute != (a_type == kDouble ? kComputeDouble : kComputeFloat))
    return kInvalid;
  const auto number = [&](const void* at) {
    return compute == kComputeDouble ? Read(static_cast<const char*>(at), kDouble)
                                     : Read(static_cast<const char*>(at), kFloat);
  };
  const Product product = {turn_a != 0,  turn_b != 0, m,        n,        k,        number(alpha),
                           number(beta), a,           b,        c,        a_type,   a_column,
                           b_column,     c_column,    a_stride, b_stride, c_stride, count};
  PutWork(handle->stream, [product] { return product.Run(); });
  return 0;
}
}

}  // namespace fake_cuda
// NOLINTEND(bugprone-easily-swappable-parameters)

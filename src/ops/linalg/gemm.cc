#include "ops/linalg/gemm.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "base/signals.h"
#include "dnnl.h"
#include "ops/dispatch.h"
#include "ops/linalg/gemm_tile.h"
#include "ops/reduction/numeric.h"

// Of libgomp, on which oneDNN's threads depend.
extern "C" void omp_set_num_threads(int);

namespace gyre {
namespace {

// How a product is cut: c into blocks of m rows and n columns, which may run in parallel; each
// along k, with a look at cancellation in between (a block of m * n * k takes about a millisecond).
struct Blocking {
  int64_t m;
  int64_t n;
  int64_t k;
};

// Plain loops, for numbers without vector code.
template <typename T>
void RunPlainTile(const GemmTile<T>& tile, bool conjugate_a, bool conjugate_b) {
  const auto value = [](T x, bool conjugate) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return conjugate ? std::conj(x) : x;
    }
  };
  for (int64_t i = 0; i < tile.m; ++i) {
    T* c = tile.c + i * tile.c_row;
    if (!tile.accumulate) std::fill_n(c, tile.n, T{0});
    for (int64_t p = 0; p < tile.k; ++p) {
      const T x = value(tile.a[i * tile.a_row + p * tile.a_column], conjugate_a);
      const T* b = tile.b + p * tile.b_row;
      for (int64_t j = 0; j < tile.n; ++j) {
        const T y = value(b[j * tile.b_column], conjugate_b);
        // Small integers are promoted to int, whose overflow is undefined: as uint32_t they wrap.
        using U = std::conditional_t<std::is_same_v<T, uint8_t> || std::is_same_v<T, uint16_t>,
                                     uint32_t, T>;
        c[j] = static_cast<T>(static_cast<U>(c[j]) + Product(static_cast<U>(x), static_cast<U>(y)));
      }
    }
  }
}

// The pool of the run decides what is parallel: oneDNN has one thread, the caller's.
void UseOneThread() {
  thread_local const bool done = [] {
    omp_set_num_threads(1);
    return true;
  }();
  (void)done;
}

void RunLargeTile(const GemmTile<float>& tile);

// Above this number of multiplications oneDNN's packing pays.
constexpr double kLargeProduct = 64 * 64 * 64;

// oneDNN packs all of b for the few rows of a. Where b is transposed that takes as long as the
// product; the transpose of c is a product that packs a instead.
bool PaysTransposed(const GemmTile<float>& tile) {
  return tile.b_column != 1 && tile.m >= 16 && tile.m <= 48 && tile.n >= 128 && tile.k >= 256;
}

void RunTransposed(const GemmTile<float>& tile) {
  std::vector<float> transposed(tile.n * tile.m);
  RunLargeTile({tile.n, tile.m, tile.k, tile.b, tile.b_column, tile.b_row, tile.a, tile.a_column,
                tile.a_row, transposed.data(), tile.m, /*accumulate=*/false});
  constexpr int64_t kColumns = 16;  // a cache line of c
  for (int64_t begin = 0; begin < tile.n; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, tile.n);
    for (int64_t i = 0; i < tile.m; ++i) {
      float* const c = tile.c + i * tile.c_row;
      for (int64_t j = begin; j < end; ++j) {
        const float value = transposed[j * tile.m + i];
        c[j] = tile.accumulate ? c[j] + value : value;
      }
    }
  }
}

void RunLargeTile(const GemmTile<float>& tile) {
  if (PaysTransposed(tile)) return RunTransposed(tile);
  UseOneThread();
  // A factor with contiguous rows is as it is; the other kind has contiguous columns: its transpose
  // has. A single row may be both, with a distance to the next one that oneDNN would refuse.
  const bool a_is_rows = tile.a_column == 1;
  const bool b_is_rows = tile.b_column == 1;
  const auto multiply = [&] {
    // oneDNN's code for AVX-512 keeps its stack pointer in a buffer of the heap: a signal's frame
    // would be written in front of that.
    const NoSignals no_signals;
    return dnnl_sgemm(
        a_is_rows ? 'N' : 'T', b_is_rows ? 'N' : 'T', tile.m, tile.n, tile.k, 1.0f, tile.a,
        a_is_rows ? std::max(tile.a_row, tile.k) : std::max(tile.a_column, tile.m), tile.b,
        b_is_rows ? std::max(tile.b_row, tile.n) : std::max(tile.b_column, tile.k),
        tile.accumulate ? 1.0f : 0.0f, tile.c, tile.c_row);
  };
  if (multiply() == dnnl_success) return;
  // Out of memory for its packed copies.
  GemmTile<float> block = tile;
  for (int64_t p = 0; p < tile.k; p += kGemmBlockK) {
    block.k = std::min(kGemmBlockK, tile.k - p);
    block.a = tile.a + p * tile.a_column;
    block.b = tile.b + p * tile.b_row;
    block.accumulate = tile.accumulate || p > 0;
    RunTile(block);
  }
}

template <typename T>
class Multiplication {
 public:
  Multiplication(const KernelContext& ctx, const GemmBatch& batch) : ctx_(ctx), batch_(batch) {
    if constexpr (std::is_same_v<T, float>) {
      large_ = static_cast<double>(batch.m) * static_cast<double>(batch.n) *
                   static_cast<double>(batch.k) >
               kLargeProduct;
    }
    if (large_) {
      blocking_ = {256, 512, 512};
    } else if (std::is_floating_point_v<T>) {
      blocking_ = {96, 256, kGemmBlockK};
    } else if (kIsSmallFloat<T>) {
      blocking_ = {64, 128, kGemmBlockK};
    } else {
      blocking_ = {32, 256, 128};
    }
    row_blocks_ = (batch.m + blocking_.m - 1) / blocking_.m;
    column_blocks_ = (batch.n + blocking_.n - 1) / blocking_.n;
    for (const GemmBatch::Dim& dim : batch.batch) matrices_ *= dim.size;
  }

  absl::Status Run() const {
    const int64_t units = matrices_ * row_blocks_ * column_blocks_;
    const int64_t work = std::min(batch_.m, blocking_.m) * std::min(batch_.n, blocking_.n) *
                         std::min(batch_.k, int64_t{1} << 20);
    const int64_t grain = std::max<int64_t>(1, (1 << 17) / work);
    const auto body = [this](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit);
    };
    if (units <= grain) {
      body(0, units);
    } else {
      GYRE_RETURN_IF_ERROR(ctx_.ParallelRun(units, grain, body));
    }
    return ctx_.Poll();  // RunUnit stops half-way when cancelled
  }

 private:
  void RunUnit(int64_t unit) const {
    const int64_t column = unit % column_blocks_ * blocking_.n;
    const int64_t row = unit / column_blocks_ % row_blocks_ * blocking_.m;
    const int64_t matrix = unit / column_blocks_ / row_blocks_;
    int64_t a_offset = 0;
    int64_t b_offset = 0;
    int64_t rest = matrix;
    for (size_t d = batch_.batch.size(); d-- > 0;) {
      const GemmBatch::Dim& dim = batch_.batch[d];
      a_offset += rest % dim.size * dim.a_stride;
      b_offset += rest % dim.size * dim.b_stride;
      rest /= dim.size;
    }
    GemmTile<T> tile;
    tile.m = std::min(blocking_.m, batch_.m - row);
    tile.n = std::min(blocking_.n, batch_.n - column);
    tile.a_row = batch_.a.transposed ? 1 : batch_.a.stride;
    tile.a_column = batch_.a.transposed ? batch_.a.stride : 1;
    tile.b_row = batch_.b.transposed ? 1 : batch_.b.stride;
    tile.b_column = batch_.b.transposed ? batch_.b.stride : 1;
    tile.c_row = batch_.n;
    tile.c = static_cast<T*>(batch_.c) + (matrix * batch_.m + row) * batch_.n + column;
    const T* a = static_cast<const T*>(batch_.a.data) + a_offset + row * tile.a_row;
    const T* b = static_cast<const T*>(batch_.b.data) + b_offset + column * tile.b_column;
    if constexpr (kIsSmallFloat<T>) {
      RunAsFloat(tile, a, b);
    } else {
      ForBlocksOfK(tile, a, b, [this](const GemmTile<T>& block) { RunOne(block); });
    }
  }

  // Calls run(block) for the blocks of `tile` along k; stops when the run is cancelled.
  template <typename Run>
  void ForBlocksOfK(GemmTile<T> tile, const T* a, const T* b, const Run& run) const {
    for (int64_t p = 0; p < batch_.k; p += blocking_.k) {
      if (p > 0 && !ctx_.Poll().ok()) return;
      tile.k = std::min(blocking_.k, batch_.k - p);
      tile.a = a + p * tile.a_column;
      tile.b = b + p * tile.b_row;
      tile.accumulate = batch_.add || p > 0;
      run(tile);
    }
  }

  // Half and bfloat16: blocks are converted to float, and the sum back once it is complete.
  void RunAsFloat(const GemmTile<T>& tile, const T* a, const T* b) const {
    const int64_t k = std::min(blocking_.k, batch_.k);
    std::vector<float> buffer(tile.m * k + k * tile.n + tile.m * tile.n);
    float* a_buffer = buffer.data();
    float* b_buffer = a_buffer + tile.m * k;
    float* c_buffer = b_buffer + k * tile.n;
    for (int64_t i = 0; batch_.add && i < tile.m; ++i) {
      for (int64_t j = 0; j < tile.n; ++j)
        c_buffer[i * tile.n + j] = static_cast<float>(tile.c[i * tile.c_row + j]);
    }
    ForBlocksOfK(tile, a, b, [&](const GemmTile<T>& block) {
      for (int64_t i = 0; i < block.m; ++i) {
        for (int64_t p = 0; p < block.k; ++p) {
          a_buffer[i * block.k + p] =
              static_cast<float>(block.a[i * block.a_row + p * block.a_column]);
        }
      }
      for (int64_t p = 0; p < block.k; ++p) {
        for (int64_t j = 0; j < block.n; ++j) {
          b_buffer[p * block.n + j] =
              static_cast<float>(block.b[p * block.b_row + j * block.b_column]);
        }
      }
      RunTile(GemmTile<float>{block.m, block.n, block.k, a_buffer, block.k, 1, b_buffer, block.n, 1,
                              c_buffer, block.n, block.accumulate});
    });
    for (int64_t i = 0; i < tile.m; ++i) {
      for (int64_t j = 0; j < tile.n; ++j) {
        tile.c[i * tile.c_row + j] = static_cast<T>(c_buffer[i * tile.n + j]);
      }
    }
  }

  void RunOne(const GemmTile<T>& tile) const {
    if constexpr (std::is_same_v<T, float>) {
      large_ ? RunLargeTile(tile) : RunTile(tile);
    } else if constexpr (std::is_same_v<T, double>) {
      RunTile(tile);
    } else {
      RunPlainTile(tile, batch_.a.conjugated, batch_.b.conjugated);
    }
  }

  const KernelContext& ctx_;
  const GemmBatch& batch_;
  bool large_ = false;
  Blocking blocking_;
  int64_t row_blocks_ = 0;
  int64_t column_blocks_ = 0;
  int64_t matrices_ = 1;
};

// Integers of either sign are multiplied and added as unsigned ones: the bits are the same.
using Multipliable = Types<float, double, Half, BFloat16, uint8_t, uint16_t, uint32_t, uint64_t,
                           complex64, complex128>;

DType Unsigned(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return DType::kUint8;
    case DType::kInt16:
      return DType::kUint16;
    case DType::kInt32:
      return DType::kUint32;
    case DType::kInt64:
      return DType::kUint64;
    default:
      return dtype;
  }
}

template <typename T>
void RunSmallTile(const GemmBatch& product) {
  const GemmFactor &a = product.a, &b = product.b;
  RunTile(GemmTile<T>{.m = product.m,
                      .n = product.n,
                      .k = product.k,
                      .a = static_cast<const T*>(a.data),
                      .a_row = a.transposed ? 1 : a.stride,
                      .a_column = a.transposed ? a.stride : 1,
                      .b = static_cast<const T*>(b.data),
                      .b_row = b.transposed ? 1 : b.stride,
                      .b_column = b.transposed ? b.stride : 1,
                      .c = static_cast<T*>(product.c),
                      .c_row = product.n,
                      .accumulate = product.add});
}

}  // namespace

bool IsSmallProduct(DType dtype, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kMost = 64;  // rows and columns of one tile, whatever the type
  constexpr int64_t kMostProducts = 1 << 14;
  return (dtype == DType::kFloat || dtype == DType::kDouble) && m > 0 && n > 0 && k > 0 &&
         m <= kMost && n <= 4 * kMost && k <= kGemmBlockK && m * n * k <= kMostProducts;
}

void MultiplySmall(const GemmBatch& product) {
  product.dtype == DType::kFloat ? RunSmallTile<float>(product) : RunSmallTile<double>(product);
}

absl::Status Multiply(const KernelContext& ctx, const GemmBatch& batch) {
  int64_t elements = batch.m * batch.n;
  for (const GemmBatch::Dim& dim : batch.batch) elements *= dim.size;
  if (elements == 0) return absl::OkStatus();
  if (batch.k == 0) {
    if (batch.add) return absl::OkStatus();
    std::memset(batch.c, 0, elements * DTypeSize(batch.dtype));
    return absl::OkStatus();
  }
  return VisitType<Multipliable>(Unsigned(batch.dtype), [&](auto tag) {
    return Multiplication<typename decltype(tag)::type>(ctx, batch).Run();
  });
}

}  // namespace gyre

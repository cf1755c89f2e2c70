#include "devices/cuda/cublas.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::cuda {
namespace {

constexpr const char* kVariable = "GYRE_CUBLAS";
constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12"};

// cudaDataType, cublasComputeType_t, cublasOperation_t, cublasGemmAlgo_t.
constexpr int kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 14;
constexpr int kComputeFloat = 68, kComputeDouble = 70;
constexpr int kAsIs = 0, kTransposed = 1;
constexpr int kDefaultAlgorithm = -1;

absl::StatusOr<void*> Open() {
  if (const char* const path = std::getenv(kVariable); path != nullptr && *path != 0) {
    // Beside it lies what it is made of, which the loader may not know.
    std::string beside(path);
    if (const size_t at = beside.find("libcublas.so"); at != std::string::npos) {
      beside.replace(at, 9, "libcublasLt");
      dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    return absl::FailedPreconditionError(absl::StrCat("cuBLAS (", kVariable, "): ", dlerror()));
  }
  for (const char* name : kLibraries) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("cuBLAS is not there (libcublas.so.13 or .12, or what the environment variable ",
                   kVariable, " names)"));
}

absl::StatusOr<const Cublas*> Load() {
  GYRE_ASSIGN_OR_RETURN(void* const library, Open());
  auto cublas = std::make_unique<Cublas>();
  const auto find = [&](auto& member, const char* name) {
    static_assert(sizeof(member) == sizeof(void*));
    void* const function = dlsym(library, name);
    reinterpret_cast<void*&>(member) = function;
    return function != nullptr;
  };
  if (find(cublas->Create, "cublasCreate_v2") && find(cublas->SetStream, "cublasSetStream_v2") &&
      find(cublas->GetStatusName, "cublasGetStatusName") &&
      find(cublas->GemmStridedBatchedEx, "cublasGemmStridedBatchedEx"))
    return cublas.release();
  return absl::FailedPreconditionError("cuBLAS is older than version 12");
}

absl::Status Check(const Cublas& cublas, const Gpu& gpu, const char* call, CublasResult result) {
  if (result == CublasResult::kSuccess) [[likely]]
    return absl::OkStatus();
  const std::string what =
      absl::StrCat(gpu.name(), ": ", call, " failed with ", cublas.GetStatusName(result), " (",
                   static_cast<int>(result), ")");
  return result == CublasResult::kAllocFailed ? absl::ResourceExhaustedError(what)
                                              : absl::UnavailableError(what);
}

// That of a GPU, made when it first multiplies. One thread at a time.
absl::StatusOr<Cublas::Handle> HandleOf(const Cublas& cublas, const Gpu& gpu, StreamHandle stream) {
  static std::array<Cublas::Handle, kMostGpus> handles{};
  Cublas::Handle& handle = handles[static_cast<size_t>(gpu.number())];
  if (handle == nullptr)
    GYRE_RETURN_IF_ERROR(Check(cublas, gpu, "cublasCreate", cublas.Create(&handle)));
  GYRE_RETURN_IF_ERROR(Check(cublas, gpu, "cublasSetStream", cublas.SetStream(handle, stream)));
  return handle;
}

// How a type is stored and computed.
struct Types {
  int stored = kFloat, computed = kComputeFloat;
};
Types TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return {kDouble, kComputeDouble};
    case DType::kHalf:
      return {kHalf, kComputeFloat};
    case DType::kBfloat16:
      return {kBfloat16, kComputeFloat};
    default:
      return {};
  }
}

// A batch of one dimension: what one call multiplies.
class Caller {
 public:
  Caller(const Cublas& cublas, const Gpu& gpu, Cublas::Handle handle, const GemmBatch& product)
      : cublas_(cublas),
        gpu_(gpu),
        handle_(handle),
        product_(product),
        types_(TypesOf(product.dtype)),
        size_(static_cast<int64_t>(DTypeSize(product.dtype))) {}

  // All from dimension `d` of the batch on; `a`, `b` and `c` are where its first matrices lie, in
  // elements.
  absl::Status Multiply(size_t d, int64_t a, int64_t b, int64_t& c) const {
    const size_t left = product_.batch.size() - d;
    const int64_t matrix = product_.m * product_.n;
    if (left <= 1) {
      const GemmBatch::Dim one = {1, 0, 0};
      const GemmBatch::Dim& dim = left == 1 ? product_.batch[d] : one;
      GYRE_RETURN_IF_ERROR(Call(dim, a, b, c));
      c += dim.size * matrix;
      return absl::OkStatus();
    }
    const GemmBatch::Dim& dim = product_.batch[d];
    for (int64_t i = 0; i < dim.size; ++i)
      GYRE_RETURN_IF_ERROR(Multiply(d + 1, a + i * dim.a_stride, b + i * dim.b_stride, c));
    return absl::OkStatus();
  }

 private:
  // Rows of ours are its columns: it computes the transposed product, of the factors in turn.
  absl::Status Call(const GemmBatch::Dim& dim, int64_t a, int64_t b, int64_t c) const {
    constexpr float kOneFloat = 1, kZeroFloat = 0;
    constexpr double kOneDouble = 1, kZeroDouble = 0;
    const bool is_double = types_.computed == kComputeDouble;
    const void* const one = is_double ? static_cast<const void*>(&kOneDouble) : &kOneFloat;
    const void* const zero = is_double ? static_cast<const void*>(&kZeroDouble) : &kZeroFloat;
    const auto at = [&](const void* data, int64_t element) {
      return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(data) +
                                     static_cast<uint64_t>(element * size_));
    };
    return Check(
        cublas_, gpu_, "cublasGemmStridedBatchedEx",
        cublas_.GemmStridedBatchedEx(
            handle_, product_.b.transposed ? kTransposed : kAsIs,
            product_.a.transposed ? kTransposed : kAsIs, static_cast<int>(product_.n),
            static_cast<int>(product_.m), static_cast<int>(product_.k), one, at(product_.b.data, b),
            types_.stored, static_cast<int>(product_.b.stride), dim.b_stride,
            at(product_.a.data, a), types_.stored, static_cast<int>(product_.a.stride),
            dim.a_stride, product_.add ? one : zero, at(product_.c, c), types_.stored,
            static_cast<int>(product_.n), product_.m * product_.n, static_cast<int>(dim.size),
            types_.computed, kDefaultAlgorithm));
  }

  const Cublas& cublas_;
  const Gpu& gpu_;
  const Cublas::Handle handle_;
  const GemmBatch& product_;
  const Types types_;
  const int64_t size_;  // bytes of an element
};

// Neighbouring dimensions of a batch that both factors walk through alike are one.
void Merge(GemmBatch& product) {
  auto& dims = product.batch;
  for (size_t i = dims.size(); i-- > 1;) {
    if (dims[i - 1].a_stride != dims[i].a_stride * dims[i].size ||
        dims[i - 1].b_stride != dims[i].b_stride * dims[i].size)
      continue;
    dims[i - 1] = {dims[i - 1].size * dims[i].size, dims[i].a_stride, dims[i].b_stride};
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(i));
  }
}

bool IsInt(int64_t size) { return size <= std::numeric_limits<int>::max(); }

}  // namespace

const absl::StatusOr<const Cublas*>& TheCublas() {
  static const auto* const cublas = new absl::StatusOr<const Cublas*>(Load());
  return *cublas;
}

bool IsCublasType(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf ||
         dtype == DType::kBfloat16;
}

absl::Status CublasMultiply(const Gpu& gpu, StreamHandle stream, const GemmBatch& product) {
  GYRE_RETURN_IF_ERROR(TheCublas().status());
  GemmBatch merged = product;
  Merge(merged);
  bool fits = IsInt(product.m) && IsInt(product.n) && IsInt(product.k) && IsInt(product.a.stride) &&
              IsInt(product.b.stride);
  for (const GemmBatch::Dim& dim : merged.batch) fits &= IsInt(dim.size);
  if (!fits) return absl::UnimplementedError("cuBLAS multiplies no matrices that are so large");
  const Cublas& cublas = **TheCublas();
  GYRE_ASSIGN_OR_RETURN(const Cublas::Handle handle, HandleOf(cublas, gpu, stream));
  int64_t c = 0;
  return Caller(cublas, gpu, handle, merged).Multiply(0, 0, 0, c);
}

}  // namespace gyre::cuda

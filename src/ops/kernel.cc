#include "ops/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/device_memory.h"

namespace gyre {
namespace {

// FNV-1a, then a finaliser (SplitMix64, Steele et al. 2014): the same on every machine.
uint64_t HashBytes(absl::string_view bytes, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ seed;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <typename T>
std::vector<int64_t> ToInt64(const Tensor& t) {
  const absl::Span<const T> values = t.values<T>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace

uint64_t ChildFrameId(Tag parent, absl::string_view name) {
  return Mix(HashBytes(name, Mix(parent.frame ^ Mix(static_cast<uint64_t>(parent.iteration)))));
}

absl::StatusOr<Tensor> KernelContext::AllocateZeros(DType dtype, const Shape& shape) const {
  GYRE_ASSIGN_OR_RETURN(Tensor zeros, Allocate(dtype, shape));
  if (!IsTrivial(dtype)) return zeros;
  if (zeros.device() != nullptr) {
    GYRE_RETURN_IF_ERROR(TheDeviceMemory().clear(*this, zeros));
    return zeros;
  }
  constexpr size_t kPiece = size_t{1} << 22;  // about a millisecond, fresh pages included
  char* to = static_cast<char*>(zeros.mutable_raw_data());
  for (size_t begin = 0; begin < zeros.bytes(); begin += kPiece) {
    if (begin > 0) GYRE_RETURN_IF_ERROR(Poll());
    std::memset(to + begin, 0, std::min(kPiece, zeros.bytes() - begin));
  }
  return zeros;
}

absl::StatusOr<Tensor> KernelContext::ReuseOrAllocate(int i, DType dtype, const Shape& shape) {
  Tensor& candidate = inputs_[i];
  if (candidate.dtype() == dtype && candidate.has_value() && IsTrivial(dtype) &&
      candidate.shape() == shape && candidate.IsUnique()) {
    return candidate;
  }
  return Allocate(dtype, shape);
}

absl::StatusOr<int64_t> KernelContext::IntScalar(int i, absl::string_view what) const {
  const Tensor& t = input(i);
  if (t.num_elements() != 1 || t.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a scalar, but it has shape ", t.shape().ToString()));
  }
  if (t.dtype() == DType::kInt32) return t.scalar<int32_t>();
  if (t.dtype() == DType::kInt64) return t.scalar<int64_t>();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be int32 or int64, but it is ", DTypeName(t.dtype())));
}

absl::StatusOr<std::vector<int64_t>> KernelContext::IntVector(int i, absl::string_view what) const {
  const Tensor& t = input(i);
  if (t.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a vector, but it has shape ", t.shape().ToString()));
  }
  if (t.dtype() == DType::kInt32) return ToInt64<int32_t>(t);
  if (t.dtype() == DType::kInt64) return ToInt64<int64_t>(t);
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be int32 or int64, but it is ", DTypeName(t.dtype())));
}

absl::StatusOr<Shape> KernelContext::ShapeInput(int i, absl::string_view what) const {
  GYRE_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, IntVector(i, what));
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Annotate(shape.status(), what);
  return shape;
}

absl::Status KernelContext::ParallelRun(int64_t n, int64_t grain,
                                        const std::function<void(int64_t, int64_t)>& body) const {
  grain = std::max<int64_t>(grain, 1);
  if (env_.parallel == nullptr) {
    for (int64_t begin = 0; begin < n; begin += grain) {
      if (begin > 0) GYRE_RETURN_IF_ERROR(Poll());
      body(begin, std::min(n, begin + grain));
    }
    return absl::OkStatus();
  }
  // The rest of what is given up is passed over quickly, however many pieces that are.
  std::atomic<bool> is_given_up = false;
  env_.parallel->Run(n, grain, [&](int64_t begin, int64_t end) {
    if (is_given_up.load(std::memory_order_relaxed)) return;
    Poll().ok() ? body(begin, end) : is_given_up.store(true, std::memory_order_relaxed);
  });
  return Poll();
}

std::pair<uint64_t, uint64_t> KernelContext::RandomKey(int64_t seed, int64_t seed2) const {
  uint64_t h = Mix(static_cast<uint64_t>(seed) ^ Mix(static_cast<uint64_t>(seed2)));
  if (seed == 0 && seed2 == 0) h = Mix(h ^ env_.seed);
  h = HashBytes(node_.name, h);
  h = Mix(h ^ Mix(tag_.frame) ^ Mix(static_cast<uint64_t>(tag_.iteration) * 3 + 1) ^
          Mix(env_.run_id * 5 + 2));
  return {h, Mix(h + 1)};
}

}  // namespace gyre

#include "bundle/region.h"

#include <algorithm>
#include <cstring>

namespace gyre {
namespace {

void CopyRun(const Tensor& from, int64_t from_index, Tensor& to, int64_t to_index, int64_t n) {
  if (from.dtype() == DType::kString) {
    const auto source = from.values<std::string>().subspan(from_index, n);
    std::copy(source.begin(), source.end(), to.mutable_values<std::string>().begin() + to_index);
    return;
  }
  const size_t size = DTypeSize(from.dtype());
  std::memcpy(static_cast<char*>(to.mutable_raw_data()) + to_index * size,
              static_cast<const char*>(from.raw_data()) + from_index * size, n * size);
}

// The number, in row-major order, of the element at `start` + `offset`.
int64_t IndexOf(const Shape& shape, absl::Span<const int64_t> start, const Dims& offset) {
  int64_t index = 0;
  for (int i = 0; i < shape.rank(); ++i) index = index * shape.dim(i) + start[i] + offset[i];
  return index;
}

}  // namespace

void CopyRegion(const Tensor& from, absl::Span<const int64_t> from_start, Tensor& to,
                absl::Span<const int64_t> to_start, const Shape& extent) {
  if (extent.num_elements() == 0) return;
  const int rank = extent.rank();
  const int64_t run = rank == 0 ? 1 : extent.dim(rank - 1);
  Dims offset(rank, 0);
  for (int axis = 0; axis >= 0;) {
    CopyRun(from, IndexOf(from.shape(), from_start, offset), to,
            IndexOf(to.shape(), to_start, offset), run);
    for (axis = rank - 2; axis >= 0; --axis) {  // the next row, as an odometer counts
      if (++offset[axis] < extent.dim(axis)) break;
      offset[axis] = 0;
    }
  }
}

}  // namespace gyre

// Where: the coordinates of the elements that are not zero.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "ir/shape_context.h"
#include "ops/array/layout.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

// Truth values and quantised elements are zero when their bytes are.
DType StorageType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kQint8:
    case DType::kQuint8:
      return DType::kUint8;
    case DType::kQint16:
    case DType::kQuint16:
      return DType::kUint16;
    case DType::kQint32:
      return DType::kUint32;
    default:
      return dtype;
  }
}

template <typename T>
bool IsNonZero(const T& x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return (x.bits & 0x7fff) != 0;
  } else {
    return x != T();
  }
}

// Writes the coordinates of the nonzero elements among [begin, end), one row each.
template <typename T>
void WriteCoordinates(const T* x, const Shape& shape, int64_t begin, int64_t end, int64_t* row) {
  const int rank = shape.rank();
  for (int64_t i = begin; i < end; ++i) {
    if (!IsNonZero(x[i])) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      row[d] = rest % shape.dim(d);
      rest /= shape.dim(d);
    }
    row += rank;
  }
}

// Two passes over blocks of a fixed size: count, then write where the counts say.
template <typename T>
absl::Status FindNonZero(KernelContext& ctx, const Tensor& input) {
  const T* x = static_cast<const T*>(input.raw_data());
  const int64_t n = input.num_elements();
  const int64_t blocks = (n + kElementGrain - 1) / kElementGrain;
  GYRE_ASSIGN_OR_RETURN(Tensor starts, ctx.Allocate(DType::kInt64, Shape::Vector(blocks + 1)));
  int64_t* start = starts.mutable_values<int64_t>().data();
  const auto block_end = [&](int64_t b) { return std::min(n, (b + 1) * kElementGrain); };
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      start[b + 1] = std::count_if(x + b * kElementGrain, x + block_end(b), IsNonZero<T>);
    }
  }));
  start[0] = 0;
  for (int64_t b = 0; b < blocks; ++b) start[b + 1] += start[b];
  const int rank = input.rank();
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({start[blocks], rank}));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kInt64, shape));
  int64_t* rows = out.mutable_values<int64_t>().data();
  GYRE_RETURN_IF_ERROR(RunPieces(ctx, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      WriteCoordinates(x, input.shape(), b * kElementGrain, block_end(b), rows + start[b] * rank);
    }
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status ComputeWhere(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  return VisitType<NumberTypes>(StorageType(input.dtype()), [&](auto tag) {
    return FindNonZero<typename decltype(tag)::type>(ctx, input);
  });
}

absl::Status WhereRule(ShapeContext& ctx) {
  const PartialShape& in = ctx.input(0);
  ctx.set_output(0, PartialShape(Dims{-1, in.has_rank() ? in.rank() : -1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterWhere(OpRegistry& ops) {
  ops.Add({
      .schema = "Where(input: T) -> index: int64 {T: {numbertype, bool} = bool}",
      .doc = "The coordinates of the elements that are not zero, in row-major order.",
      .shape = WhereRule,
      .gradient = NotDifferentiable("coordinates are integers"),
      .kernel = Compute<ComputeWhere>(),
  });
}

}  // namespace gyre

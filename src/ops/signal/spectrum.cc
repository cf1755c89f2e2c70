#include "ops/signal/spectrum.h"

#include <algorithm>

#include "base/status.h"

namespace gyre {
namespace {

// Numbers that one piece of work reads, about.
constexpr int64_t kPieceNumbers = 1 << 14;

// Scratch for pieces of work, each of which needs four arrays of `size` numbers.
template <typename R>
class Scratch {
 public:
  static absl::StatusOr<Scratch> Make(const KernelContext& ctx, int64_t pieces, int64_t size) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({pieces, 4, size}));
    GYRE_ASSIGN_OR_RETURN(Tensor memory, ctx.Allocate(DTypeOf<R>, shape));
    return Scratch(std::move(memory), size);
  }
  FftParts<R> x(int64_t piece) const { return {data_ + 4 * piece * size_, At(piece, 1)}; }
  FftParts<R> other(int64_t piece) const { return {At(piece, 2), At(piece, 3)}; }

 private:
  Scratch(Tensor memory, int64_t size)
      : memory_(std::move(memory)), data_(memory_.mutable_values<R>().data()), size_(size) {}
  R* At(int64_t piece, int64_t array) const { return data_ + (4 * piece + array) * size_; }

  Tensor memory_;
  R* data_;
  int64_t size_;
};

// Runs body(item, x, other) for items [0, count), several to a piece.
template <typename R>
absl::Status ForItems(
    const KernelContext& ctx, int64_t count, int64_t size, int64_t cost,
    const std::function<void(int64_t item, FftParts<R> x, FftParts<R> other)>& body) {
  // Not so many pieces that their scratch is more than what is transformed.
  const int64_t per_piece =
      std::max<int64_t>({1, kPieceNumbers / std::max<int64_t>(cost, 1), count / 64});
  const int64_t pieces = (count + per_piece - 1) / per_piece;
  GYRE_ASSIGN_OR_RETURN(const Scratch<R> scratch, Scratch<R>::Make(ctx, pieces, size));
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t last = std::min(count, (piece + 1) * per_piece);
      for (int64_t i = piece * per_piece; i < last; ++i) {
        if (!ctx.Poll().ok()) return;
        body(i, scratch.x(piece), scratch.other(piece));
      }
    }
  }));
  return ctx.Poll();
}

}  // namespace

template <typename R>
absl::Status TransformRows(const KernelContext& ctx, int64_t count, int64_t n,
                           const std::function<void(int64_t, FftParts<R>)>& load,
                           const std::function<void(int64_t, FftParts<R>)>& store) {
  const auto must_stop = [&ctx] { return !ctx.Poll().ok(); };
  const Fft<R> fft(n, must_stop);
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  return ForItems<R>(ctx, count, fft.NeededSize(1), n,
                     [&](int64_t row, FftParts<R> x, FftParts<R> other) {
                       load(row, x);
                       fft.Run(x, other, 1, must_stop);
                       store(row, x);
                     });
}

template <typename R>
absl::Status TransformAxis(const KernelContext& ctx, std::complex<R>* data, const Shape& shape,
                           int axis, bool inverse) {
  const int64_t n = shape.dim(axis);
  if (shape.num_elements() == 0 || n == 1) return absl::OkStatus();
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  const int64_t outer = shape.num_elements() / (n * inner);
  const auto must_stop = [&ctx] { return !ctx.Poll().ok(); };
  const Fft<R> fft(n, must_stop);
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  const R scale = inverse ? static_cast<R>(1.0 / static_cast<double>(n)) : R(1);
  constexpr int64_t kMostColumns = 32;
  const int64_t columns = std::min(inner, kMostColumns);
  const int64_t chunks = (inner + columns - 1) / columns;
  return ForItems<R>(ctx, outer * chunks, fft.NeededSize(columns), n * columns,
                     [&](int64_t item, FftParts<R> x, FftParts<R> other) {
                       const int64_t first = item % chunks * columns;
                       const int64_t width = std::min(columns, inner - first);
                       std::complex<R>* own = data + item / chunks * n * inner + first;
                       // The inverse transform is that of swapped parts.
                       R* re = inverse ? x.im : x.re;
                       R* im = inverse ? x.re : x.im;
                       for (int64_t i = 0; i < n; ++i) {
                         for (int64_t c = 0; c < width; ++c) {
                           re[i * width + c] = own[i * inner + c].real();
                           im[i * width + c] = own[i * inner + c].imag();
                         }
                       }
                       fft.Run(x, other, width, must_stop);
                       for (int64_t i = 0; i < n; ++i) {
                         for (int64_t c = 0; c < width; ++c)
                           own[i * inner + c] = {re[i * width + c] * scale,
                                                 im[i * width + c] * scale};
                       }
                     });
}

template <typename T>
absl::Status CopyCorner(const KernelContext& ctx, const T* from, const Shape& from_shape, T* to,
                        const Shape& to_shape) {
  const int rank = to_shape.rank();
  if (rank == 0) {
    *to = *from;
    return absl::OkStatus();
  }
  const int64_t row = to_shape.dim(rank - 1), from_row = from_shape.dim(rank - 1);
  const int64_t kept = std::min(row, from_row);
  if (to_shape.num_elements() == 0) return absl::OkStatus();
  const int64_t grain = std::max<int64_t>(1, (1 << 14) / row);
  return ctx.ParallelRun(to_shape.num_elements() / row, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r, source = 0, stride = 1;
      bool has_source = kept > 0;
      for (int i = rank - 2; i >= 0; --i) {
        const int64_t index = rest % to_shape.dim(i);
        rest /= to_shape.dim(i);
        has_source = has_source && index < from_shape.dim(i);
        source += index * stride;
        stride *= from_shape.dim(i);
      }
      T* out = to + r * row;
      const int64_t copied = has_source ? kept : 0;
      if (copied > 0) std::copy_n(from + source * from_row, copied, out);
      std::fill(out + copied, out + row, T());
    }
  });
}

#define GYRE_INSTANTIATE(R)                                                                        \
  template absl::Status TransformAxis<R>(const KernelContext&, std::complex<R>*, const Shape&,     \
                                         int, bool);                                               \
  template absl::Status TransformRows<R>(const KernelContext&, int64_t, int64_t,                   \
                                         const std::function<void(int64_t, FftParts<R>)>&,         \
                                         const std::function<void(int64_t, FftParts<R>)>&);        \
  template absl::Status CopyCorner<std::complex<R>>(const KernelContext&, const std::complex<R>*,  \
                                                    const Shape&, std::complex<R>*, const Shape&); \
  template absl::Status CopyCorner<R>(const KernelContext&, const R*, const Shape&, R*,            \
                                      const Shape&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(double)
#undef GYRE_INSTANTIATE

}  // namespace gyre

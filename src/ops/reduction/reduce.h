// The one loop behind Sum, Mean, Prod, Max, Min, All and Any.
//
// A reducer says what is combined:
//   using In, Acc;                            element type; type of partial results
//   static Acc Identity();                    the result of reducing nothing
//   static Acc Load(In);
//   static Acc Combine(Acc, Acc);             associative up to rounding
//   Out Finish(Acc, int64_t count) const;     `count` elements went in
//
// Partial results are combined pairwise (error growth log n instead of n: Higham, "The accuracy of
// floating point summation", 1993). The tree depends on shapes alone, so the bits do not depend on
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "gyre/core/tensor.h"
#include "ops/dense_code.h"
#include "ops/kernel.h"
#include "ops/reduction/axes.h"

namespace gyre {

// `tensor` reduced over the dimensions marked in `reduced`.
template <typename R>
absl::StatusOr<Tensor> Reduce(const KernelContext& ctx, const Tensor& tensor,
                              const ReducedDims& reduced, bool keep_dims, const R& reducer);

// From axes of any rank, int32 or int64.
absl::StatusOr<ReducedDims> ReducedDimsOf(const Tensor& axes, int rank);
// The axes of a reduction op: input 1.
absl::StatusOr<ReducedDims> AxesInput(const KernelContext& ctx);

struct ReduceAttrs {
  explicit ReduceAttrs(const Node& node) : keep_dims(NodeAttr<bool>(node, "keep_dims")) {}
  bool keep_dims;
};

// The kernel of ops with inputs (input, reduction_indices).
template <typename R>
absl::Status ReduceInput(KernelContext& ctx, bool keep_dims, const R& reducer) {
  GYRE_ASSIGN_OR_RETURN(const ReducedDims reduced, AxesInput(ctx));
  const Tensor& input = ctx.input(0);
  if (ReducesNothing(input.shape(), reduced)) {
    ctx.set_output(0, input.Reshaped(ReducedShape(input.shape(), reduced, keep_dims)));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(Tensor result, Reduce(ctx, input, reduced, keep_dims, reducer));
  ctx.set_output(0, std::move(result));
  return absl::OkStatus();
}

// ---------------------------------------------------------------------------------------------

namespace internal {

// Output elements that one piece of work computes at once when the innermost run is kept.
inline constexpr int64_t kReduceTile = 256;
// Input elements of a piece of work.
inline constexpr int64_t kReduceGrain = 1 << 15;
// Pieces of work that a reduction with few results is cut into, at most.
inline constexpr int64_t kReduceMaxChunks = 1024;

template <typename R>
class Reduction {
 public:
  using In = typename R::In;
  using Acc = typename R::Acc;
  using Out = decltype(std::declval<const R&>().Finish(std::declval<Acc>(), int64_t{}));

  Reduction(const R& reducer, const ReductionPlan& plan, const In* in, Out* out)
      : reducer_(reducer), plan_(plan), in_(in), out_(out) {
    tiles_ = (plan.width() + kReduceTile - 1) / kReduceTile;
    // A long reduction with few results is cut, so that it can be shared out and stopped.
    const int64_t work = plan.count() * std::min(plan.width(), kReduceTile);
    if (plan.rows * tiles_ < 64 && work > 2 * kReduceGrain) {
      chunks_ =
          std::min({kReduceMaxChunks / (plan.rows * tiles_), plan.count(), work / kReduceGrain});
    }
    units_ = plan.rows * tiles_ * chunks_;
    unit_work_ = std::max<int64_t>(1, work / chunks_);
  }

  // What is not cut: on this thread, without an allocation.
  bool IsOnePiece() const { return chunks_ == 1; }
  void RunPiece() {
    for (int64_t unit = 0; unit < units_; ++unit) RunUnit(unit);
  }

  absl::Status Run(const KernelContext& ctx) {
    Tensor partial_buffer;
    if (chunks_ > 1) {
      const int64_t bytes =
          chunks_ * plan_.rows * plan_.width() * static_cast<int64_t>(sizeof(Acc));
      GYRE_ASSIGN_OR_RETURN(partial_buffer, ctx.Allocate(DType::kUint8, Shape::Vector(bytes)));
      partials_ = static_cast<Acc*>(partial_buffer.mutable_raw_data());
    }
    const int64_t grain = std::max<int64_t>(1, kReduceGrain / unit_work_);
    const auto body = [this](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) RunUnit(unit);
    };
    if (units_ <= grain) {
      body(0, units_);
    } else {
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(units_, grain, body));
    }
    if (chunks_ > 1) CombineChunks();
    return absl::OkStatus();
  }

 private:
  // Unit = (row, tile, chunk), the chunk varying fastest.
  void RunUnit(int64_t unit) {
    const int64_t chunk = unit % chunks_;
    const int64_t tile = unit / chunks_ % tiles_;
    const int64_t row = unit / chunks_ / tiles_;
    // Chunks 0 … e-1 hold one element more than the others.
    const int64_t size = plan_.count() / chunks_;
    const int64_t extra = plan_.count() % chunks_;
    const int64_t begin = chunk * size + std::min(chunk, extra);
    const int64_t end = begin + size + (chunk < extra ? 1 : 0);
    const int64_t column = tile * kReduceTile;
    const int64_t width = std::min(kReduceTile, plan_.width() - column);
    const In* x = in_ + plan_.RowOffset(row) + column;

    const int64_t first = row * plan_.width() + column;
    if (plan_.inner_reduced) {
      const Acc acc = ReduceRange(x, begin, end);
      Store(chunk, first, &acc, 1);
    } else {
      Acc acc[kReduceTile];
      ReduceSteps(x, begin, end, width, acc);
      Store(chunk, first, acc, width);
    }
  }

  // Output elements [first, first + n), or what this chunk has to say about them.
  void Store(int64_t chunk, int64_t first, const Acc* acc, int64_t n) {
    if (chunks_ > 1) {
      std::copy_n(acc, n, partials_ + chunk * plan_.rows * plan_.width() + first);
    } else {
      for (int64_t j = 0; j < n; ++j) out_[first + j] = reducer_.Finish(acc[j], plan_.count());
    }
  }

  // Elements [begin, end) of a row whose innermost run is reduced, counted across its steps.
  Acc ReduceRange(const In* x, int64_t begin, int64_t end) const {
    const int64_t first = begin / plan_.inner;
    const int64_t last = (end - 1) / plan_.inner;
    if (first == last) {
      return ReduceSegment(x + plan_.StepOffset(first) + begin % plan_.inner, end - begin);
    }
    const int64_t middle = (first + (last - first + 1) / 2) * plan_.inner;
    return R::Combine(ReduceRange(x, begin, middle), ReduceRange(x, middle, end));
  }

  static Acc ReduceSegment(const In* x, int64_t n) {
    constexpr int64_t kLanes = 8;
    constexpr int64_t kLeaf = 512;
    if (n > kLeaf) {
      const int64_t half = n / 2 / kLanes * kLanes;
      return R::Combine(ReduceSegment(x, half), ReduceSegment(x + half, n - half));
    }
    Acc result = R::Identity();
    int64_t i = 0;
    if (n >= 2 * kLanes) {
      Acc lanes[kLanes];
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] = R::Load(x[j]);
      for (i = kLanes; i + kLanes <= n; i += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j) lanes[j] = R::Combine(lanes[j], R::Load(x[i + j]));
      }
      for (int64_t step = kLanes / 2; step > 0; step /= 2) {
        for (int64_t j = 0; j < step; ++j) lanes[j] = R::Combine(lanes[j], lanes[j + step]);
      }
      result = lanes[0];
    }
    for (; i < n; ++i) result = R::Combine(result, R::Load(x[i]));
    return result;
  }

  // Steps [begin, end) of `width` neighbouring columns, into acc[0 … width).
  void ReduceSteps(const In* x, int64_t begin, int64_t end, int64_t width, Acc* acc) const {
    constexpr int64_t kLeaf = 32;
    if (end - begin > kLeaf) {
      const int64_t middle = begin + (end - begin) / 2;
      Acc other[kReduceTile];
      ReduceSteps(x, begin, middle, width, acc);
      ReduceSteps(x, middle, end, width, other);
      for (int64_t j = 0; j < width; ++j) acc[j] = R::Combine(acc[j], other[j]);
      return;
    }
    constexpr int64_t kColumns = 16;  // known to the compiler, which makes vectors of them
    int64_t first = 0;
    for (; first + kColumns <= width; first += kColumns) {
      Acc columns[kColumns];
      std::fill_n(columns, kColumns, R::Identity());
      for (int64_t step = begin; step < end; ++step) {
        const In* row = x + first + plan_.StepOffset(step);
        for (int64_t j = 0; j < kColumns; ++j) columns[j] = R::Combine(columns[j], R::Load(row[j]));
      }
      std::copy_n(columns, kColumns, acc + first);
    }
    if (first == width) return;
    std::fill(acc + first, acc + width, R::Identity());
    for (int64_t step = begin; step < end; ++step) {
      const In* row = x + plan_.StepOffset(step);
      for (int64_t j = first; j < width; ++j) acc[j] = R::Combine(acc[j], R::Load(row[j]));
    }
  }

  void CombineChunks() {
    const int64_t n = plan_.rows * plan_.width();
    for (int64_t step = 1; step < chunks_; step *= 2) {
      for (int64_t chunk = 0; chunk + step < chunks_; chunk += 2 * step) {
        Acc* a = partials_ + chunk * n;
        const Acc* b = partials_ + (chunk + step) * n;
        for (int64_t j = 0; j < n; ++j) a[j] = R::Combine(a[j], b[j]);
      }
    }
    for (int64_t j = 0; j < n; ++j) out_[j] = reducer_.Finish(partials_[j], plan_.count());
  }

  const R& reducer_;
  const ReductionPlan& plan_;
  const In* in_;
  Out* out_;
  Acc* partials_ = nullptr;
  int64_t tiles_ = 1;
  int64_t chunks_ = 1;
  int64_t units_ = 1;
  int64_t unit_work_ = 1;
};

// What reduces nothing.
inline void CopyDense(const void* bytes, const void* const* inputs, void* const* outputs) {
  std::memcpy(outputs[0], inputs[0], *static_cast<const size_t*>(bytes));
}

// Of ReduceInput, for DenseCode.
template <typename R>
struct DenseReduction {
  DenseReduction(R reducer, const Shape& shape, const ReducedDims& reduced)
      : reducer(std::move(reducer)), plan(shape, reduced) {}

  static void Run(const void* self, const void* const* inputs, void* const* outputs) {
    const auto& [reducer, plan] = *static_cast<const DenseReduction*>(self);
    using Each = Reduction<R>;
    Each(reducer, plan, static_cast<const typename R::In*>(inputs[0]),
         static_cast<typename Each::Out*>(outputs[0]))
        .RunPiece();
  }

  const R reducer;
  const ReductionPlan plan;
};

}  // namespace internal

// What Reduce does to a tensor of this shape, for Kernel::dense.
template <typename R>
std::optional<DenseCode> ReduceDense(const Shape& shape, const ReducedDims& reduced, R reducer) {
  if (shape.num_elements() == 0 || shape.num_elements() > kMaxDenseWork) return std::nullopt;
  if (ReducesNothing(shape, reduced)) {
    const auto bytes = static_cast<size_t>(shape.num_elements()) * sizeof(typename R::In);
    return DenseCode{.function = &internal::CopyDense,
                     .plan = std::make_shared<size_t>(bytes),
                     .num_operands = 1,
                     .work = shape.num_elements()};
  }
  using Dense = internal::DenseReduction<R>;
  auto plan = std::make_shared<const Dense>(std::move(reducer), shape, reduced);
  if (!internal::Reduction<R>(plan->reducer, plan->plan, nullptr, nullptr).IsOnePiece())
    return std::nullopt;
  return DenseCode{.function = &Dense::Run,
                   .plan = std::move(plan),
                   .num_operands = 1,
                   .work = shape.num_elements()};
}

// What ReduceInput does.
template <typename R>
std::optional<DenseCode> ReduceDense(absl::Span<const DenseOperand> inputs,
                                     absl::Span<const Shape> outputs, bool keep_dims, R reducer) {
  if (!inputs[0].shape || inputs[1].constant == nullptr) return std::nullopt;
  const Shape& shape = *inputs[0].shape;
  const absl::StatusOr<ReducedDims> reduced = ReducedDimsOf(*inputs[1].constant, shape.rank());
  if (!reduced.ok() || ReducedShape(shape, *reduced, keep_dims) != outputs[0]) return std::nullopt;
  return ReduceDense(shape, *reduced, std::move(reducer));
}

template <typename R>
absl::StatusOr<Tensor> Reduce(const KernelContext& ctx, const Tensor& tensor,
                              const ReducedDims& reduced, bool keep_dims, const R& reducer) {
  using Out = typename internal::Reduction<R>::Out;
  GYRE_ASSIGN_OR_RETURN(
      Tensor result,
      ctx.Allocate(tensor.dtype(), ReducedShape(tensor.shape(), reduced, keep_dims)));
  Out* out = static_cast<Out*>(result.mutable_raw_data());
  if (tensor.num_elements() == 0) {
    std::fill_n(out, result.num_elements(), reducer.Finish(R::Identity(), 0));
    return result;
  }
  const ReductionPlan plan(tensor.shape(), reduced);
  const auto* in = static_cast<const typename R::In*>(tensor.raw_data());
  GYRE_RETURN_IF_ERROR(internal::Reduction<R>(reducer, plan, in, out).Run(ctx));
  return result;
}

}  // namespace gyre

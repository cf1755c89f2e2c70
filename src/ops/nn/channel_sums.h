// Sums over all dimensions of images but the channels, whichever dimension these are.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"
#include "ops/kernel.h"
#include "ops/math/simd.h"
#include "ops/reduction/axis_view.h"

namespace gyre {

// Adds up kTerms numbers of each element: sums[k * channels + c] = Σ over the elements i of channel
// c of the k-th number that term(i, c, numbers) writes. Floats in stretches, these as doubles.
//
// Where channels come last, row_term(row, numbers) writes those of all channels of a row: kTerms
// times as many.
template <int kTerms, typename Term, typename RowTerm>
absl::Status SumChannels(const KernelContext& ctx, const AxisView& view, const Term& term,
                         const RowTerm& row_term, std::vector<double>& sums) {
  constexpr int64_t kStretch = 64, kMostParts = 64, kWork = 1 << 14;
  const int64_t channels = view.size;
  sums.assign(kTerms * channels, 0.0);
  if (view.inner > 1) {
    // One piece for each channel.
    const int64_t grain = std::max<int64_t>(1, kWork / (view.outer * view.inner));
    return ctx.ParallelRun(channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        int64_t done = 0;
        for (int64_t o = 0; o < view.outer; ++o) {
          const int64_t first = (o * channels + c) * view.inner;
          for (int64_t i = 0; i < view.inner; i += kStretch) {
            float parts[kTerms] = {}, numbers[kTerms];
            const int64_t stop = std::min(view.inner, i + kStretch);
            for (int64_t j = i; j < stop; ++j) {
              term(first + j, c, numbers);
              for (int k = 0; k < kTerms; ++k) parts[k] += numbers[k];
            }
            for (int k = 0; k < kTerms; ++k) sums[k * channels + c] += parts[k];
            if ((done += stop - i) > (1 << 17)) {
              done = 0;
              if (!ctx.Poll().ok()) return;
            }
          }
        }
      }
    });
  }
  const BinaryRow add = simd::FindRow(simd::ArithmeticOp::kAdd, DType::kFloat);
  const int64_t rows = view.outer;
  const int64_t parts = std::clamp<int64_t>(rows * channels / kWork, 1, std::min(kMostParts, rows));
  const int64_t each = (rows + parts - 1) / parts;
  const int64_t width = kTerms * channels;
  std::vector<double> partial(parts * width, 0.0);
  GYRE_RETURN_IF_ERROR(ctx.ParallelRun(parts, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> stretch(width), numbers(width);
    for (int64_t part = begin; part < end; ++part) {
      const int64_t last = std::min(rows, (part + 1) * each);
      for (int64_t row = part * each; row < last; row += kStretch) {
        if (!ctx.Poll().ok()) return;
        std::fill(stretch.begin(), stretch.end(), 0.0f);
        const int64_t stop = std::min(last, row + kStretch);
        for (int64_t r = row; r < stop; ++r) {
          row_term(r, numbers.data());
          add(stretch.data(), numbers.data(), stretch.data(), width, Operands::kVectors);
        }
        for (int64_t i = 0; i < width; ++i) partial[part * width + i] += stretch[i];
      }
    }
  }));
  for (int64_t part = 0; part < parts; ++part) {
    for (int64_t i = 0; i < width; ++i) sums[i] += partial[part * width + i];
  }
  return ctx.Poll();
}

template <int kTerms, typename Term>
absl::Status SumChannels(const KernelContext& ctx, const AxisView& view, const Term& term,
                         std::vector<double>& sums) {
  const auto row_term = [&](int64_t row, float* numbers) {
    for (int64_t c = 0; c < view.size; ++c) {
      float of_one[kTerms];
      term(row * view.size + c, c, of_one);
      for (int k = 0; k < kTerms; ++k) numbers[k * view.size + c] = of_one[k];
    }
  };
  return SumChannels<kTerms>(ctx, view, term, row_term, sums);
}

// Calls f(row) for each row of channels, which come last.
template <typename F>
absl::Status ForChannelRows(const KernelContext& ctx, const AxisView& view, const F& f) {
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / view.size);
  return ctx.ParallelRun(view.outer, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) f(row);
  });
}

// Vector code for rows of floats: z = x op y.
class FloatRows {
 public:
  void Sub(const float* x, const float* y, float* z, int64_t n) const {
    sub_(x, y, z, n, Operands::kVectors);
  }
  void Mul(const float* x, const float* y, float* z, int64_t n) const {
    mul_(x, y, z, n, Operands::kVectors);
  }
  void Add(const float* x, const float* y, float* z, int64_t n) const {
    add_(x, y, z, n, Operands::kVectors);
  }

 private:
  const BinaryRow sub_ = simd::FindRow(simd::ArithmeticOp::kSub, DType::kFloat);
  const BinaryRow mul_ = simd::FindRow(simd::ArithmeticOp::kMul, DType::kFloat);
  const BinaryRow add_ = simd::FindRow(simd::ArithmeticOp::kAdd, DType::kFloat);
};

// Calls f(i, c) for each element i, of channel c.
template <typename F>
absl::Status ForChannels(const KernelContext& ctx, const AxisView& view, const F& f) {
  const int64_t width = view.inner > 1 ? view.inner : view.size;
  const int64_t rows = view.inner > 1 ? view.outer * view.size : view.outer;
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / width);
  return ctx.ParallelRun(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (view.inner > 1) {
        const int64_t c = row % view.size;
        for (int64_t i = row * width; i < (row + 1) * width; ++i) f(i, c);
      } else {
        for (int64_t c = 0; c < width; ++c) f(row * width + c, c);
      }
    }
  });
}

}  // namespace gyre

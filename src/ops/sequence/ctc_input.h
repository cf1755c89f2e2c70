// What the ops of connectionist temporal classification (CTC) take: [time, batch, classes] logits
// and how long each sequence of the batch is.
//
// Graves et al., "Connectionist temporal classification", ICML 2006. Free functions without state;
// any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/shape_context.h"
#include "ops/kernel.h"

namespace gyre::ctc {

struct Sequences {
  int64_t time, batch, classes;
  absl::Span<const int32_t> lengths;

  // Where the logits of one step of one sequence begin.
  int64_t At(int64_t t, int64_t b) const { return (t * batch + b) * classes; }
};

// From inputs 0 and `lengths`. INVALID_ARGUMENT unless there is at least one step, sequence and
// class, and each length is in [0, time].
absl::StatusOr<Sequences> SequenceInputs(const KernelContext& ctx, int lengths);

// For shape rules: input 0 has three dimensions, and input i one.
absl::Status CheckShapes(const ShapeContext& c, int lengths);

template <typename T>
inline constexpr T kLogZero = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b)).
template <typename T>
T LogAdd(T a, T b) {
  if (a == kLogZero<T>) return b;
  if (b == kLogZero<T>) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

// What is to be taken from n logits for them to be logarithms of probabilities: log Σ exp.
template <typename T>
T LogSum(const T* logits, int64_t n) {
  T most = logits[0];
  for (int64_t i = 1; i < n; ++i) most = logits[i] > most ? logits[i] : most;
  if (!std::isfinite(most)) return most;
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(logits[i] - most);
  return most + std::log(sum);
}

// Sets outputs first, first + 1 and first + 2 (each so many behind the one before): the sequences
// of a batch as a sparse matrix, its indices, values and shape.
absl::Status SetSparse(KernelContext& ctx, const std::vector<std::vector<int32_t>>& decoded,
                       int first, int step);

}  // namespace gyre::ctc

// Fourier transforms of one length, of one or more rows at a time.
//
// Lengths are split into factors 4, 2, 3, 5 and other small primes (Stockham's algorithm); those
// with a large prime factor become a convolution of a length that has none (Bluestein's). Roots of
// unity are computed in double. A plan is immutable once made; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ops/signal/fft_pass.h"

namespace gyre {

template <typename R>
class Fft {
 public:
  // Requirement: n >= 1. `must_stop` is asked now and then; once it says so, the plan is of no use.
  Fft(int64_t n, const std::function<bool()>& must_stop);
  ~Fft();

  int64_t n() const { return n_; }
  // How many numbers of each of x's and scratch's parts `columns` transforms need.
  int64_t NeededSize(int64_t columns) const { return work_size_ * columns; }

  // Transforms x[i * columns + c], i < n, for each column c: Σ x_k exp(-2πi jk / n). The result
  // lies in x. `must_stop` is asked now and then; once it says so, what x holds is of no use.
  void Run(FftParts<R> x, FftParts<R> scratch, int64_t columns,
           const std::function<bool()>& must_stop) const;

 private:
  struct Bluestein;

  void RunPasses(FftParts<R> x, FftParts<R> scratch, int64_t columns,
                 const std::function<bool()>& must_stop) const;

  int64_t n_;
  int64_t work_size_;
  std::vector<FftPass<R>> passes_;  // for one column
  std::vector<R> tables_;           // what they point to
  std::unique_ptr<const Bluestein> bluestein_;
};

extern template class Fft<float>;
extern template class Fft<double>;

}  // namespace gyre

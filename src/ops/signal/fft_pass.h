// One pass of a Fourier transform: the butterflies of one factor of its length, for the instruction
// sets of the machine.
//
// Stockham's algorithm, which leaves what it computes in order: a pass of radix r takes elements
// x[q + s (p + m k)], k < r, of which there are n = r m s, to y[q + s (r p + j)], j < r. Real and
// imaginary parts lie apart. Pure functions; any thread.
#pragma once

#include <cstdint>

namespace gyre {

template <typename R>
struct FftPass {
  int64_t radix;
  int64_t m;
  int64_t s;
  // exp(-2πi j p / (r m)) at [(j - 1) m + p].
  const R* twiddle_re;
  const R* twiddle_im;
  // exp(-2πi j k / r) at [(j k) mod r], for radices without code of their own.
  const R* root_re;
  const R* root_im;
};

template <typename R>
struct FftParts {
  R* re;
  R* im;
};

// Butterflies p of [begin, end). The least radix is 2, the largest without limit.
void RunFftPass(const FftPass<float>& pass, FftParts<float> x, FftParts<float> y, int64_t begin,
                int64_t end);
void RunFftPass(const FftPass<double>& pass, FftParts<double> x, FftParts<double> y, int64_t begin,
                int64_t end);

}  // namespace gyre

#include "ops/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

namespace gyre {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kLargestFactor = 31;
// Roots, or numbers that are turned, between two questions whether to stop.
constexpr int64_t kPiece = 1 << 16;

// exp(-2πi k / n) for k < n, to the precision of double: of few numbers computed, the rest
// products.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while (step_ * step_ < n) step_ *= 2;
    for (int64_t k = 0; k < std::min(step_, n); ++k) fine_.push_back(At(k));
    for (int64_t k = 0; k < n; k += step_) coarse_.push_back(At(k));
  }
  std::complex<double> operator[](int64_t k) const {
    return Product(coarse_[k / step_], fine_[k % step_]);
  }

 private:
  static std::complex<double> Product(std::complex<double> a, std::complex<double> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  // By the angle's distance from a multiple of a quarter turn, which sine and cosine like best.
  std::complex<double> At(int64_t k) const {
    const int64_t quarter = (4 * k + n_ / 2) / n_;
    const double angle =
        2 * kPi * (static_cast<double>(4 * k - quarter * n_) / 4) / static_cast<double>(n_);
    const double c = std::cos(angle), s = std::sin(angle);
    switch (quarter % 4) {
      case 0:
        return {c, -s};
      case 1:
        return {-s, -c};
      case 2:
        return {-c, s};
      default:
        return {s, c};
    }
  }

  int64_t n_;
  int64_t step_ = 1;
  std::vector<std::complex<double>> fine_, coarse_;
};

// Factors of n, 4 before all others; empty if one is too large.
std::vector<int64_t> Factors(int64_t n) {
  std::vector<int64_t> factors;
  for (const int64_t factor : {4, 2, 3, 5}) {
    while (n % factor == 0) {
      factors.push_back(factor);
      n /= factor;
    }
  }
  for (int64_t factor = 7; factor <= kLargestFactor && n > 1; factor += 2) {
    while (n % factor == 0) {
      factors.push_back(factor);
      n /= factor;
    }
  }
  if (n > 1) return {};
  return factors;
}

// The least length of at least n whose factors are 2, 3 and 5.
int64_t SmoothLength(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  }
  return best;
}

}  // namespace

// x_k w^(k²/2) convolved with w^(-k²/2), and times w^(j²/2), where w = exp(-2πi / n).
template <typename R>
struct Fft<R>::Bluestein {
  Bluestein(int64_t n, const std::function<bool()>& must_stop)
      : inner(SmoothLength(2 * n - 1), must_stop) {
    if (must_stop()) return;
    const Roots roots(2 * n);
    const int64_t m = inner.n();
    chirp_re.resize(n);
    chirp_im.resize(n);
    std::vector<R> re(m), im(m), scratch_re(m), scratch_im(m);
    const double scale = 1.0 / static_cast<double>(m);
    int64_t square = 0;  // k² modulo 2n
    for (int64_t k = 0; k < n; ++k) {
      if (k % kPiece == kPiece - 1 && must_stop()) return;
      const std::complex<double> root = roots[square];
      chirp_re[k] = static_cast<R>(root.real());
      chirp_im[k] = static_cast<R>(root.imag());
      const int64_t mirrored = k == 0 ? 0 : m - k;
      re[k] = re[mirrored] = static_cast<R>(root.real() * scale);
      im[k] = im[mirrored] = static_cast<R>(-root.imag() * scale);
      square = (square + 2 * k + 1) % (2 * n);
    }
    inner.Run({re.data(), im.data()}, {scratch_re.data(), scratch_im.data()}, 1, must_stop);
    filter_re = std::move(re);
    filter_im = std::move(im);
  }

  void Run(int64_t n, FftParts<R> x, FftParts<R> scratch, int64_t columns,
           const std::function<bool()>& must_stop) const {
    const int64_t m = inner.n();
    Turn(x, columns, chirp_re, chirp_im, must_stop);
    std::fill(x.re + n * columns, x.re + m * columns, R(0));
    std::fill(x.im + n * columns, x.im + m * columns, R(0));
    inner.Run(x, scratch, columns, must_stop);
    Turn(x, columns, filter_re, filter_im, must_stop);
    // The inverse transform is that of swapped parts.
    inner.Run({x.im, x.re}, {scratch.im, scratch.re}, columns, must_stop);
    Turn(x, columns, chirp_re, chirp_im, must_stop);
  }

  Fft inner;
  std::vector<R> chirp_re, chirp_im;    // w^(k²/2)
  std::vector<R> filter_re, filter_im;  // the transform of w^(-k²/2), over m

 private:
  // Multiplies each row of columns by a number.
  static void Turn(FftParts<R> x, int64_t columns, const std::vector<R>& res,
                   const std::vector<R>& ims, const std::function<bool()>& must_stop) {
    const int64_t piece = std::max<int64_t>(1, kPiece / columns);
    for (size_t k = 0; k < res.size(); ++k) {
      if (static_cast<int64_t>(k) % piece == piece - 1 && must_stop()) return;
      const R re = res[k], im = ims[k];
      R* a = x.re + static_cast<int64_t>(k) * columns;
      R* b = x.im + static_cast<int64_t>(k) * columns;
      for (int64_t c = 0; c < columns; ++c) {
        const R real = a[c] * re - b[c] * im;
        b[c] = a[c] * im + b[c] * re;
        a[c] = real;
      }
    }
  }
};

template <typename R>
Fft<R>::Fft(int64_t n, const std::function<bool()>& must_stop) : n_(n), work_size_(n) {
  if (n == 1) return;
  const std::vector<int64_t> factors = Factors(n);
  if (factors.empty()) {
    bluestein_ = std::make_unique<const Bluestein>(n, must_stop);
    work_size_ = bluestein_->inner.n();
    return;
  }
  int64_t size = 0, length = n;
  for (const int64_t radix : factors) {
    size += 2 * (length / radix * (radix - 1)) + 2 * radix;
    length /= radix;
  }
  tables_.resize(size);
  const Roots roots(n);
  R* at = tables_.data();
  const auto put = [&](R*& re, R*& im, int64_t k) {
    const std::complex<double> root = roots[k];
    *re++ = static_cast<R>(root.real());
    *im++ = static_cast<R>(root.imag());
  };
  int64_t s = 1;
  length = n;
  for (const int64_t radix : factors) {
    const int64_t m = length / radix;
    FftPass<R> pass = {radix, m, s, at, at + m * (radix - 1), nullptr, nullptr};
    R* re = at;
    R* im = re + m * (radix - 1);
    for (int64_t j = 1; j < radix; ++j) {
      for (int64_t p = 0; p < m; ++p) {
        if (p % kPiece == kPiece - 1 && must_stop()) return;
        put(re, im, j * p * s);
      }
    }
    at = im;
    pass.root_re = at;
    pass.root_im = at + radix;
    re = at;
    im = re + radix;
    for (int64_t k = 0; k < radix; ++k) put(re, im, k * (n / radix));
    at = im;
    passes_.push_back(pass);
    s *= radix;
    length = m;
  }
}

template <typename R>
Fft<R>::~Fft() = default;

template <typename R>
void Fft<R>::Run(FftParts<R> x, FftParts<R> scratch, int64_t columns,
                 const std::function<bool()>& must_stop) const {
  if (bluestein_ != nullptr) {
    bluestein_->Run(n_, x, scratch, columns, must_stop);
  } else {
    RunPasses(x, scratch, columns, must_stop);
  }
}

template <typename R>
void Fft<R>::RunPasses(FftParts<R> x, FftParts<R> scratch, int64_t columns,
                       const std::function<bool()>& must_stop) const {
  constexpr int64_t kPieceNumbers = 1 << 16;
  FftParts<R> from = x, to = scratch;
  for (FftPass<R> pass : passes_) {
    pass.s *= columns;
    const int64_t piece =
        std::max<int64_t>(1, kPieceNumbers / (pass.radix * std::min(pass.s, kPieceNumbers)));
    for (int64_t p = 0; p < pass.m; p += piece) {
      if (p > 0 && must_stop()) return;
      RunFftPass(pass, from, to, p, std::min(pass.m, p + piece));
    }
    if (must_stop()) return;
    std::swap(from, to);
  }
  if (from.re != x.re) {
    std::copy_n(from.re, n_ * columns, x.re);
    std::copy_n(from.im, n_ * columns, x.im);
  }
}

template class Fft<float>;
template class Fft<double>;

}  // namespace gyre

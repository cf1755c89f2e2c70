// Compiled once per instruction set: foreach_target.h includes this file again for each.
#include "ops/signal/fft_pass.h"

#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/signal/fft_pass.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which decides what this compiles to.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Lanes {
  V re;
  V im;
};

template <class V>
HWY_INLINE Lanes<V> operator+(Lanes<V> a, Lanes<V> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}
template <class V>
HWY_INLINE Lanes<V> operator-(Lanes<V> a, Lanes<V> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}
template <class V>
HWY_INLINE Lanes<V> Times(Lanes<V> a, Lanes<V> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
template <class V>
HWY_INLINE Lanes<V> Scaled(Lanes<V> a, V by) {
  return {hn::Mul(a.re, by), hn::Mul(a.im, by)};
}
// a + by * b.
template <class V>
HWY_INLINE Lanes<V> PlusScaled(Lanes<V> a, Lanes<V> b, V by) {
  return {hn::MulAdd(b.re, by, a.re), hn::MulAdd(b.im, by, a.im)};
}
// a - i b, and a + i b.
template <class V>
HWY_INLINE Lanes<V> MinusI(Lanes<V> a, Lanes<V> b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}
template <class V>
HWY_INLINE Lanes<V> PlusI(Lanes<V> a, Lanes<V> b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

// The transform of kRadix numbers, in place.
template <int kRadix, class D, class V>
HWY_INLINE void Transform(D d, Lanes<V>* a) {
  if constexpr (kRadix == 2) {
    const Lanes<V> difference = a[0] - a[1];
    a[0] = a[0] + a[1];
    a[1] = difference;
  } else if constexpr (kRadix == 3) {
    const Lanes<V> sum = a[1] + a[2], turned = Scaled(a[1] - a[2], hn::Set(d, 0.8660254037844386));
    const Lanes<V> middle = PlusScaled(a[0], sum, hn::Set(d, -0.5));
    a[0] = a[0] + sum;
    a[1] = MinusI(middle, turned);
    a[2] = PlusI(middle, turned);
  } else if constexpr (kRadix == 4) {
    const Lanes<V> even = a[0] + a[2], even_difference = a[0] - a[2];
    const Lanes<V> odd = a[1] + a[3], odd_difference = a[1] - a[3];
    a[0] = even + odd;
    a[1] = MinusI(even_difference, odd_difference);
    a[2] = even - odd;
    a[3] = PlusI(even_difference, odd_difference);
  } else {
    static_assert(kRadix == 5);
    const V cos1 = hn::Set(d, 0.30901699437494745), cos2 = hn::Set(d, -0.8090169943749475);
    const V sin1 = hn::Set(d, 0.9510565162951535), sin2 = hn::Set(d, 0.5877852522924731);
    const Lanes<V> sum1 = a[1] + a[4], sum2 = a[2] + a[3];
    const Lanes<V> difference1 = a[1] - a[4], difference2 = a[2] - a[3];
    const Lanes<V> middle1 = PlusScaled(PlusScaled(a[0], sum1, cos1), sum2, cos2);
    const Lanes<V> middle2 = PlusScaled(PlusScaled(a[0], sum1, cos2), sum2, cos1);
    const Lanes<V> turned1 = PlusScaled(Scaled(difference1, sin1), difference2, sin2);
    const Lanes<V> turned2 = Scaled(difference1, sin2) - Scaled(difference2, sin1);
    a[0] = a[0] + sum1 + sum2;
    a[1] = MinusI(middle1, turned1);
    a[2] = MinusI(middle2, turned2);
    a[3] = PlusI(middle2, turned2);
    a[4] = PlusI(middle1, turned1);
  }
}

template <class D, class R>
HWY_INLINE Lanes<hn::Vec<D>> LoadLanes(D d, const FftParts<R>& x, int64_t at) {
  return {hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
}
template <class D, class R>
HWY_INLINE void StoreLanes(D d, const Lanes<hn::Vec<D>>& value, const FftParts<R>& y, int64_t at) {
  hn::StoreU(value.re, d, y.re + at);
  hn::StoreU(value.im, d, y.im + at);
}

// Along q, as far as full vectors of D go, from `q` on; returns where they end.
template <int kRadix, class D, class R>
HWY_INLINE int64_t AlongStride(D d, const FftPass<R>& pass, const FftParts<R>& x,
                               const FftParts<R>& y, int64_t p, int64_t q) {
  using V = hn::Vec<D>;
  const int64_t lanes = hn::Lanes(d), s = pass.s, m = pass.m;
  Lanes<V> twiddles[kRadix];
  for (int j = 1; j < kRadix; ++j) {
    twiddles[j] = {hn::Set(d, pass.twiddle_re[(j - 1) * m + p]),
                   hn::Set(d, pass.twiddle_im[(j - 1) * m + p])};
  }
  for (; q + lanes <= s; q += lanes) {
    Lanes<V> a[kRadix];
    for (int k = 0; k < kRadix; ++k) a[k] = LoadLanes(d, x, q + s * (p + m * k));
    Transform<kRadix>(d, a);
    StoreLanes(d, a[0], y, q + s * kRadix * p);
    for (int j = 1; j < kRadix; ++j)
      StoreLanes(d, Times(a[j], twiddles[j]), y, q + s * (kRadix * p + j));
  }
  return q;
}

// The first pass of one transform, along p, where vectors of results go to memory in turns.
template <int kRadix, class R>
HWY_INLINE int64_t AlongFirst(const FftPass<R>& pass, const FftParts<R>& x, const FftParts<R>& y,
                              int64_t begin, int64_t end) {
  const hn::ScalableTag<R> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = hn::Lanes(d), m = pass.m;
  int64_t p = begin;
  for (; p + lanes <= end; p += lanes) {
    Lanes<V> a[kRadix];
    for (int k = 0; k < kRadix; ++k) a[k] = LoadLanes(d, x, p + m * k);
    Transform<kRadix>(d, a);
    for (int j = 1; j < kRadix; ++j) {
      const int64_t at = (j - 1) * m + p;
      a[j] = Times(
          a[j], Lanes<V>{hn::LoadU(d, pass.twiddle_re + at), hn::LoadU(d, pass.twiddle_im + at)});
    }
    R* re = y.re + kRadix * p;
    R* im = y.im + kRadix * p;
    if constexpr (kRadix == 2) {
      hn::StoreInterleaved2(a[0].re, a[1].re, d, re);
      hn::StoreInterleaved2(a[0].im, a[1].im, d, im);
    } else {
      static_assert(kRadix == 4);
      hn::StoreInterleaved4(a[0].re, a[1].re, a[2].re, a[3].re, d, re);
      hn::StoreInterleaved4(a[0].im, a[1].im, a[2].im, a[3].im, d, im);
    }
  }
  return p;
}

template <int kRadix, class R>
void RunRadix(const FftPass<R>& pass, const FftParts<R>& x, const FftParts<R>& y, int64_t begin,
              int64_t end) {
  if constexpr (kRadix == 2 || kRadix == 4) {
    if (pass.s == 1) begin = AlongFirst<kRadix>(pass, x, y, begin, end);
  }
  for (int64_t p = begin; p < end; ++p) {
    int64_t q = AlongStride<kRadix>(hn::ScalableTag<R>(), pass, x, y, p, 0);
    if (q < pass.s) q = AlongStride<kRadix>(hn::CappedTag<R, 4>(), pass, x, y, p, q);
    if (q < pass.s) AlongStride<kRadix>(hn::CappedTag<R, 1>(), pass, x, y, p, q);
  }
}

// Any radix: r² products for each butterfly.
template <class D, class R>
HWY_INLINE int64_t AnyAlongStride(D d, const FftPass<R>& pass, const FftParts<R>& x,
                                  const FftParts<R>& y, int64_t p, int64_t q) {
  using V = hn::Vec<D>;
  const int64_t lanes = hn::Lanes(d), s = pass.s, m = pass.m, r = pass.radix;
  for (; q + lanes <= s; q += lanes) {
    for (int64_t j = 0; j < r; ++j) {
      Lanes<V> sum = LoadLanes(d, x, q + s * p);
      for (int64_t k = 1, turn = j; k < r; ++k, turn = turn + j < r ? turn + j : turn + j - r) {
        const Lanes<V> root = {hn::Set(d, pass.root_re[turn]), hn::Set(d, pass.root_im[turn])};
        sum = sum + Times(LoadLanes(d, x, q + s * (p + m * k)), root);
      }
      if (j > 0) {
        sum = Times(sum, Lanes<V>{hn::Set(d, pass.twiddle_re[(j - 1) * m + p]),
                                  hn::Set(d, pass.twiddle_im[(j - 1) * m + p])});
      }
      StoreLanes(d, sum, y, q + s * (r * p + j));
    }
  }
  return q;
}

template <class R>
void RunAny(const FftPass<R>& pass, const FftParts<R>& x, const FftParts<R>& y, int64_t begin,
            int64_t end) {
  for (int64_t p = begin; p < end; ++p) {
    const int64_t q = AnyAlongStride(hn::ScalableTag<R>(), pass, x, y, p, 0);
    if (q < pass.s) AnyAlongStride(hn::CappedTag<R, 1>(), pass, x, y, p, q);
  }
}

template <class R>
void Run(const FftPass<R>& pass, const FftParts<R>& x, const FftParts<R>& y, int64_t begin,
         int64_t end) {
  switch (pass.radix) {
    case 2:
      return RunRadix<2>(pass, x, y, begin, end);
    case 3:
      return RunRadix<3>(pass, x, y, begin, end);
    case 4:
      return RunRadix<4>(pass, x, y, begin, end);
    case 5:
      return RunRadix<5>(pass, x, y, begin, end);
    default:
      return RunAny(pass, x, y, begin, end);
  }
}

void RunFloat(const FftPass<float>& pass, const FftParts<float>& x, const FftParts<float>& y,
              int64_t begin, int64_t end) {
  Run(pass, x, y, begin, end);
}
void RunDouble(const FftPass<double>& pass, const FftParts<double>& x, const FftParts<double>& y,
               int64_t begin, int64_t end) {
  Run(pass, x, y, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(RunFloat);
HWY_EXPORT(RunDouble);

void RunFftPass(const FftPass<float>& pass, FftParts<float> x, FftParts<float> y, int64_t begin,
                int64_t end) {
  HWY_DYNAMIC_DISPATCH(RunFloat)(pass, x, y, begin, end);
}
void RunFftPass(const FftPass<double>& pass, FftParts<double> x, FftParts<double> y, int64_t begin,
                int64_t end) {
  HWY_DYNAMIC_DISPATCH(RunDouble)(pass, x, y, begin, end);
}

}  // namespace gyre
#endif

// Functions of floating-point numbers for GPUs, which have none that are exact. Those of doubles
// are within the units in the last place that stand beside them (of results that are no subnormal
// numbers); those of floats are computed as doubles and rounded: within 0.51.
//
// Nothing here is a GPU's alone: tests run it on the host.
#pragma once

#include <stdint.h>

namespace gyre::gpu {

inline constexpr double kInfinity = __builtin_huge_val();

inline double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline double Abs(double x) { return __builtin_fabs(x); }

template <int n>
double Horner(double x, const double (&c)[n]) {
  double sum = c[n - 1];
  for (int i = n - 2; i >= 0; --i) sum = Fma(sum, x, c[i]);
  return sum;
}

// 2 to the power k, for -1022 <= k <= 1023.
inline double TwoTo(int k) {
  return __builtin_bit_cast(double, static_cast<uint64_t>(k + 1023) << 52);
}

// x = k log(2) + r with |r| <= log(2) / 2, and exp(r) - 1.
struct Reduced {
  int k;
  double less_one;
};
inline Reduced ReduceExp(double x) {
  const double k = __builtin_rint(x * 0x1.71547652b82fep+0);
  const double r = Fma(-k, 0x1.abc9e3b39803fp-56, Fma(-k, 0x1.62e42fefa39efp-1, x));
  // Taylor's series: what is left out is below 2^-57 of the result.
  constexpr double kSeries[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
  return {static_cast<int>(k), Fma(r * r, Horner(r, kSeries), r)};
}

// 1 ulp.
inline double Exp(double x) {
  if (x > 709.782712893384) return kInfinity;
  if (x < -745.1332191019412) return 0;
  if (x != x) return x;
  const Reduced e = ReduceExp(x);
  // In two steps: the power of two may be no normal number.
  const int half = e.k / 2;
  return (e.less_one + 1) * TwoTo(half) * TwoTo(e.k - half);
}

// 2 ulp.
inline double Expm1(double x) {
  if (x > 709.782712893384) return kInfinity;
  if (x < -40) return -1;
  if (x != x || x == 0) return x;
  const Reduced e = ReduceExp(x);
  if (e.k == 0) return e.less_one;
  if (e.k == 1024) return (e.less_one + 1) * TwoTo(1023) * 2;
  const double power = TwoTo(e.k);
  return Fma(power, e.less_one, power - 1);
}

// 1 ulp. The series in s = f / (2 + f) for log(1 + f), with the coefficients of fdlibm (Sun
// Microsystems, 1993).
inline double Log(double x) {
  if (x < 0) return __builtin_nan("");
  if (x == 0) return -kInfinity;
  if (!(x < kInfinity)) return x;
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  auto bits = __builtin_bit_cast(uint64_t, x);
  // The number between sqrt(1/2) and sqrt(2) that x is times a power of two.
  const uint64_t moved = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  k += static_cast<int>(moved >> 52) - 1023;
  bits = (moved & 0xfffffffffffff) + 0x3fe6a09e667f3bcd;
  const double f = __builtin_bit_cast(double, bits) - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  constexpr double kSeries[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                2.857142874366239149e-01, 2.222219843214978396e-01,
                                1.818357216161805012e-01, 1.531383769920937332e-01,
                                1.479819860511658591e-01};
  const double series = z * Horner(z, kSeries);
  const double half_square = 0.5 * f * f;
  return k * 6.93147180369123816490e-01 -
         ((half_square - Fma(s, half_square + series, k * 1.90821492927058770002e-10)) - f);
}

// 3 ulp: what rounding 1 + x loses is made up for by a quotient of two numbers that suffered it.
inline double Log1p(double x) {
  if (!(Abs(x) < 0x1p54)) return Log(x);
  const double u = 1 + x;
  return u == 1 ? x : Log(u) * (x / (u - 1));
}

// 3 ulp.
inline double Tanh(double x) {
  const double a = Abs(x);
  if (x != x || a < 0x1p-28) return x;
  const double t = Expm1(2 * (a < 22 ? a : 22));
  const double y = a >= 22 ? 1 : a < 1 ? t / (t + 2) : 1 - 2 / (t + 2);
  return __builtin_copysign(y, x);
}

// 3 ulp. Where x is negative, exp(-x) might overflow.
inline double Sigmoid(double x) {
  const double e = Exp(-Abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// 3 ulp.
inline double Sinh(double x) {
  const double a = Abs(x);
  if (a < 0x1p-28) return x;
  // exp(a) / 2 in two halves, for it may be finite where exp(a) is not.
  if (a > 22) {
    const double half = Exp(a / 2);
    return __builtin_copysign(0.5 * half * half, x);
  }
  const double t = Expm1(a);
  return __builtin_copysign(0.5 * (t + t / (t + 1)), x);
}
inline double Cosh(double x) {
  const double a = Abs(x);
  if (a > 22) {
    const double half = Exp(a / 2);
    return 0.5 * half * half;
  }
  const double e = Exp(a);
  return 0.5 * e + 0.5 / e;
}

// Rational functions with the coefficients of fdlibm (Sun Microsystems, 1993).
namespace error_function {
inline constexpr double kPp[] = {1.28379167095512558561e-01, -3.25042107247001499370e-01,
                                 -2.84817495755985104766e-02, -5.77027029648944159157e-03,
                                 -2.37630166566501626084e-05};
inline constexpr double kQq[] = {1,
                                 3.97917223959155352819e-01,
                                 6.50222499887672944485e-02,
                                 5.08130628187576562776e-03,
                                 1.32494738004321644526e-04,
                                 -3.96022827877536812320e-06};
inline constexpr double kPa[] = {-2.36211856075265944077e-03, 4.14856118683748331666e-01,
                                 -3.72207876035701323847e-01, 3.18346619901161753674e-01,
                                 -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                                 -2.16637559486879084300e-03};
inline constexpr double kQa[] = {1,
                                 1.06420880400844228286e-01,
                                 5.40397917702171048937e-01,
                                 7.18286544141962662868e-02,
                                 1.26171219808761642112e-01,
                                 1.36370839120290507362e-02,
                                 1.19844998467991074170e-02};
inline constexpr double kRa[] = {-9.86494403484714822705e-03, -6.93858572707181764372e-01,
                                 -1.05586262253232909814e+01, -6.23753324503260060396e+01,
                                 -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                                 -8.12874355063065934246e+01, -9.81432934416914548592e+00};
inline constexpr double kSa[] = {1,
                                 1.96512716674392571292e+01,
                                 1.37657754143519042600e+02,
                                 4.34565877475229228821e+02,
                                 6.45387271733267880336e+02,
                                 4.29008140027567833386e+02,
                                 1.08635005541779435134e+02,
                                 6.57024977031928170135e+00,
                                 -6.04244152148580987438e-02};
inline constexpr double kRb[] = {-9.86494292470009928597e-03, -7.99283237680523006574e-01,
                                 -1.77579549177547519889e+01, -1.60636384855821916062e+02,
                                 -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                                 -4.83519191608651397019e+02};
inline constexpr double kSb[] = {1,
                                 3.03380607434824582924e+01,
                                 3.25792512996573918826e+02,
                                 1.53672958608443695994e+03,
                                 3.19985821950859553908e+03,
                                 2.55305040643316442583e+03,
                                 4.74528541206955367215e+02,
                                 -2.24409524465858183362e+01};
inline constexpr double kErx = 8.45062911510467529297e-01;

// 1 - erf(a) for a >= 1.25.
inline double Tail(double a) {
  if (a > 28) return 0;
  const double s = 1 / (a * a);
  const double ratio =
      a < 1 / 0.35 ? Horner(s, kRa) / Horner(s, kSa) : Horner(s, kRb) / Horner(s, kSb);
  // exp(-a²) exp(-0.5625 + ratio) / a, with a² in two parts of which the first is exact.
  const double high =
      __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, a) & 0xffffffff00000000);
  return Exp(-high * high - 0.5625) * Exp((high - a) * (high + a) + ratio) / a;
}
}  // namespace error_function

// 2 ulp.
inline double Erf(double x) {
  using namespace error_function;
  const double a = Abs(x);
  if (x != x) return x;
  if (a < 0.84375) {
    if (a < 0x1p-28) return x + x * 1.28379167095512586316e-01;
    const double z = x * x;
    return x + x * (Horner(z, kPp) / Horner(z, kQq));
  }
  if (a < 1.25) {
    const double s = a - 1;
    return __builtin_copysign(kErx + Horner(s, kPa) / Horner(s, kQa), x);
  }
  return __builtin_copysign(a >= 6 ? 1 : 1 - Tail(a), x);
}
// 4 ulp.
inline double Erfc(double x) {
  using namespace error_function;
  const double a = Abs(x);
  if (x != x) return x;
  if (a < 0.84375) {
    const double z = x * x;
    const double y = Horner(z, kPp) / Horner(z, kQq);
    return x < 0.25 ? 1 - (x + x * y) : 0.5 - (x - 0.5 + x * y);
  }
  if (a < 1.25) {
    const double s = a - 1;
    const double y = Horner(s, kPa) / Horner(s, kQa);
    return x < 0 ? 1 + (kErx + y) : 1 - kErx - y;
  }
  return x < 0 ? 2 - Tail(a) : Tail(a);
}

}  // namespace gyre::gpu

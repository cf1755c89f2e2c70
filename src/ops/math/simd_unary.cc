// Compiled once per instruction set: foreach_target.h includes this file again for each.
#include <cmath>
#include <iterator>

#include "ops/math/simd.h"
#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/math/simd_unary.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which decides what the next two compile to.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct AbsLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x) {
    return hn::Abs(x);
  }
};

// A NaN stays one; so does a negative zero.
struct ReluLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
};

struct NegLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x) {
    return hn::Neg(x);
  }
};

struct SquareLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x) {
    return hn::Mul(x, x);
  }
};

struct SqrtLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x) {
    return hn::Sqrt(x);
  }
};

struct ReciprocalLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    return hn::Div(hn::Set(d, 1), x);
  }
};

struct RsqrtLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  }
};

struct FloorLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x) {
    return hn::Floor(x);
  }
};

// Highway's exp, log and tanh are accurate to a few units in the last place within a range; the
// structs below add what lies outside of it: NaN, infinities, overflow, negative arguments of log.

struct ExpLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    using T = hn::TFromD<D>;
    // Beyond these, exp is infinite or zero.
    const V high = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? 88.72284 : 709.782712893384));
    const V low = hn::Set(d, static_cast<T>(sizeof(T) == 4 ? -104 : -746));
    const V y = hn::Exp(d, hn::Min(hn::Max(x, low), high));
    const V bounded = hn::IfThenElse(hn::Gt(x, high), hn::Inf(d), y);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenZeroElse(hn::Lt(x, low), bounded));
  }
};

struct LogLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    const V zero = hn::Zero(d);
    const V y = hn::Log(d, x);
    const V at_zero = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), y);
    const V positive = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, at_zero);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), positive));
  }
};

// Constants of sine and cosine. π/2 is the sum of `half_pi`: where a product and its sum are
// rounded once, of as many bits as the type has; else so few that products with the multiples of
// π/2 below `limit` are exact (Cody and Waite). Below `small`, the multiple is 0. The polynomials
// approximate on [-π/4, π/4]: those for double are fdlibm's (Sun Microsystems 1993), those for
// float are of Cephes (Moshier 1992).
template <typename T>
struct Angle;

template <>
struct Angle<float> {
  static constexpr float limit = 1000;
  static constexpr float small = 0.78125f;
  static constexpr float round =
      0x1.8p23f;  // adding it rounds to a whole number, whose low bits end up lowest
#if HWY_NATIVE_FMA
  static constexpr float half_pi[] = {0x1.921fb6p0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
#else
  static constexpr float half_pi[] = {1.5703125f, 4.83512878417968750e-4f,
                                      3.13855707645416259766e-7f, 6.077100628276710381e-11f};
#endif
  static constexpr float sin[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
  static constexpr float cos[] = {4.166664568298827e-2f, -1.388731625493765e-3f,
                                  2.443315711809948e-5f};
};

template <>
struct Angle<double> {
  static constexpr double limit = 30000;
  static constexpr double small = 0.78125;
  static constexpr double round = 0x1.8p52;
#if HWY_NATIVE_FMA
  static constexpr double half_pi[] = {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54,
                                       -0x1.f1976b7ed8fbcp-110};
#else
  static constexpr double half_pi[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                       2.02226624871116645580e-21, 8.47842766036889956997e-32};
#endif
  static constexpr double sin[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                   -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                   -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double cos[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                   2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                   2.08757232129817482790e-09, -1.13596475577881948265e-11};
};

template <class D, class V, typename T, size_t kSize>
HWY_INLINE V Polynomial(D d, V x, const T (&coefficients)[kSize]) {
  V sum = hn::Set(d, coefficients[kSize - 1]);
  for (size_t i = kSize - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  return sum;
}

// sin(r + last) and cos(r) for r in [-π/4, π/4] and r + last, which is r to more digits.
template <class D, class V>
HWY_INLINE V SineNearZero(D d, V r, V z, V last) {
  using T = hn::TFromD<D>;
  return hn::MulAdd(hn::Mul(z, r), Polynomial(d, z, Angle<T>::sin), last);
}
// 1 - z/2 + z² P(z); what the rounding of 1 - z/2 lost is added back.
template <class D, class V>
HWY_INLINE V CosineNearZero(D d, V z) {
  using T = hn::TFromD<D>;
  const V one = hn::Set(d, 1);
  const V half = hn::Mul(z, hn::Set(d, static_cast<T>(0.5)));
  const V head = hn::Sub(one, half);
  const V lost = hn::Sub(hn::Sub(one, head), half);
  return hn::Add(head, hn::MulAdd(hn::Mul(z, z), Polynomial(d, z, Angle<T>::cos), lost));
}

// sin(x + kQuadrant * π/2) for |x| below the limit.
template <int kQuadrant, class D, class V>
HWY_INLINE V SineFrom(D d, V x) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  const V shifted = hn::MulAdd(x, hn::Set(d, static_cast<T>(0.63661977236758134308)),
                               hn::Set(d, Angle<T>::round));
  const V multiple = hn::Sub(shifted, hn::Set(d, Angle<T>::round));
  constexpr size_t kLast = std::size(Angle<T>::half_pi) - 1;
  V r = x;
  for (size_t i = 0; i < kLast; ++i)
    r = hn::NegMulAdd(multiple, hn::Set(d, Angle<T>::half_pi[i]), r);
  const V last = hn::NegMulAdd(multiple, hn::Set(d, Angle<T>::half_pi[kLast]), r);
  // The last of long parts is too small to be seen in powers of r, which need not wait for it.
  if constexpr (!HWY_NATIVE_FMA) r = last;
  const V z = hn::Mul(r, r);
  const auto quadrant = hn::Add(hn::BitCast(di, shifted), hn::Set(di, kQuadrant));
  const auto odd = hn::RebindMask(d, hn::TestBit(quadrant, hn::Set(di, 1)));
  constexpr int kToSign = sizeof(T) * 8 - 2;  // from bit 1
  const V sign = hn::BitCast(d, hn::ShiftLeft<kToSign>(hn::And(quadrant, hn::Set(di, 2))));
  return hn::Xor(hn::IfThenElse(odd, CosineNearZero(d, z), SineNearZero(d, r, z, last)), sign);
}

// Replaces the lanes where |x| is not below the limit by `f`, the scalar function of the C library.
template <class D, class V, typename F>
HWY_INLINE V PatchLargeAngles(D d, V x, V y, F f) {
  using T = hn::TFromD<D>;
  if (HWY_LIKELY(hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, Angle<T>::limit))))) return y;
  HWY_ALIGN T xs[hn::MaxLanes(D())];
  HWY_ALIGN T ys[hn::MaxLanes(D())];
  hn::Store(x, d, xs);
  hn::Store(y, d, ys);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (!(std::abs(xs[i]) < Angle<T>::limit)) ys[i] = f(xs[i]);
  }
  return hn::Load(d, ys);
}

// RunSmall: the same for |x| < Angle::small, in a third of the time. A single element branches to
// it.
struct SinLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    return PatchLargeAngles(d, x, KeepZero(d, x, SineFrom<0>(d, x)),
                            [](auto angle) { return std::sin(angle); });
  }
  template <class D, class V>
  static HWY_INLINE V RunSmall(D d, V x) {
    return KeepZero(d, x, SineNearZero(d, x, hn::Mul(x, x), x));
  }

 private:
  template <class D, class V>
  static HWY_INLINE V KeepZero(D d, V x, V y) {  // -0, too
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
  }
};

struct CosLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    return PatchLargeAngles(d, x, SineFrom<1>(d, x), [](auto angle) { return std::cos(angle); });
  }
  template <class D, class V>
  static HWY_INLINE V RunSmall(D d, V x) {
    return CosineNearZero(d, hn::Mul(x, x));
  }
};

struct TanhLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    using T = hn::TFromD<D>;
    // tanh is 1 to the last bit from 9.1 (float) and 19.1 (double) on.
    const V limit = hn::Set(d, static_cast<T>(20));
    const V y = hn::Tanh(d, hn::Max(hn::Min(x, limit), hn::Neg(limit)));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

struct SigmoidLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V x) {
    const V one = hn::Set(d, 1);
    return hn::Div(one, hn::Add(one, ExpLanes::Run(d, hn::Neg(x))));
  }
};

template <class Op, typename T>
void Row(const void* input, void* output, int64_t size) {
  const T* x = static_cast<const T*>(input);
  T* y = static_cast<T*>(output);
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t n = static_cast<size_t>(size);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Op::Run(d, hn::LoadU(d, x + i)), d, y + i);
  if (n - i == 1) {
    y[i] = hn::GetLane(Op::Run(d, hn::Set(d, x[i])));
  } else if (i < n) {
    HWY_ALIGN T rest[hn::MaxLanes(d)] = {};
    for (size_t j = i; j < n; ++j) rest[j - i] = x[j];
    hn::Store(Op::Run(d, hn::Load(d, rest)), d, rest);
    for (size_t j = i; j < n; ++j) y[j] = rest[j - i];
  }
}

template <class Op, typename T>
T One(T x) {
  const hn::CappedTag<T, 1> d;
  if constexpr (requires { Op::RunSmall(d, hn::Set(d, x)); }) {
    if (std::abs(x) < Angle<T>::small) return hn::GetLane(Op::RunSmall(d, hn::Set(d, x)));
  }
  return hn::GetLane(Op::Run(d, hn::Set(d, x)));
}

// What `visit` makes of the op's lanes.
template <typename Visit>
auto VisitLanes(UnaryOp op, const Visit& visit) -> decltype(visit(AbsLanes())) {
  switch (op) {
    case UnaryOp::kAbs:
      return visit(AbsLanes());
    case UnaryOp::kRelu:
      return visit(ReluLanes());
    case UnaryOp::kNeg:
      return visit(NegLanes());
    case UnaryOp::kSquare:
      return visit(SquareLanes());
    case UnaryOp::kSqrt:
      return visit(SqrtLanes());
    case UnaryOp::kRsqrt:
      return visit(RsqrtLanes());
    case UnaryOp::kReciprocal:
      return visit(ReciprocalLanes());
    case UnaryOp::kFloor:
      return visit(FloorLanes());
    case UnaryOp::kExp:
      return visit(ExpLanes());
    case UnaryOp::kLog:
      return visit(LogLanes());
    case UnaryOp::kSin:
      return visit(SinLanes());
    case UnaryOp::kCos:
      return visit(CosLanes());
    case UnaryOp::kTanh:
      return visit(TanhLanes());
    case UnaryOp::kSigmoid:
      return visit(SigmoidLanes());
  }
  return nullptr;
}

UnaryRow FindUnary(UnaryOp op, DType dtype) {
  return VisitLanes(op, [dtype](auto lanes) -> UnaryRow {
    using Op = decltype(lanes);
    if (dtype == DType::kFloat) return &Row<Op, float>;
    return dtype == DType::kDouble ? &Row<Op, double> : nullptr;
  });
}

template <typename T>
UnaryOne<T> FindUnaryOne(UnaryOp op) {
  return VisitLanes(op, [](auto lanes) -> UnaryOne<T> { return &One<decltype(lanes), T>; });
}
UnaryOne<float> FindOneFloat(UnaryOp op) { return FindUnaryOne<float>(op); }
UnaryOne<double> FindOneDouble(UnaryOp op) { return FindUnaryOne<double>(op); }

}  // namespace HWY_NAMESPACE
}  // namespace gyre::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::simd {

HWY_EXPORT(FindUnary);
HWY_EXPORT(FindOneFloat);
HWY_EXPORT(FindOneDouble);

UnaryRow FindRow(UnaryOp op, DType dtype) { return HWY_DYNAMIC_DISPATCH(FindUnary)(op, dtype); }
UnaryOne<float> FindOne(UnaryOp op, float) { return HWY_DYNAMIC_DISPATCH(FindOneFloat)(op); }
UnaryOne<double> FindOne(UnaryOp op, double) { return HWY_DYNAMIC_DISPATCH(FindOneDouble)(op); }

}  // namespace gyre::simd
#endif

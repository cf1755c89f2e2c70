// Compiled once per instruction set: foreach_target.h includes this file again for each.
#include "ops/math/simd.h"
#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/math/simd_arithmetic.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which decides what it compiles to.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct AddLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    return hn::Add(x, y);
  }
};

struct SubLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    return hn::Sub(x, y);
  }
};

struct MulLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    return hn::Mul(x, y);
  }
};

struct DivLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    return hn::Div(x, y);
  }
};

// x where `takes_x`, or where x is NaN; else y, which may be NaN too.
template <class V, class M>
HWY_INLINE V Choose(V x, V y, M takes_x) {
  return hn::IfThenElse(hn::Or(takes_x, hn::IsNaN(x)), x, y);
}

struct MaximumLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return Choose(x, y, hn::Gt(x, y));
    } else {
      return hn::Max(x, y);
    }
  }
};

struct MinimumLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D, V x, V y) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return Choose(x, y, hn::Lt(x, y));
    } else {
      return hn::Min(x, y);
    }
  }
};

// These round as their formulas in relu.cc and unary_gradient.cc do.

struct ReluGradLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V gradient, V x) {
    return hn::Mul(gradient, hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1)));
  }
};

struct TanhGradLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V y, V dy) {
    return hn::Mul(dy, hn::Sub(hn::Set(d, 1), hn::Mul(y, y)));
  }
};

struct SigmoidGradLanes {
  template <class D, class V>
  static HWY_INLINE V Run(D d, V y, V dy) {
    return hn::Mul(hn::Mul(dy, y), hn::Sub(hn::Set(d, 1), y));
  }
};

// Whether a load of some lanes touches only those. Targets are numbered from the best down; those
// of other architectures come behind.
constexpr bool kLoadsParts = HWY_TARGET <= HWY_AVX2;

// One operand of a stretch: its next lanes, or the one element that stands for all.
template <class D, bool kScalar>
struct Operand {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

  explicit Operand(const void* data)
      : data(static_cast<const T*>(data)), all(hn::Set(D(), *this->data)) {}

  HWY_INLINE V At(D d, size_t i) const {
    if constexpr (kScalar) {
      return all;
    } else {
      return hn::LoadU(d, data + i);
    }
  }
  // `count` lanes, fewer than a vector; in the others anything.
  HWY_INLINE V Rest(D d, size_t i, size_t count) const {
    if constexpr (kScalar) {
      return all;
    } else if constexpr (kLoadsParts) {
      return hn::MaskedLoad(hn::FirstN(d, count), d, data + i);
    } else {
      HWY_ALIGN T rest[hn::MaxLanes(D())];
      hn::Store(all, d, rest);
      for (size_t j = 0; j < count; ++j) rest[j] = data[i + j];
      return hn::Load(d, rest);
    }
  }

  const T* data;
  V all;
};

template <class Op, typename T, bool kScalarX, bool kScalarY>
void Stretch(const void* xs, const void* ys, T* z, size_t n) {
  using D = hn::ScalableTag<T>;
  const D d;
  const size_t lanes = hn::Lanes(d);
  const Operand<D, kScalarX> x(xs);
  const Operand<D, kScalarY> y(ys);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Op::Run(d, x.At(d, i), y.At(d, i)), d, z + i);
  if (i < n) {
    const auto rest = Op::Run(d, x.Rest(d, i, n - i), y.Rest(d, i, n - i));
    hn::BlendedStore(rest, hn::FirstN(d, n - i), d, z + i);
  }
}

template <class Op, typename T>
bool Row(const void* x, const void* y, void* output, int64_t size, Operands operands) {
  T* z = static_cast<T*>(output);
  const size_t n = static_cast<size_t>(size);
  if (n == 0) return true;
  switch (operands) {
    case Operands::kVectors:
      Stretch<Op, T, false, false>(x, y, z, n);
      break;
    case Operands::kScalarX:
      Stretch<Op, T, true, false>(x, y, z, n);
      break;
    case Operands::kScalarY:
      Stretch<Op, T, false, true>(x, y, z, n);
      break;
  }
  return true;
}

template <class Op>
BinaryRow FloatRow(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &Row<Op, float>;
    case DType::kDouble:
      return &Row<Op, double>;
    default:
      return nullptr;
  }
}

template <class Op>
BinaryRow NumberRow(DType dtype) {
  return dtype == DType::kInt32 ? &Row<Op, int32_t> : FloatRow<Op>(dtype);
}

BinaryRow FindArithmetic(ArithmeticOp op, DType dtype) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return dtype == DType::kInt64 ? &Row<AddLanes, int64_t> : NumberRow<AddLanes>(dtype);
    case ArithmeticOp::kSub:
      return dtype == DType::kInt64 ? &Row<SubLanes, int64_t> : NumberRow<SubLanes>(dtype);
    case ArithmeticOp::kMul:
      return NumberRow<MulLanes>(dtype);
    case ArithmeticOp::kDiv:
      return FloatRow<DivLanes>(dtype);
    case ArithmeticOp::kMaximum:
      return NumberRow<MaximumLanes>(dtype);
    case ArithmeticOp::kMinimum:
      return NumberRow<MinimumLanes>(dtype);
    case ArithmeticOp::kReluGrad:
      return FloatRow<ReluGradLanes>(dtype);
    case ArithmeticOp::kTanhGrad:
      return FloatRow<TanhGradLanes>(dtype);
    case ArithmeticOp::kSigmoidGrad:
      return FloatRow<SigmoidGradLanes>(dtype);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::simd {

HWY_EXPORT(FindArithmetic);

BinaryRow FindRow(ArithmeticOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindArithmetic)(op, dtype);
}

}  // namespace gyre::simd
#endif

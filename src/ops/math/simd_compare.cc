// Compiled once per instruction set: foreach_target.h includes this file again for each.
#include <cstring>

#include "ops/math/simd.h"
#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/math/simd_compare.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which decides what it compiles to.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre::simd {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct LessLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    return hn::Lt(x, y);
  }
};

struct GreaterLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    return hn::Gt(x, y);
  }
};

struct LessEqualLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    // Highway compares integers only strictly; for floats the two differ at NaN.
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Le(x, y);
    } else {
      return hn::Not(hn::Gt(x, y));
    }
  }
};

struct GreaterEqualLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    return LessEqualLanes::Run(y, x);
  }
};

struct EqualLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    return hn::Eq(x, y);
  }
};

struct NotEqualLanes {
  template <class V>
  static HWY_INLINE auto Run(V x, V y) {
    // Not hn::Ne, which is false for NaN on AVX-512 (Highway 1.0.3).
    return hn::Not(hn::Eq(x, y));
  }
};

// One byte, 0 or 1, per lane.
template <class Op, class D, class V>
HWY_INLINE void CompareTo(D d, V x, V y, uint8_t* z) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint8_t, D> d8;
  const auto ones = hn::BitCast(du, hn::VecFromMask(d, Op::Run(x, y)));
  hn::StoreU(hn::TruncateTo(d8, hn::And(ones, hn::Set(du, 1))), d8, z);
}

// As x[i] compares with y[i], or with y[0].
template <class Op, typename T, bool kScalarY>
void Stretch(const T* x, const T* y, uint8_t* z, size_t n) {
  const hn::ScalableTag<T> d;
  constexpr size_t kMaxLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const size_t lanes = hn::Lanes(d);
  const auto first = hn::Set(d, y[0]);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    CompareTo<Op>(d, hn::LoadU(d, x + i), kScalarY ? first : hn::LoadU(d, y + i), z + i);
  }
  if (i == n) return;
  HWY_ALIGN T rest_x[kMaxLanes] = {};
  HWY_ALIGN T rest_y[kMaxLanes] = {};
  HWY_ALIGN uint8_t rest_z[kMaxLanes];
  for (size_t j = i; j < n; ++j) {
    rest_x[j - i] = x[j];
    rest_y[j - i] = y[kScalarY ? 0 : j];
  }
  CompareTo<Op>(d, hn::Load(d, rest_x), hn::Load(d, rest_y), rest_z);
  for (size_t j = i; j < n; ++j) z[j] = rest_z[j - i];
}

// `Mirrored` is the comparison that holds for (y, x) when Op holds for (x, y).
template <class Op, class Mirrored, typename T>
bool Row(const void* xs, const void* ys, void* output, int64_t size, Operands operands) {
  const T* x = static_cast<const T*>(xs);
  const T* y = static_cast<const T*>(ys);
  uint8_t* z = static_cast<uint8_t*>(output);
  const size_t n = static_cast<size_t>(size);
  if (n == 0) return true;
  switch (operands) {
    case Operands::kVectors:
      Stretch<Op, T, false>(x, y, z, n);
      break;
    case Operands::kScalarX:
      Stretch<Mirrored, T, true>(y, x, z, n);
      break;
    case Operands::kScalarY:
      Stretch<Op, T, true>(x, y, z, n);
      break;
  }
  return true;
}

template <class Op, class Mirrored>
BinaryRow RowFor(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return &Row<Op, Mirrored, float>;
    case DType::kDouble:
      return &Row<Op, Mirrored, double>;
    case DType::kInt32:
      return &Row<Op, Mirrored, int32_t>;
    case DType::kInt64:
      return &Row<Op, Mirrored, int64_t>;
    default:
      return nullptr;
  }
}

BinaryRow FindCompare(CompareOp op, DType dtype) {
  switch (op) {
    case CompareOp::kLess:
      return RowFor<LessLanes, GreaterLanes>(dtype);
    case CompareOp::kGreater:
      return RowFor<GreaterLanes, LessLanes>(dtype);
    case CompareOp::kLessEqual:
      return RowFor<LessEqualLanes, GreaterEqualLanes>(dtype);
    case CompareOp::kGreaterEqual:
      return RowFor<GreaterEqualLanes, LessEqualLanes>(dtype);
    case CompareOp::kEqual:
      return RowFor<EqualLanes, EqualLanes>(dtype);
    case CompareOp::kNotEqual:
      return RowFor<NotEqualLanes, NotEqualLanes>(dtype);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace gyre::simd
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre::simd {

HWY_EXPORT(FindCompare);

BinaryRow FindRow(CompareOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindCompare)(op, dtype);
}

}  // namespace gyre::simd
#endif

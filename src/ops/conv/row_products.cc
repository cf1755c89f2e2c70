#include "ops/conv/depthwise_sum.h"
#include "ops/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv/row_products.cc"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace gyre {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Columns [c, c + kVectors vectors).
template <int kVectors, typename T, typename D>
HWY_INLINE void SumColumns(const RowProducts<T>& p, D d, int64_t c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kVectors];
  for (int v = 0; v < kVectors; ++v)
    sums[v] = p.accumulate ? hn::LoadU(d, p.out + c + v * lanes) : hn::Zero(d);
  for (int64_t i = 0; i < p.count; ++i) {
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::MulAdd(hn::LoadU(d, p.xs[i] + c + v * lanes),
                           hn::LoadU(d, p.ws[i] + c + v * lanes), sums[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, p.out + c + v * lanes);
}

template <typename T>
void Sum(const RowProducts<T>& p) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 4 * lanes <= p.n; c += 4 * lanes) SumColumns<4>(p, d, c);
  for (; c + lanes <= p.n; c += lanes) SumColumns<1>(p, d, c);
  for (; c < p.n; ++c) SumColumns<1>(p, one, c);
}

void SumFloats(const RowProducts<float>& p) { Sum(p); }
void SumDoubles(const RowProducts<double>& p) { Sum(p); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace gyre
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gyre {

HWY_EXPORT(SumFloats);
HWY_EXPORT(SumDoubles);

void SumRowProducts(const RowProducts<float>& p) { HWY_DYNAMIC_DISPATCH(SumFloats)(p); }
void SumRowProducts(const RowProducts<double>& p) { HWY_DYNAMIC_DISPATCH(SumDoubles)(p); }

}  // namespace gyre
#endif  // HWY_ONCE

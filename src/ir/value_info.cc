#include "ir/value_info.h"

#include <algorithm>
#include <utility>

namespace gyre {
namespace {

// Dimensions, permutations and axes are shorter; weights are not of interest here.
constexpr int64_t kMaxConstantElements = 256;

constexpr int kChangesBeforeDimensionsGo = 4;
constexpr int kChangesBeforeRankGoes = 8;

bool SameTensor(const Tensor& a, const Tensor& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a.has_value() || AttrEquals(AttrValue(a), AttrValue(b));
}

// A vector of dimensions, from the value when it is known.
std::optional<PartialShape> AsShape(const ValueInfo& info) {
  if (info.as_shape || !info.constant.has_value() || info.constant.rank() != 1)
    return info.as_shape;
  Dims dims;
  if (info.constant.dtype() == DType::kInt32) {
    for (const int32_t d : info.constant.values<int32_t>()) dims.push_back(d);
  } else if (info.constant.dtype() == DType::kInt64) {
    for (const int64_t d : info.constant.values<int64_t>()) dims.push_back(d);
  } else {
    return std::nullopt;
  }
  if (dims.size() > Shape::kMaxRank) return std::nullopt;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < -1; })) return std::nullopt;
  return PartialShape(std::move(dims));
}

std::optional<PartialShape> JoinAsShape(const ValueInfo& a, const ValueInfo& b) {
  const std::optional<PartialShape> x = AsShape(a);
  const std::optional<PartialShape> y = AsShape(b);
  if (!x || !y) return std::nullopt;
  PartialShape joined = x->Widen(*y);
  if (!joined.has_rank()) return std::nullopt;
  return joined;
}

PartialShape Coarser(const PartialShape& shape, int changes) {
  if (!shape.has_rank() || changes > kChangesBeforeRankGoes) return PartialShape::Unknown();
  return PartialShape::UnknownOfRank(shape.rank());
}

ValueInfo Coarser(ValueInfo info, int changes) {
  info.shape = Coarser(info.shape, changes);
  if (info.handle) info.handle->shape = Coarser(info.handle->shape, changes);
  info.constant = Tensor();
  info.as_shape.reset();
  return info;
}

}  // namespace

bool SameInfo(const ValueInfo& a, const ValueInfo& b) {
  return a.shape == b.shape && a.handle == b.handle && a.as_shape == b.as_shape &&
         SameTensor(a.constant, b.constant);
}

ValueInfo Join(const ValueInfo& a, const ValueInfo& b) {
  ValueInfo joined;
  joined.shape = a.shape.Widen(b.shape);
  if (a.handle && b.handle && a.handle->dtype == b.handle->dtype) {
    joined.handle = HandleInfo{a.handle->dtype, a.handle->shape.Widen(b.handle->shape)};
  }
  if (a.constant.has_value() && SameTensor(a.constant, b.constant)) {
    joined.constant = a.constant;
    if (a.as_shape == b.as_shape) joined.as_shape = a.as_shape;
  } else {
    joined.as_shape = JoinAsShape(a, b);
  }
  return joined;
}

ValueInfo Normalized(ValueInfo info) {
  if (!info.constant.has_value()) return info;
  if (!info.shape.has_rank()) info.shape = info.constant.shape();
  if (info.constant.num_elements() > kMaxConstantElements) info.constant = Tensor();
  return info;
}

ValueInfos UnknownInfos(size_t n) { return std::vector<ValueInfo>(n); }

bool SameInfos(const ValueInfos& a, const ValueInfos& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || std::equal(a->begin(), a->end(), b->begin(), b->end(), SameInfo);
}

ValueInfos JoinInfos(const ValueInfos& a, const ValueInfos& b) {
  if (!a) return b;
  if (!b) return a;
  if (a->size() != b->size()) return UnknownInfos(std::max(a->size(), b->size()));
  std::vector<ValueInfo> joined;
  joined.reserve(a->size());
  for (size_t i = 0; i < a->size(); ++i) joined.push_back(Join((*a)[i], (*b)[i]));
  return joined;
}

bool JoinRepeated(ValueInfos& known, const ValueInfos& more, int& changes) {
  ValueInfos joined = JoinInfos(known, more);
  if (SameInfos(known, joined)) return false;
  if (known && joined && ++changes > kChangesBeforeDimensionsGo) {
    for (size_t i = 0; i < joined->size(); ++i) {
      const bool is_stable = i < known->size() && SameInfo((*known)[i], (*joined)[i]);
      if (!is_stable) (*joined)[i] = Coarser(std::move((*joined)[i]), changes);
    }
  }
  known = std::move(joined);
  return true;
}

}  // namespace gyre

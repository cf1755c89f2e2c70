#include "ir/simplify_context.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

template <typename T>
bool AllAreFloat(const Tensor& tensor, double wanted) {
  const absl::Span<const T> values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(), [&](T v) {
    const double value = static_cast<double>(static_cast<float>(v));
    return value == wanted && std::signbit(value) == std::signbit(wanted);
  });
}

template <typename T>
bool AllAreInteger(const Tensor& tensor, double wanted) {
  const absl::Span<const T> values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(),
                     [&](T v) { return v == static_cast<T>(wanted); });
}

// All elements are `wanted` (0, -0.0 or 1), the sign of zero included.
bool IsAll(const Tensor& tensor, double wanted) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return AllAreFloat<float>(tensor, wanted);
    case DType::kDouble: {
      const auto values = tensor.values<double>();
      return std::all_of(values.begin(), values.end(), [&](double v) {
        return v == wanted && std::signbit(v) == std::signbit(wanted);
      });
    }
    case DType::kHalf:
      return AllAreFloat<Half>(tensor, wanted);
    case DType::kBfloat16:
      return AllAreFloat<BFloat16>(tensor, wanted);
    case DType::kInt8:
      return AllAreInteger<int8_t>(tensor, wanted);
    case DType::kUint8:
      return AllAreInteger<uint8_t>(tensor, wanted);
    case DType::kInt16:
      return AllAreInteger<int16_t>(tensor, wanted);
    case DType::kUint16:
      return AllAreInteger<uint16_t>(tensor, wanted);
    case DType::kInt32:
      return AllAreInteger<int32_t>(tensor, wanted);
    case DType::kUint32:
      return AllAreInteger<uint32_t>(tensor, wanted);
    case DType::kInt64:
      return AllAreInteger<int64_t>(tensor, wanted);
    case DType::kUint64:
      return AllAreInteger<uint64_t>(tensor, wanted);
    default:
      return false;
  }
}

}  // namespace

bool SimplifyContext::KeepsShape(Endpoint x, const Shape& shape) const {
  if (shape.IsScalar()) return true;
  const PartialShape known = ShapeOf(x);
  if (!known.has_rank() || known.rank() < shape.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i) {
    const int64_t dim = shape.dim(shape.rank() - i);
    if (dim != 1 && dim != known.dim(known.rank() - i)) return false;
  }
  return true;
}

bool SimplifyContext::HaveSameShape(Endpoint a, Endpoint b) const {
  if (a == b) return true;
  const PartialShape first = ShapeOf(a);
  const PartialShape second = ShapeOf(b);
  return first.IsFullyKnown() && second.IsFullyKnown() && first == second;
}

namespace simplify {

// No output comes before all inputs have: that matters only where one of them has an order.
void PassOn(SimplifyContext& s) {
  for (int i = 0; i < s.num_inputs() && s.num_inputs() > 1; ++i) {
    if (!s.IsFree(s.input(i))) return;
  }
  for (int i = 0; i < s.node().num_outputs(); ++i) s.Replace(i, s.input(i));
}

void Involution(SimplifyContext& s) {
  const Node* inner = s.Maker(0, s.node().op_name);
  if (inner != nullptr) s.Replace(0, s.InputOf(*inner, 0));
}

void IfShapeStays(SimplifyContext& s) {
  const auto dims = Integers(s.constant(1));
  const PartialShape shape = s.ShapeOf(s.input(0));
  if (dims && shape.IsFullyKnown() &&
      std::equal(dims->begin(), dims->end(), shape.dims().begin(), shape.dims().end())) {
    s.Replace(0, s.input(0));
  }
}

bool IfNeutral(SimplifyContext& s, int i, double neutral) {
  const Tensor* constant = s.constant(i);
  const Endpoint other = s.input(1 - i);
  if (constant == nullptr || !IsAll(*constant, neutral) || !s.KeepsShape(other, constant->shape()))
    return false;
  s.Replace(0, other);
  return true;
}

std::optional<std::vector<int64_t>> Integers(const Tensor* tensor) {
  if (tensor == nullptr || tensor->rank() > 1) return std::nullopt;
  if (tensor->dtype() == DType::kInt32) {
    const auto values = tensor->values<int32_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() != DType::kInt64) return std::nullopt;
  const auto values = tensor->values<int64_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace simplify
}  // namespace gyre

// Numbers in double precision for tests of gradients: tensors of them, central differences, and
// products of matrices in plain C++. Stateless.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "front/engines.h"

namespace gyre::testing {

using Doubles = std::vector<double>;

inline Tensor D(double value) { return Tensor::Scalar<double>(value); }
inline Tensor Of(const Doubles& values, const Dims& dims) {
  return Tensor::FromValues<double>(values, *Shape::Make(dims));
}
inline Tensor Of(const Doubles& values) {
  return Of(values, {static_cast<int64_t>(values.size())});
}

inline Tensor Ints(const std::vector<int32_t>& values) {
  return Tensor::FromValues<int32_t>(values, Shape::Vector(static_cast<int64_t>(values.size())));
}

inline Value Double(const Dims& dims = {}) {
  return placeholder(DType::kDouble, PartialShape(dims));
}
inline Value Real(const Value& i) { return cast(i, DType::kDouble); }
inline Value Gradient(const Value& y, const Source& x) { return gradients({y}, {x})[0]; }

// The derivatives of f by each element of `at`. Right to about 1e-9.
inline Doubles Differences(const std::function<double(const Doubles&)>& f, Doubles at) {
  constexpr double kStep = 1e-5;
  Doubles result;
  for (double& x : at) {
    const double middle = x;
    x = middle + kStep;
    const double above = f(at);
    x = middle - kStep;
    result.push_back((above - f(at)) / (2 * kStep));
    x = middle;
  }
  return result;
}

inline void ExpectNear(const Doubles& got, const Doubles& want, double tolerance = 1e-8) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::abs(want[i]))) << i;
}

// Numbers that show no pattern, between -1 and 1.
inline Doubles Numbers(size_t n, double first = 1) {
  Doubles result;
  for (size_t i = 0; i < n; ++i) result.push_back(std::sin(first + 2.7 * static_cast<double>(i)));
  return result;
}

// `a`, whose rows have as many elements as there are rows of `b`, times `b`.
inline Doubles Product(const Doubles& a, const Doubles& b, size_t inner) {
  const size_t rows = a.size() / inner, columns = b.size() / inner;
  Doubles result(rows * columns);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < inner; ++k) {
      for (size_t j = 0; j < columns; ++j)
        result[i * columns + j] += a[i * inner + k] * b[k * columns + j];
    }
  }
  return result;
}

inline Doubles Part(const Doubles& all, size_t begin, size_t size) {
  const auto first = all.begin() + static_cast<int64_t>(begin);
  return {first, first + static_cast<int64_t>(size)};
}

}  // namespace gyre::testing

// What the tests of elementwise ops share: one op on given tensors, its result as a vector, its
// error as text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "ops/evaluate.h"

namespace gyre::test {

// Output 0 of the op; a failed test and a tensor without value if it fails.
inline Tensor Eval(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  absl::StatusOr<std::vector<Tensor>> outputs = EvaluateOp(op, std::move(inputs), std::move(attrs));
  if (!outputs.ok()) {
    ADD_FAILURE() << std::string(op) << ": " << outputs.status();
    return Tensor();
  }
  return (*outputs)[0];
}

// Why the op fails; OK (and a failed test) if it does not.
inline absl::Status EvalError(absl::string_view op, std::vector<Tensor> inputs,
                              AttrMap attrs = {}) {
  absl::StatusOr<std::vector<Tensor>> outputs = EvaluateOp(op, std::move(inputs), std::move(attrs));
  EXPECT_FALSE(outputs.ok()) << std::string(op) << " succeeded";
  return outputs.status();
}

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

// The elements of a tensor that must have dtype T; empty if it has another.
template <typename T>
std::vector<T> Values(const Tensor& t) {
  EXPECT_EQ(t.dtype(), DTypeOf<T>);
  if (!t.has_value() || t.dtype() != DTypeOf<T>) return {};
  return std::vector<T>(t.values<T>().begin(), t.values<T>().end());
}

inline AttrMap Attrs(std::vector<std::pair<std::string, AttrValue>> entries) {
  AttrMap attrs;
  for (auto& [name, value] : entries) attrs.Set(name, std::move(value));
  return attrs;
}

inline Shape ShapeOf(std::vector<int64_t> dims) {
  return Shape::Trusted(Dims(dims.begin(), dims.end()));
}

}  // namespace gyre::test

// What tests of src/eager share: numbers in and out of a context.
#pragma once

#include <vector>

#include "eager/context.h"
#include "eager/tape.h"
#include "eager/variable.h"
#include "gyre/value.h"

namespace gyre::eager::testing {

inline EagerTensor F(float value) { return EagerTensor(Tensor::Scalar(value)); }
inline EagerTensor Vec(const std::vector<float>& values) {
  return EagerTensor(
      Tensor::FromValues<float>(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}
inline EagerTensor Ints(const std::vector<int32_t>& values) {
  return EagerTensor(
      Tensor::FromValues<int32_t>(values, Shape::Vector(static_cast<int64_t>(values.size()))));
}
inline EagerTensor Square(const std::vector<float>& values) {  // two by two
  return EagerTensor(Tensor::FromValues<float>(values, *Shape::Make({2, 2})));
}

inline std::vector<float> Floats(const EagerTensor& tensor) {
  const auto values = tensor.value.values<float>();
  return {values.begin(), values.end()};
}
inline float Float(const EagerTensor& tensor) { return tensor.value.values<float>()[0]; }
inline float Float(const Adjoint& adjoint) { return Float(adjoint.values); }

// The status of the Error that f throws; OK: none.
template <typename Fn>
absl::Status Thrown(Fn&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

inline EagerTensor Read(Context& context, const EagerTensor& variable) {
  return context.Execute1("ReadVariableOp", {variable}, {{"dtype", DType::kFloat}});
}

inline EagerTensor Mul(Context& context, const EagerTensor& a, const EagerTensor& b) {
  return context.Execute1("Mul", {a, b});
}

// Records what `run` does, watching `watched`.
template <typename Fn>
auto Recorded(Tape& tape, const std::vector<EagerTensor>& watched, Fn&& run) {
  for (const EagerTensor& tensor : watched) tape.Watch(tensor);
  tape.Start();
  auto result = run();
  if (tape.is_recording()) tape.Stop();
  return result;
}

}  // namespace gyre::eager::testing

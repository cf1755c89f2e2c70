#include "eager/adjoints.h"

#include <algorithm>

#include "eager/context.h"
#include "front/error.h"

namespace gyre::eager {
namespace {

int64_t FirstOf(const Tensor& dims) {
  return dims.dtype() == DType::kInt64 ? dims.values<int64_t>()[0] : dims.values<int32_t>()[0];
}

Tensor IndexOf(int64_t value, DType dtype) {
  return dtype == DType::kInt64 ? Tensor::Scalar(value)
                                : Tensor::Scalar(static_cast<int32_t>(value));
}

// Along the first dimension.
EagerTensor Joined(Context& context, EagerTensors parts) {
  parts.emplace_back(Tensor::Scalar(int32_t{0}));
  return context.Execute1("ConcatV2", std::move(parts));
}

Adjoint SumOfRows(Context& context, const std::vector<Adjoint>& summands) {
  const bool are_alike = std::all_of(summands.begin(), summands.end(), [&](const Adjoint& a) {
    return a.indices.dtype() == summands[0].indices.dtype();
  });
  const DType wide = are_alike ? summands[0].indices.dtype() : DType::kInt64;
  EagerTensors values, indices;
  for (const Adjoint& summand : summands) {
    values.push_back(summand.values);
    indices.push_back(summand.indices.dtype() == wide
                          ? summand.indices
                          : context.Execute1("Cast", {summand.indices}, {{"DstT", wide}}));
  }
  return {.values = Joined(context, std::move(values)),
          .indices = Joined(context, std::move(indices)),
          .shape = summands[0].shape};
}

}  // namespace

Adjoint Given(Context& context, const EagerTensor& tensor, MaybeOnes adjoint) {
  if (adjoint) return *std::move(adjoint);
  return {.values = context.Execute1("OnesLike", {tensor}), .indices = {}, .shape = {}};
}

EagerTensor Dense(Context& context, const Adjoint& adjoint) {
  if (!adjoint.is_sparse()) return adjoint.values;
  if (!adjoint.shape.has_value()) {
    gyre::internal::Throw(
        absl::InvalidArgumentError("IndexedSlices without a dense_shape cannot become a tensor"));
  }
  const int64_t rows = FirstOf(adjoint.shape.value);
  return context.Execute1(
      "UnsortedSegmentSum",
      {adjoint.values, adjoint.indices, EagerTensor(IndexOf(rows, adjoint.indices.dtype()))});
}

Adjoint Adjoints::Sum(const Summands& summands) const {
  std::vector<Adjoint> given;
  for (const auto& [tensor, adjoint] : summands) given.push_back(Given(context_, tensor, adjoint));
  if (given.size() == 1) return std::move(given[0]);
  if (std::all_of(given.begin(), given.end(), [](const Adjoint& a) { return a.is_sparse(); }))
    return SumOfRows(context_, given);
  EagerTensors all;
  for (const Adjoint& adjoint : given) all.push_back(Dense(context_, adjoint));
  return {.values = context_.Execute1("AddN", std::move(all)), .indices = {}, .shape = {}};
}

MaybeOnes Adjoints::Take(const EagerTensor& tensor) {
  const auto it = found_.find(tensor.id);
  const Summands summands = std::move(it->second);
  found_.erase(it);
  if (summands.size() == 1) return summands[0].second;
  return Sum(summands);
}

Adjoint Adjoints::Total(const EagerTensor& tensor) const {
  const auto it = found_.find(tensor.id);
  return it == found_.end() ? Adjoint() : Sum(it->second);
}

}  // namespace gyre::eager

// What the tests of the Array family share: tensors whose elements are numbered, so that it shows
// where each has gone, whatever its type; and calls of shape rules.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/evaluate.h"

namespace gyre::array_testing {

inline Shape MakeShape(std::initializer_list<int64_t> dims) { return *Shape::Make(Dims(dims)); }

inline Tensor Int32s(std::initializer_list<int32_t> values) {
  return Tensor::Vector<int32_t>(values);
}
inline Tensor Int32(int32_t value) { return Tensor::Scalar<int32_t>(value); }

inline AttrMap Attrs(std::vector<AttrMap::Entry> entries) {
  AttrMap attrs;
  for (auto& [name, value] : entries) attrs.Set(name, std::move(value));
  return attrs;
}

// Output 0 of an op that must succeed.
inline Tensor Call(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  auto outputs = EvaluateOp(op, std::move(inputs), std::move(attrs));
  if (!outputs.ok()) {
    ADD_FAILURE() << op << ": " << outputs.status();
    return Tensor();
  }
  return (*outputs)[0];
}

inline absl::Status Fails(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  return EvaluateOp(op, std::move(inputs), std::move(attrs)).status();
}

MATCHER_P(IsInvalid, text, absl::StrCat("INVALID_ARGUMENT with \"", text, "\"")) {
  *result_listener << arg;
  return absl::IsInvalidArgument(arg) && absl::StrContains(arg.message(), text);
}

// An object with a number.
class Numbered : public Object {
 public:
  explicit Numbered(int number) : number(number) {}
  absl::string_view type_name() const override { return "Numbered"; }
  const int number;
};

// Every dtype that tensors of a graph can have.
inline std::vector<DType> AllDTypes() {
  std::vector<DType> all;
  for (int wire = 1; wire <= 23; ++wire) all.push_back(static_cast<DType>(wire));
  return all;
}

// Elements 1, 2, 3, … in row-major order: the first byte of plain elements, the text of strings,
// the number of objects. At most 255 elements.
inline Tensor Count(DType dtype, const Shape& shape) {
  Tensor t = *Tensor::Zeros(dtype, shape, {});
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    const int number = static_cast<int>(i) + 1;
    if (dtype == DType::kString) {
      t.mutable_values<std::string>()[i] = absl::StrCat(number);
    } else if (!IsTrivial(dtype)) {
      t.mutable_values<RefPtr<Object>>()[i] = MakeRef<Numbered>(number);
    } else {
      static_cast<uint8_t*>(t.mutable_raw_data())[i * DTypeSize(dtype)] =
          static_cast<uint8_t>(number);
    }
  }
  return t;
}

// The numbers of a tensor's elements; 0 for zeros, empty strings and null objects.
inline std::vector<int> Numbers(const Tensor& t) {
  std::vector<int> numbers(t.num_elements());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (t.dtype() == DType::kString) {
      if (!absl::SimpleAtoi(t.values<std::string>()[i], &numbers[i])) numbers[i] = 0;
    } else if (!IsTrivial(t.dtype())) {
      const auto* object = dynamic_cast<Numbered*>(t.values<RefPtr<Object>>()[i].get());
      numbers[i] = object == nullptr ? 0 : object->number;
    } else {
      numbers[i] = static_cast<const uint8_t*>(t.raw_data())[i * DTypeSize(t.dtype())];
    }
  }
  return numbers;
}

using Index = std::vector<int64_t>;

// Calls `visit` with every index below `dims`, in row-major order.
inline void ForEachIndex(absl::Span<const int64_t> dims,
                         const std::function<void(const Index&)>& visit) {
  Index index(dims.size(), 0);
  for (const int64_t d : dims) {
    if (d == 0) return;
  }
  while (true) {
    visit(index);
    int d = static_cast<int>(dims.size()) - 1;
    while (d >= 0 && ++index[d] == dims[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline int64_t RowMajor(const Index& index, const Shape& shape) {
  int64_t offset = 0;
  for (int d = 0; d < shape.rank(); ++d) offset = offset * shape.dim(d) + index[d];
  return offset;
}

// The numbers of a tensor of shape `out` whose element at `index` is that of Count(…, in) at
// `source(index)`, or 0 where that is empty.
inline std::vector<int> Moved(const Shape& out, const Shape& in,
                              const std::function<Index(const Index&)>& source) {
  std::vector<int> numbers;
  ForEachIndex(out.dims(), [&](const Index& index) {
    const Index from = source(index);
    const bool none = from.empty() && in.rank() > 0;
    numbers.push_back(none ? 0 : static_cast<int>(RowMajor(from, in)) + 1);
  });
  return numbers;
}

// What is known of an input of a shape rule.
struct Known {
  DType dtype = DType::kFloat;
  ValueInfo info;

  static Known Of(DType dtype, PartialShape shape) { return {dtype, {.shape = std::move(shape)}}; }
  static Known Constant(Tensor value) {
    const DType dtype = value.dtype();
    const PartialShape shape = value.shape();
    return {dtype, {.shape = shape, .constant = std::move(value)}};
  }
  // An int32 list of dimensions, of which some are known.
  static Known List(Dims dims) {
    return {DType::kInt32,
            {.shape = Shape::Vector(static_cast<int64_t>(dims.size())),
             .as_shape = PartialShape(dims)}};
  }
};

inline PartialShape Partial(std::initializer_list<int64_t> dims) {
  return PartialShape(Dims(dims));
}

// What the shape rule of `op` says of its outputs.
inline absl::StatusOr<std::vector<ValueInfo>> Infer(absl::string_view op,
                                                    const std::vector<Known>& inputs,
                                                    AttrMap attrs = {}) {
  std::vector<Tensor> stand_ins;  // for their types
  std::vector<ValueInfo> infos;
  for (const Known& input : inputs) {
    stand_ins.push_back(*Tensor::Make(input.dtype, Shape()));
    infos.push_back(input.info);
  }
  GYRE_ASSIGN_OR_RETURN(const Node node, MakeNode(Ops(), op, stand_ins, std::move(attrs)));
  ShapeContext context(node, std::move(infos));
  GYRE_RETURN_IF_ERROR(node.op->shape(context));
  return context.outputs();
}

// "[2,?]": the inferred shape of output 0, or the error.
inline std::string Inferred(absl::string_view op, const std::vector<Known>& inputs,
                            AttrMap attrs = {}) {
  const auto outputs = Infer(op, inputs, std::move(attrs));
  return outputs.ok() ? (*outputs)[0].shape.ToString() : outputs.status().ToString();
}

// "[2,?]": what is known of output 0 as a list of dimensions; "" when nothing is.
inline std::string InferredList(absl::string_view op, const std::vector<Known>& inputs,
                                AttrMap attrs = {}) {
  const auto outputs = Infer(op, inputs, std::move(attrs));
  if (!outputs.ok()) return outputs.status().ToString();
  const ValueInfo& info = (*outputs)[0];
  if (info.as_shape) return info.as_shape->ToString();
  return "";
}

}  // namespace gyre::array_testing

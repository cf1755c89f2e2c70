// Emitter: nodes of ONNX with their types, and what is said with several of them. What is known
// beforehand becomes a constant. After a failure nothing means anything. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "onnx/write/model_writer.h"

namespace gyre::onnx {

class Emitter {
 public:
  explicit Emitter(ModelWriter& model) : model_(model) {}

  ModelWriter& model() { return model_; }
  bool failed() const { return model_.failed(); }
  void Invalid(absl::string_view why) { model_.Fail(absl::InvalidArgumentError(why)); }
  void Unsupported(absl::string_view why) { model_.Fail(absl::UnimplementedError(why)); }

  // One node; a result of input 0's type where `dtype` does not say another.
  ModelValue Op(absl::string_view op, const std::vector<ModelValue>& inputs, Attrs attrs = {},
                DType dtype = DType::kInvalid, PartialShape shape = PartialShape::Unknown());
  std::vector<ModelValue> Ops(absl::string_view op, const std::vector<ModelValue>& inputs,
                              Attrs attrs, const std::vector<DType>& dtypes);
  // Among inputs: none.
  static ModelValue None() { return ModelValue(); }

  static ModelValue Known(Tensor value);
  static ModelValue I64(int64_t value) { return Known(Tensor::Scalar(value)); }
  static ModelValue I64s(const std::vector<int64_t>& values);
  ModelValue Number(DType dtype, double value);
  // The elements of an integer constant.
  static std::optional<std::vector<int64_t>> IntsOf(const ModelValue& x);
  static std::optional<int64_t> IntOf(const ModelValue& x);
  // Those that must be known; none after a failure.
  std::vector<int64_t> Ints(const ModelValue& x, absl::string_view what);
  int64_t Int(const ModelValue& x, absl::string_view what);
  int Rank(const ModelValue& x, absl::string_view what = "");
  int Axis(int64_t axis, int rank);

  ModelValue Cast(const ModelValue& x, DType dtype);
  // An int64 value that counts or names something, as the type that is wanted.
  ModelValue Index(const ModelValue& x, DType dtype);
  ModelValue AsInt64(const ModelValue& x) { return Cast(x, DType::kInt64); }
  // Elementwise, with numpy's broadcasting; of types that ONNX's runtimes have, see ops/pairs.h.
  ModelValue Unary(absl::string_view onnx, const ModelValue& x);
  ModelValue Binary(absl::string_view onnx, const ModelValue& x, const ModelValue& y);
  ModelValue Add(const ModelValue& x, const ModelValue& y) { return Binary("Add", x, y); }
  ModelValue Sub(const ModelValue& x, const ModelValue& y) { return Binary("Sub", x, y); }
  ModelValue Mul(const ModelValue& x, const ModelValue& y) { return Binary("Mul", x, y); }
  // Of integers rounded towards zero.
  ModelValue Div(const ModelValue& x, const ModelValue& y);
  ModelValue FloorDiv(const ModelValue& x, const ModelValue& y);
  ModelValue Max(const ModelValue& x, const ModelValue& y);
  ModelValue Min(const ModelValue& x, const ModelValue& y);
  ModelValue Where(const ModelValue& condition, const ModelValue& x, const ModelValue& y);
  ModelValue Not(const ModelValue& x) { return Unary("Not", x); }

  ModelValue ShapeOf(const ModelValue& x);          // an int64 vector
  ModelValue DimOf(const ModelValue& x, int axis);  // an int64 scalar
  ModelValue SizeOf(const ModelValue& x);
  // A number as a vector of one.
  ModelValue AsVector(const ModelValue& x);
  ModelValue Reshape(const ModelValue& x, const ModelValue& dims);
  ModelValue Unsqueeze(const ModelValue& x, std::vector<int64_t> axes);
  ModelValue Squeeze(const ModelValue& x, const std::vector<int64_t>& axes);
  ModelValue Flat(const ModelValue& x) { return Reshape(x, I64s({-1})); }
  ModelValue Transpose(const ModelValue& x, const std::vector<int64_t>& permutation);
  ModelValue Concat(const std::vector<ModelValue>& parts, int64_t axis);
  // Scalars as a vector.
  ModelValue Pack(const std::vector<ModelValue>& scalars);
  ModelValue Gather(const ModelValue& x, const ModelValue& index, int64_t axis);
  ModelValue Slice(const ModelValue& x, const ModelValue& starts, const ModelValue& ends,
                   const std::vector<int64_t>& axes, const ModelValue& steps = None());
  ModelValue Expand(const ModelValue& x, const ModelValue& dims);
  ModelValue Fill(const ModelValue& dims, const ModelValue& value);
  // 0, 1, … of `count`, an int64 scalar.
  ModelValue Iota(const ModelValue& count);
  // axes: an int64 vector; None(): all of them.
  ModelValue Reduce(absl::string_view onnx, const ModelValue& x, const ModelValue& axes,
                    bool keep_dims);
  // Whether a condition holds, as If and While see it.
  ModelValue Truth(const ModelValue& x);

  // An optional that holds nothing gets a node.
  ModelValue AsOptional(const ModelValue& x);
  // Lists. As a sequence of ONNX; as the tensor of its elements.
  ModelValue AsSequence(const ModelValue& list);
  ModelValue AsRows(const ModelValue& list);
  // … with zeros in the place of what was never written, where the elements' shape is known.
  ModelValue Whole(const ModelValue& list);
  ModelValue LengthOf(const ModelValue& list);  // int64
  ModelValue EmptySequence(DType dtype);
  static ModelValue ListOfRows(ModelValue rows);
  ModelValue Item(const ModelValue& list, const ModelValue& index);
  // The list of what `body` makes of each element, or of one of each list.
  ModelValue Mapped(const ModelValues& lists,
                    const std::function<ModelValue(const ModelValues&)>& body);

 private:
  // A constant computed at once, where it is small.
  std::optional<ModelValue> Folded(absl::string_view onnx, const ModelValue& x,
                                   const ModelValue& y);
  ModelValue Stacked(const ModelValue& sequence);
  ModelValue Written(const ModelValue& element, const PartialShape& shape);
  ModelValue ComputedAs(const ModelValue& x, absl::string_view onnx);

  ModelWriter& model_;
};

}  // namespace gyre::onnx

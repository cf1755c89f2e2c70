// NodeContext: what the function for an op sees of one node of an ONNX graph, and how it answers.
//
//   void Softplus(NodeContext& c) { c.out(0, c.op("Softplus", {c.in(0)})); }
//
// Mistakes are remembered by the scope, the first one only, and end the import with the node's
// name. One thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx.pb.h"
#include "onnx/scope.h"
#include "onnx/types.h"

namespace gyre::onnx {

// A value of a graph: what carries it, and what it is to ONNX.
struct Value {
  Expr expr;
  Type type;
};

class Names;

class NodeContext {
 public:
  NodeContext(Names& names, const wire::NodeProto& node, int64_t opset);

  Scope& scope() { return scope_; }
  Names& names() { return names_; }
  const wire::NodeProto& node() const { return node_; }
  const std::string& name() const { return name_; }
  int64_t opset() const { return opset_; }
  ExprBuilder& b() { return scope_.b(); }

  int num_inputs() const { return node_.input_size(); }
  int num_outputs() const { return node_.output_size(); }
  bool has(int i) const;
  bool wants(int i) const { return i < node_.output_size() && !node_.output(i).empty(); }
  // Input i, which must be there; a tensor, if `in` is asked.
  Value value(int i);
  Expr in(int i);
  std::vector<Expr> ins();
  DType dtype(int i) { return in(i).ok() ? in(i).dtype() : DType::kInvalid; }
  // The element type that ONNX gives input i.
  int elem(int i) { return value(i).type.elem_type; }

  // What is known of shapes. `Rank` fails where the rank is not known, and is 0 then; so does
  // `Axis`, an attribute or input made non-negative.
  const PartialShape& shape(const Expr& x) { return scope_.ShapeOf(x); }
  int Rank(const Expr& x);
  int Axis(int64_t axis, int rank);
  // All of `axes` made non-negative; INVALID_ARGUMENT, remembered, where one is named twice.
  std::vector<int> Axes(const std::vector<int64_t>& axes, int rank);
  // -1: not known, or there is no such axis.
  int64_t Dim(const Expr& x, int axis);
  // Integers that must be known before the program runs; none after a failure.
  std::vector<int64_t> Known(const Expr& x, absl::string_view what);
  // The element of a tensor that is known, has one element, and is of T; nullopt otherwise.
  template <typename T>
  std::optional<T> KnownScalar(const Expr& x) {
    const Tensor& known = scope_.Info(x).constant;
    if (!known.has_value() || known.dtype() != DTypeOf<T> || known.num_elements() != 1)
      return std::nullopt;
    return known.scalar<T>();
  }
  std::optional<std::vector<int64_t>> ints(const Expr& x) { return scope_.IntsOf(x); }

  // Attributes. INVALID_ARGUMENT, remembered, where one is of another type than is asked for, or
  // does not fit in 32 bits (Int32).
  bool HasAttr(absl::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(absl::string_view name, int64_t fallback) const;
  int32_t Int32(absl::string_view name, int32_t fallback) const;
  float Float(absl::string_view name, float fallback) const;
  std::string Text(absl::string_view name, absl::string_view fallback) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  std::vector<float> Floats(absl::string_view name) const;
  std::vector<std::string> Texts(absl::string_view name) const;
  const wire::AttributeProto* Find(absl::string_view name) const;
  // INVALID_ARGUMENT, remembered, when there is none.
  const wire::GraphProto* Graph(absl::string_view name);

  // Writing.
  Expr op(absl::string_view name, const std::vector<Expr>& inputs, AttrMap attrs = {}) {
    return scope_.Op(name, inputs, std::move(attrs));
  }
  void out(int i, const Expr& value);
  void out(int i, Value value);
  void Fail(absl::Status status) { scope_.Fail(std::move(status)); }
  void Invalid(absl::string_view why) { Fail(absl::InvalidArgumentError(why)); }
  void Unsupported(absl::string_view why) { Fail(absl::UnimplementedError(why)); }
  bool failed() const { return scope_.failed(); }

  Expr i64(int64_t value) { return scope_.Int64(value); }
  Expr i64s(const std::vector<int64_t>& values) { return scope_.Int64s(values); }
  Expr i32s(const std::vector<int64_t>& values) { return scope_.Int32s(values); }
  Expr scalar(DType dtype, double value) { return scope_.Scalar(dtype, value); }

  // A graph that an attribute holds, written into `inner` (a scope within this one) with these
  // inputs; its outputs. None after a failure.
  std::vector<Value> Body(Scope& inner, const wire::GraphProto& graph,
                          const std::vector<Value>& inputs);

 private:
  // Null where there is none, or, with a failure, one of another type.
  const wire::AttributeProto* Find(absl::string_view name,
                                   wire::AttributeProto::AttributeType type) const;

  Names& names_;
  Scope& scope_;
  const wire::NodeProto& node_;
  const int64_t opset_;
  const std::string name_;
};

using OpFn = void (*)(NodeContext&);

}  // namespace gyre::onnx

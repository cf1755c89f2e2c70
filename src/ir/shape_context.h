// ShapeContext: what a shape rule sees of one node, and the rules that many ops share.
//
// A shape rule is a function `absl::Status Rule(ShapeContext&)`. It reads what is known of the
// inputs and sets each output's shape; what it leaves alone is of unknown shape. An error means
// that no execution of the node can succeed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"

namespace gyre {

// What is known of the value behind a resource or variant: a variable's type, a list's element
// type.
struct HandleInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  friend bool operator==(const HandleInfo&, const HandleInfo&) = default;
};

// What is known of one output before the program runs.
struct ValueInfo {
  PartialShape shape;
  std::optional<HandleInfo> handle;
  // The value itself, for constants and what follows from shapes. May be empty.
  Tensor constant;
  // For 1-d integer values used as shapes: the elements, -1 where unknown.
  std::optional<PartialShape> as_shape;
};

class GYRE_EXPORT ShapeContext {
 public:
  ShapeContext(const Node& node, std::vector<ValueInfo> inputs)
      : node_(node), inputs_(std::move(inputs)), outputs_(node.signature.outputs.size()) {}

  const Node& node() const { return node_; }
  const AttrMap& attrs() const { return node_.attrs; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  DType input_dtype(int i) const { return node_.signature.inputs[i].dtype; }
  DType output_dtype(int i) const { return node_.signature.outputs[i].dtype; }

  const PartialShape& input(int i) const { return inputs_[i].shape; }
  const std::optional<HandleInfo>& input_handle(int i) const { return inputs_[i].handle; }
  // The value of input i when it is known; null otherwise.
  const Tensor* input_constant(int i) const {
    return inputs_[i].constant.has_value() ? &inputs_[i].constant : nullptr;
  }
  // Input i read as an integer scalar, when known.
  std::optional<int64_t> input_int(int i) const;
  // Input i read as a list of integers, when wholly known.
  std::optional<std::vector<int64_t>> input_ints(int i) const;
  // Input i, a vector of dimensions, read as a shape: as much of it as is known. Elements < -1 are
  // an error.
  absl::StatusOr<PartialShape> InputAsShape(int i) const;

  void set_output(int i, PartialShape shape) { outputs_[i].shape = std::move(shape); }
  void set_output_handle(int i, HandleInfo handle) { outputs_[i].handle = std::move(handle); }
  // For ops whose integer output is known before they run (Shape, Size, Rank …).
  void set_output_constant(int i, Tensor value) { outputs_[i].constant = std::move(value); }
  void set_output_as_shape(int i, PartialShape value) { outputs_[i].as_shape = std::move(value); }

  // INVALID_ARGUMENT unless input i may have the rank; refines nothing.
  absl::Status RequireRank(int i, int rank) const;
  absl::Status RequireScalar(int i) const { return RequireRank(i, 0); }

  const std::vector<ValueInfo>& inputs() const { return inputs_; }
  std::vector<ValueInfo>& outputs() { return outputs_; }

 private:
  const Node& node_;
  std::vector<ValueInfo> inputs_;
  std::vector<ValueInfo> outputs_;
};

namespace shape {

// Shared rules, to be named in a registration.
GYRE_EXPORT absl::Status None(ShapeContext&);  // no outputs
GYRE_EXPORT absl::Status Unknown(
    ShapeContext&);  // every output of unknown shape: shape depends on values
GYRE_EXPORT absl::Status Scalar(ShapeContext&);       // every output a scalar
GYRE_EXPORT absl::Status SameAsInput(ShapeContext&);  // every output as input 0, handle included
GYRE_EXPORT absl::Status Broadcast(ShapeContext&);    // output 0: inputs broadcast together
GYRE_EXPORT absl::Status SameForAll(
    ShapeContext&);  // all inputs must agree; output 0 is what they agree on
GYRE_EXPORT absl::Status ByAttr(ShapeContext&);  // every output as the attribute `shape` says
GYRE_EXPORT absl::Status ByOutputShapes(
    ShapeContext&);  // output i as element i of the attribute `output_shapes`, if it is there

// Pieces for rules.
GYRE_EXPORT absl::StatusOr<PartialShape> BroadcastShapes(const PartialShape& a,
                                                         const PartialShape& b);
// Resolves a possibly negative axis; INVALID_ARGUMENT when out of [-rank, rank).
GYRE_EXPORT absl::StatusOr<int> Axis(int64_t axis, int rank);

}  // namespace shape
}  // namespace gyre

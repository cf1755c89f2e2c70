// ModelValue: a value of a program, as the model that is being written has it. Plain values; any
// thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "onnx/types.h"

namespace gyre::onnx {

// A variable, or an array whose flow stands for its elements: nothing of the model.
struct Handle {
  std::string name;  // of the node that makes it
  DType dtype = DType::kInvalid;
  PartialShape shape;       // of the variable, or of an element
  std::string initializer;  // the variable's value in the model; empty: it has none, or an array
  bool may_grow = false;    // an array
};

struct ModelValue {
  Kind kind = Kind::kTensor;
  // In the model; empty for a constant that nobody has asked for, for a handle, and for a list that
  // is known by its rows alone.
  std::string name;
  DType dtype = DType::kInvalid;  // of the tensor, or of those that a list or optional holds
  PartialShape shape;             // likewise
  Tensor constant;                // what it is, where that is known
  std::string wanted_name;        // of the constant
  std::shared_ptr<const Handle> handle;
  // A list: the tensor whose rows its elements are.
  std::shared_ptr<const ModelValue> rows;
  // A list none of whose elements has been written: how many there are.
  std::shared_ptr<const ModelValue> length;
  // … and the dimensions of each, where the model computes them.
  std::shared_ptr<const ModelValue> dims;
  // A list with empty elements in the place of those that nobody has written.
  bool may_lack = false;
  // A vector 0, 1, 2, …
  bool counts = false;
  // An optional: what it holds is a list.
  bool holds_list = false;

  // Becomes what a node of the model makes, of which no more is known than its type.
  void BecomeComputed(std::string by) {
    name = std::move(by);
    constant = Tensor();
    rows = length = dims = nullptr;
    counts = false;
  }

  bool is_known() const { return constant.has_value(); }
  bool has_rank() const { return shape.has_rank(); }
  int rank() const { return shape.has_rank() ? shape.rank() : -1; }
};

using ModelValues = std::vector<ModelValue>;

}  // namespace gyre::onnx

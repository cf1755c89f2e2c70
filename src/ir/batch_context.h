// BatchContext: what a batching rule sees of one node, and how it answers.
//
// A function of one row becomes a function of all rows (passes/vectorize). A rule is a function
// `absl::Status Rule(BatchContext& c)`. It writes, as ordinary nodes, what computes the node for
// all rows, and sets each output:
//
//   absl::Status SoftmaxBatch(BatchContext& c) { return c.Emit({c.stacked(0)}); }
//
// Before it writes anything it makes sure that it can: what must be the same in all rows is asked
// for by NeedSame, and what is not to be had is refused by batch::Refuse with a reason, which makes
// the node a loop. Mistakes of what is written are remembered, as by ExprBuilder.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/expr.h"
#include "ir/shape_context.h"

namespace gyre {

// How the values that the rows have are held.
enum class Rows : uint8_t {
  kSame,      // one value, the same in all rows
  kStacked,   // a tensor: the rows' values along an axis in front
  kElements,  // a list: each of its elements is the rows' elements, stacked
};

class BatchContext {
 public:
  virtual ~BatchContext() = default;

  virtual const Node& node() const = 0;
  virtual Rows rows_of(int i) const = 0;
  // What is known of an input or output in one row.
  virtual const ValueInfo& input_info(int i) const = 0;
  virtual const ValueInfo& output_info(int i) const = 0;

  int num_inputs() const { return static_cast<int>(node().inputs.size()); }
  DType input_dtype(int i) const { return node().signature.inputs[i].dtype; }
  template <typename T>
  T attr(absl::string_view name, T fallback) const {
    return node().attrs.GetOr<T>(name, std::move(fallback));
  }
  bool is_stacked(int i) const { return rows_of(i) == Rows::kStacked; }
  const PartialShape& row_shape(int i) const { return input_info(i).shape; }
  const PartialShape& output_row_shape(int i) const { return output_info(i).shape; }
  // Null when it is not known.
  const Tensor* constant(int i) const {
    return input_info(i).constant.has_value() ? &input_info(i).constant : nullptr;
  }

  // A refusal unless the input is the same in all rows.
  absl::Status NeedSame(int i) const;
  absl::Status NeedSameFrom(int first) const;
  // The rank of input i in one row; a refusal if it is not known.
  absl::StatusOr<int> NeedRank(int i) const;

  // An input as it is.
  virtual Expr input(int i) = 0;
  std::vector<Expr> inputs();
  // … with the axis of rows in front, repeated if it is the same in all of them.
  virtual Expr stacked(int i) = 0;
  std::vector<Expr> stacked_inputs(int begin, int end);
  // … and, where it has fewer dimensions than `rank` in one row, with ones behind the axis of rows:
  // so that rows broadcast as they do by themselves. Requirement: its rank is known, and no larger.
  Expr stacked(int i, int rank);
  // The same for a rank, an int32 scalar, that shows when the program runs.
  Expr stacked(int i, Expr rank);
  // … with as many dimensions in a row as output 0 has, whose dimensions are `dims`.
  Expr stacked_for_output(int i, Expr dims);
  // Input i, a vector, behind one more element.
  Expr input_behind(int32_t first, int i);
  // The dimensions of input i in one row: an int32 vector, constant where that is known.
  virtual Expr row_dims(int i) = 0;
  // How many rows there are: an int32 scalar.
  virtual Expr rows() = 0;
  // `dims` behind the number of rows; of the type of `dims`.
  virtual Expr with_rows(Expr dims) = 0;
  // Input i, an axis or several, and the attribute `axis`, counted in tensors with the axis of
  // rows.
  Expr shifted_axes(int i);
  int64_t shifted_axis_attr(int64_t fallback) const;

  virtual ExprBuilder& builder() = 0;
  Expr op(absl::string_view name, const std::vector<Expr>& inputs, AttrMap attrs = {}) {
    return builder().Op(name, inputs, std::move(attrs));
  }

  void Set(int output, Expr value, Rows rows = Rows::kStacked) { SetOutput(output, value, rows); }
  // The node itself with other inputs, and some other attributes. `rows`: of its outputs; all are
  // stacked if it is empty.
  absl::Status Emit(const std::vector<Expr>& inputs, const AttrMap& changed = {},
                    const std::vector<Rows>& rows = {});
  // Another op in its place.
  absl::Status EmitAs(absl::string_view op, const std::vector<Expr>& inputs, AttrMap attrs = {},
                      const std::vector<Rows>& rows = {});

 protected:
  virtual void SetOutput(int output, Expr value, Rows rows) = 0;
  // Adds a node that is named as this one, in its place; its outputs.
  virtual std::vector<Expr> AddInPlace(absl::string_view op, const std::vector<Expr>& inputs,
                                       AttrMap attrs) = 0;
};

namespace batch {

// "cannot be batched", for this reason: who can run a loop instead does.
absl::Status Refuse(absl::string_view reason);

// Shared rules, to be named in a registration.
absl::Status Elementwise(BatchContext& c);  // for all ops whose traits say elementwise
absl::Status Stacked(BatchContext& c);      // along the last axes, whatever stands in front of them
absl::Status FirstStacked(BatchContext& c);  // inputs behind the first must be the same in all rows
absl::Status AlongAxes(BatchContext& c);     // an axis, or axes, as input 1
absl::Status PassOn(BatchContext& c);        // hands its inputs on as they are
absl::Status ShapeAttr(BatchContext& c);     // an attribute `shape` says what a row is

// Pieces for rules.

// The shape of rows, stacked. `num_rows`: -1 if it is not known.
PartialShape WithRowAxis(const PartialShape& row, int64_t num_rows);
// All of a vector but its first element.
Expr Behind(Expr vector);
// Vectors (or tensors), one behind the other along axis 0.
Expr Joined(const std::vector<Expr>& parts);
// The tensor with its first two axes exchanged. `rank`: -1 if it is not known.
Expr FirstAxesSwapped(Expr x, int rank);
// The rank of a tensor whose rows are of this shape; -1: not known.
int RankWithRows(const PartialShape& row);
// The tensor with `count` axes of size 1 put in behind axis 0.
Expr WithOnesBehindRows(Expr x, int count);
// 0, 1, …, count - 1, for a scalar.
Expr CountTo(Expr count);

}  // namespace batch
}  // namespace gyre

// Functions on Values under the names, and with the order of arguments, that they have in the
// field. Each adds one node or a few. gyre/functions.h has more of them, which Python has, too:
// reduce_sum(x, axes), xlogy(x, y); gyre/ops.h those that are an op and nothing more, tan(x), and a
// function for every op there is.
//
// Thread rules are those of the graph.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/export.h"
#include "gyre/ops.h"
#include "gyre/value.h"

namespace gyre {

// Elements of x where the condition holds, of y elsewhere. Both are computed: cond runs only one.
GYRE_EXPORT Value where(const Operand& condition, const Operand& x, const Operand& y);
GYRE_EXPORT Value add_n(const OperandList& values);

GYRE_EXPORT Value cast(const Operand& x, DType dtype);
GYRE_EXPORT Value identity(const Operand& x, const std::string& name = "");

// Along which axes to reduce; by default all of them. Negative: from the last.
class GYRE_EXPORT Axes {
 public:
  Axes() = default;
  Axes(int axis) : axes_(Operand({axis})) {}
  Axes(std::initializer_list<int> axes) : axes_(Operand(axes)) {}
  Axes(const std::vector<int>& axes) : axes_(Operand(axes)) {}
  Axes(const Value& axes) : axes_(Operand(axes)) {}

  // Nothing: all.
  const std::optional<Operand>& given() const { return axes_; }

 private:
  std::optional<Operand> axes_;
};

// What a value's shape is when the program runs, as int32 vectors and scalars. (Value::shape says
// what is known before.)
GYRE_EXPORT Value shape_of(const Operand& x);
GYRE_EXPORT Value rank_of(const Operand& x);
GYRE_EXPORT Value size_of(const Operand& x);
// Length of one axis, a scalar.
GYRE_EXPORT Value dim_of(const Operand& x, int axis);

GYRE_EXPORT Value concat(const OperandList& values, const Operand& axis);
// x, which is promised to have this shape: an error of the run if it has not.
GYRE_EXPORT Value ensure_shape(const Operand& x, PartialShape shape);
GYRE_EXPORT Value gather(const Operand& params, const Operand& indices, const Operand& axis = 0);
GYRE_EXPORT Value one_hot(const Operand& indices, const Operand& depth, const Operand& on = 1.0f,
                          const Operand& off = 0.0f);
GYRE_EXPORT Value range(const Operand& start, const Operand& limit, const Operand& delta = 1);
GYRE_EXPORT std::vector<Value> split(const Operand& x, int64_t pieces, const Operand& axis = 0);
GYRE_EXPORT Value stack(const OperandList& values, int64_t axis = 0);
GYRE_EXPORT Value transpose(const Operand& x, const Operand& permutation);
GYRE_EXPORT Value transpose(const Operand& x);  // axes in reverse order
GYRE_EXPORT std::vector<Value> unstack(const Operand& x, int64_t count, int64_t axis = 0);

struct MatMulTranspose {
  bool a = false;
  bool b = false;
};
// Of matrices; of stacks of matrices, if x has more than two axes.
GYRE_EXPORT Value matmul(const Operand& a, const Operand& b, MatMulTranspose transpose = {});
GYRE_EXPORT Value einsum(const std::string& equation, const OperandList& values);

// New numbers in every run and iteration.
GYRE_EXPORT Value random_uniform(const Operand& shape, DType dtype = DType::kFloat,
                                 int64_t seed = 0);
GYRE_EXPORT Value random_normal(const Operand& shape, DType dtype = DType::kFloat,
                                int64_t seed = 0);

}  // namespace gyre

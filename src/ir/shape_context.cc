#include "ir/shape_context.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {

namespace {
std::optional<std::vector<int64_t>> ReadInts(const Tensor& t) {
  std::vector<int64_t> values;
  if (t.dtype() == DType::kInt32) {
    const auto v = t.values<int32_t>();
    values.assign(v.begin(), v.end());
  } else if (t.dtype() == DType::kInt64) {
    const auto v = t.values<int64_t>();
    values.assign(v.begin(), v.end());
  } else {
    return std::nullopt;
  }
  return values;
}
}  // namespace

std::optional<int64_t> ShapeContext::input_int(int i) const {
  const Tensor* constant = input_constant(i);
  if (constant == nullptr || constant->num_elements() != 1) return std::nullopt;
  const auto values = ReadInts(*constant);
  if (!values) return std::nullopt;
  return (*values)[0];
}

std::optional<std::vector<int64_t>> ShapeContext::input_ints(int i) const {
  if (const Tensor* constant = input_constant(i)) return ReadInts(*constant);
  const std::optional<PartialShape>& as_shape = inputs_[i].as_shape;
  if (as_shape && as_shape->IsFullyKnown()) {
    return std::vector<int64_t>(as_shape->dims().begin(), as_shape->dims().end());
  }
  return std::nullopt;
}

absl::StatusOr<PartialShape> ShapeContext::InputAsShape(int i) const {
  if (const Tensor* constant = input_constant(i)) {
    if (constant->rank() == 0 && input_int(i) == -1)
      return PartialShape::Unknown();  // the wire's "unknown rank"
    if (constant->rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a shape must be at most rank 1 but is rank ", constant->rank()));
    }
    if (const auto values = ReadInts(*constant)) {
      if (values->size() > Shape::kMaxRank) {
        return absl::InvalidArgumentError(
            absl::StrCat("a shape has at most ", Shape::kMaxRank, " dimensions"));
      }
      Dims dims(values->begin(), values->end());
      for (const int64_t d : dims) {
        if (d < -1)
          return absl::InvalidArgumentError(absl::StrCat("a dimension must be >= -1, but is ", d));
      }
      return PartialShape(std::move(dims));
    }
  }
  if (inputs_[i].as_shape) return *inputs_[i].as_shape;
  const PartialShape& shape = input(i);
  if (shape.has_rank() && shape.rank() == 1 && shape.dim(0) >= 0 &&
      shape.dim(0) <= Shape::kMaxRank) {
    return PartialShape::UnknownOfRank(static_cast<int>(shape.dim(0)));
  }
  return PartialShape::Unknown();
}

absl::Status ShapeContext::RequireRank(int i, int rank) const {
  if (input(i).has_rank() && input(i).rank() != rank) {
    return absl::InvalidArgumentError(absl::StrCat("Shape must be rank ", rank, " but is rank ",
                                                   input(i).rank(), ": input ", i, " has shape ",
                                                   input(i).ToString()));
  }
  return absl::OkStatus();
}

namespace shape {

absl::Status None(ShapeContext&) { return absl::OkStatus(); }
absl::Status Unknown(ShapeContext&) { return absl::OkStatus(); }

absl::Status Scalar(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status SameAsInput(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(0));
    if (c.input_handle(0)) c.set_output_handle(i, *c.input_handle(0));
  }
  return absl::OkStatus();
}

absl::Status Broadcast(ShapeContext& c) {
  if (c.num_inputs() == 0) return absl::OkStatus();
  PartialShape result = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(result, BroadcastShapes(result, c.input(i)));
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status SameForAll(ShapeContext& c) {
  PartialShape result;
  for (int i = 0; i < c.num_inputs(); ++i) {
    GYRE_ASSIGN_OR_RETURN(result, result.Intersect(c.input(i)));
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

absl::Status ByAttr(ShapeContext& c) {
  const PartialShape shape = c.attrs().GetOr<PartialShape>("shape", PartialShape::Unknown());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shape);
  return absl::OkStatus();
}

absl::Status ByOutputShapes(ShapeContext& c) {
  const auto* shapes = c.attrs().Get<std::vector<PartialShape>>("output_shapes");
  if (shapes == nullptr || shapes->empty()) return absl::OkStatus();
  if (static_cast<int>(shapes->size()) != c.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`output_shapes` must be the same length as num outputs (", shapes->size(),
                     " vs. ", c.num_outputs(), ")"));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, (*shapes)[i]);
  return absl::OkStatus();
}

absl::StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::Unknown();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape result = PartialShape::UnknownOfRank(rank);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a.dim(a.rank() - i) : 1;
    const int64_t y = i <= b.rank() ? b.dim(b.rank() - i) : 1;
    int64_t d = -1;
    if (x == 1) {
      d = y;
    } else if (y == 1 || x == y) {
      d = x;
    } else if (x < 0) {
      d = y;
    } else if (y < 0) {
      d = x;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(),
                                                     " cannot be broadcast together"));
    }
    result.set_dim(rank - i, d);
  }
  return result;
}

absl::StatusOr<int> Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is out of range [", -rank, ", ", rank, ") for rank ", rank));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace shape
}  // namespace gyre

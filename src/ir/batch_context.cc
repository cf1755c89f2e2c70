#include "ir/batch_context.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {
namespace {

// "input 'axis'" of a node.
std::string NameOfInput(const Node& node, int i) {
  for (size_t arg = 0; arg < node.op->inputs.size(); ++arg) {
    const auto range = ArgRange(*node.op, node.attrs, /*is_output=*/false, static_cast<int>(arg));
    if (range.ok() && range->first <= i && i < range->second)
      return absl::StrCat("input '", node.op->inputs[arg].name, "'");
  }
  return absl::StrCat("input ", i);
}

// Constants joined: nothing is left to be done when the program runs.
std::optional<std::vector<int32_t>> KnownJoined(const std::vector<Expr>& parts) {
  std::vector<int32_t> all;
  for (const Expr& part : parts) {
    const Node& node = part.builder().function().node(part.endpoint().node);
    const Tensor* const known = ConstantValue(node);
    if (known == nullptr || known->dtype() != DType::kInt32 || known->rank() != 1)
      return std::nullopt;
    const absl::Span<const int32_t> values = known->values<int32_t>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

bool IsScalar(const PartialShape& shape) { return shape.has_rank() && shape.rank() == 0; }

// Whether input i may have fewer dimensions in a row than another input that is broadcast with it.
bool MayBeOfLowerRank(const BatchContext& c, int i) {
  const PartialShape& own = c.row_shape(i);
  for (int k = 0; k < c.num_inputs(); ++k) {
    const PartialShape& other = c.row_shape(k);
    if (k == i || IsScalar(other)) continue;
    if (!own.has_rank() || !other.has_rank() || own.rank() < other.rank()) return true;
  }
  return false;
}

// The stacked input i with as many axes behind that of rows as the input of most dimensions has.
Expr RaisedToCommonRank(BatchContext& c, int i) {
  bool all_known = true;
  int rank = 0;
  for (int k = 0; k < c.num_inputs(); ++k) {
    all_known &= c.row_shape(k).has_rank();
    if (c.row_shape(k).has_rank()) rank = std::max(rank, c.row_shape(k).rank());
  }
  if (all_known) return c.stacked(i, rank);
  Expr common = c.op("Size", {c.row_dims(i)});
  for (int k = 0; k < c.num_inputs(); ++k) {
    if (k != i) common = c.op("Maximum", {common, c.op("Size", {c.row_dims(k)})});
  }
  return c.stacked(i, common);
}

}  // namespace

absl::Status BatchContext::NeedSame(int i) const {
  if (rows_of(i) == Rows::kSame) return absl::OkStatus();
  return batch::Refuse(absl::StrCat(NameOfInput(node(), i), " differs from row to row"));
}

absl::Status BatchContext::NeedSameFrom(int first) const {
  for (int i = first; i < num_inputs(); ++i) GYRE_RETURN_IF_ERROR(NeedSame(i));
  return absl::OkStatus();
}

absl::StatusOr<int> BatchContext::NeedRank(int i) const {
  if (row_shape(i).has_rank()) return row_shape(i).rank();
  return batch::Refuse(absl::StrCat("the rank of ", NameOfInput(node(), i), " is not known"));
}

std::vector<Expr> BatchContext::inputs() {
  std::vector<Expr> all;
  for (int i = 0; i < num_inputs(); ++i) all.push_back(input(i));
  return all;
}

std::vector<Expr> BatchContext::stacked_inputs(int begin, int end) {
  std::vector<Expr> some;
  for (int i = begin; i < end; ++i) some.push_back(stacked(i));
  return some;
}

Expr BatchContext::stacked(int i, int rank) {
  return batch::WithOnesBehindRows(stacked(i), rank - row_shape(i).rank());
}

Expr BatchContext::stacked(int i, Expr rank) {
  const Expr dims = row_dims(i);
  const Expr missing = op("ExpandDims", {rank - op("Size", {dims}), builder().Int(0)});
  const Expr ones = op("Fill", {missing, builder().Int(1)});
  return Reshape(stacked(i), with_rows(batch::Joined({ones, dims})));
}

Expr BatchContext::stacked_for_output(int i, Expr dims) {
  const PartialShape& output = output_row_shape(0);
  if (output.has_rank() && row_shape(i).has_rank()) return stacked(i, output.rank());
  return stacked(i, op("Size", {dims}));
}

Expr BatchContext::input_behind(int32_t first, int i) {
  const Expr rest = input(i);
  return rest.ok() ? batch::Joined({Cast(builder().Ints({first}), rest.dtype()), rest}) : rest;
}

Expr BatchContext::shifted_axes(int i) {
  const Expr axes = input(i);
  if (!axes.ok()) return axes;
  // Axes that are counted from the end stay.
  if (const Tensor* known = constant(i); known != nullptr && known->dtype() == DType::kInt32) {
    std::vector<int32_t> shifted;
    for (const int32_t axis : known->values<int32_t>())
      shifted.push_back(axis < 0 ? axis : axis + 1);
    return known->rank() == 0 ? builder().Int(shifted[0]) : builder().Ints(shifted);
  }
  const Expr is_counted_from_front = op("GreaterEqual", {axes, builder().Zero(axes.dtype())});
  return axes + Cast(is_counted_from_front, axes.dtype());
}

int64_t BatchContext::shifted_axis_attr(int64_t fallback) const {
  const int64_t axis = attr<int64_t>("axis", fallback);
  return axis < 0 ? axis : axis + 1;
}

absl::Status BatchContext::Emit(const std::vector<Expr>& inputs, const AttrMap& changed,
                                const std::vector<Rows>& rows) {
  AttrMap attrs = node().attrs;
  attrs.Erase("_output_shapes");
  for (const auto& [name, value] : changed) attrs.Set(name, value);
  return EmitAs(node().op_name, inputs, std::move(attrs), rows);
}

absl::Status BatchContext::EmitAs(absl::string_view op, const std::vector<Expr>& inputs,
                                  AttrMap attrs, const std::vector<Rows>& rows) {
  const std::vector<Expr> outputs = AddInPlace(op, inputs, std::move(attrs));
  for (int i = 0; i < node().num_outputs(); ++i)
    Set(i, outputs[i], rows.empty() ? Rows::kStacked : rows[i]);
  return builder().status();
}

namespace batch {

absl::Status Refuse(absl::string_view reason) { return absl::UnimplementedError(reason); }

absl::Status Elementwise(BatchContext& c) {
  const bool broadcasts = c.node().op->shape != shape::SameForAll;
  std::vector<Expr> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!broadcasts) {
      inputs.push_back(c.stacked(i));
    } else if (c.is_stacked(i) && MayBeOfLowerRank(c, i)) {
      inputs.push_back(RaisedToCommonRank(c, i));
    } else {
      inputs.push_back(c.input(i));
    }
  }
  return c.Emit(inputs);
}

absl::Status Stacked(BatchContext& c) { return c.Emit(c.stacked_inputs(0, c.num_inputs())); }

absl::Status FirstStacked(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSameFrom(1));
  return c.Emit(c.inputs());
}

absl::Status AlongAxes(BatchContext& c) {
  GYRE_RETURN_IF_ERROR(c.NeedSame(1));
  return c.Emit({c.input(0), c.shifted_axes(1)});
}

absl::Status PassOn(BatchContext& c) {
  std::vector<Rows> rows;
  for (int i = 0; i < c.num_inputs(); ++i) rows.push_back(c.rows_of(i));
  return c.Emit(c.inputs(), {}, rows);
}

absl::Status ShapeAttr(BatchContext& c) {
  const auto shape = c.attr<PartialShape>("shape", PartialShape::Unknown());
  return c.Emit(c.stacked_inputs(0, c.num_inputs()), {{"shape", WithRowAxis(shape, -1)}});
}

PartialShape WithRowAxis(const PartialShape& row, int64_t num_rows) {
  if (!row.has_rank()) return row;
  Dims dims = {num_rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return PartialShape(std::move(dims));
}

Expr Behind(Expr vector) {
  if (!vector.ok()) return vector;
  ExprBuilder& b = vector.builder();
  return b.Op("StridedSlice", {vector, b.Ints({1}), b.Ints({0}), b.Ints({1})},
              {{"end_mask", int64_t{1}}});
}

Expr Joined(const std::vector<Expr>& parts) {
  for (const Expr& part : parts) {
    if (!part.ok()) return part;
  }
  ExprBuilder& b = parts[0].builder();
  if (const auto known = KnownJoined(parts)) return b.Ints(*known);
  std::vector<Expr> inputs = parts;
  inputs.push_back(b.Int(0));
  return b.Op("ConcatV2", inputs);
}

Expr FirstAxesSwapped(Expr x, int rank) {
  if (!x.ok()) return x;
  ExprBuilder& b = x.builder();
  if (rank >= 0) {
    std::vector<int32_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[0], axes[1]);
    return b.Op("Transpose", {x, b.Ints(axes)});
  }
  const Expr rest = b.Op("Range", {b.Int(2), b.Op("Rank", {x}), b.Int(1)});
  return b.Op("Transpose", {x, Joined({b.Ints({1, 0}), rest})});
}

int RankWithRows(const PartialShape& row) { return row.has_rank() ? row.rank() + 1 : -1; }

Expr WithOnesBehindRows(Expr x, int count) {
  for (int i = 0; i < count && x.ok(); ++i)
    x = x.builder().Op("ExpandDims", {x, x.builder().Int(1)});
  return x;
}

Expr CountTo(Expr count) {
  if (!count.ok()) return count;
  ExprBuilder& b = count.builder();
  return b.Op("Range", {b.Scalar(count.dtype(), 0), count, b.Scalar(count.dtype(), 1)});
}

}  // namespace batch
}  // namespace gyre

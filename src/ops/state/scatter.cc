// ScatterUpdate, ScatterAdd, ResourceScatterAdd, …: change rows of a variable.
#include <algorithm>

#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/state/update.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

template <UpdateOp op>
struct ScatterAttrs {
  static absl::StatusOr<ScatterAttrs> Make(const Node& node) {
    const DType dtype = node.signature.inputs[2].dtype;
    GYRE_RETURN_IF_ERROR(CheckUpdate(op, dtype));
    return ScatterAttrs{dtype};
  }
  DType dtype;
};

// updates.shape must be indices.shape + params.shape[1:], or [] for one value everywhere.
absl::Status CheckShapes(const Shape& params, const Shape& indices, const Shape& updates) {
  if (params.rank() == 0) {
    return absl::InvalidArgumentError("params must be at least 1-D, got shape []");
  }
  bool fits = updates.IsScalar();
  if (updates.rank() == indices.rank() + params.rank() - 1) {
    fits = std::equal(indices.dims().begin(), indices.dims().end(), updates.dims().begin()) &&
           std::equal(params.dims().begin() + 1, params.dims().end(),
                      updates.dims().begin() + indices.rank());
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
      "updates.shape ",
      updates.ToString(), ", indices.shape ", indices.ToString(), ", params.shape ",
      params.ToString()));
}

template <typename Index>
absl::Status CheckIndices(absl::Span<const Index> indices, int64_t rows) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] = ", indices[i], " is not in [0, ", rows, ")"));
    }
  }
  return absl::OkStatus();
}

// Rows are checked before the first is changed: an error leaves the variable as it was.
template <typename Index>
absl::Status ScatterRows(const KernelContext& ctx, UpdateOp op, Tensor& params,
                         const Tensor& indices, const Tensor& updates) {
  const absl::Span<const Index> rows = indices.values<Index>();
  GYRE_RETURN_IF_ERROR(CheckIndices(rows, params.dim(0)));
  GYRE_RETURN_IF_ERROR(CheckOperands(op, updates));
  if (rows.empty() || params.num_elements() == 0) return absl::OkStatus();
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  GYRE_RETURN_IF_ERROR(MakeWritable(ctx, params));
  const int64_t row = params.num_elements() / params.dim(0);
  const int64_t step = updates.rank() == 0 ? 0 : 1;
  const int64_t element = static_cast<int64_t>(params.bytes()) / params.num_elements();
  char* const to = static_cast<char*>(params.mutable_raw_data());
  const char* const from = static_cast<const char*>(updates.raw_data());
  for (size_t i = 0; i < rows.size(); ++i) {
    GYRE_RETURN_IF_ERROR(UpdateElements(op, params.dtype(), to + rows[i] * row * element,
                                        from + static_cast<int64_t>(i) * row * element * step, row,
                                        step));
  }
  return absl::OkStatus();
}

template <UpdateOp op>
absl::Status Scatter(KernelContext& ctx, const ScatterAttrs<op>& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  {
    const VariableLock lock(*variable);
    Tensor& params = lock.value(*variable);
    const Tensor& indices = ctx.input(1);
    GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, params));
    GYRE_RETURN_IF_ERROR(CheckShapes(params.shape(), indices.shape(), ctx.input(2).shape()));
    if (indices.dtype() == DType::kInt32) {
      GYRE_RETURN_IF_ERROR(ScatterRows<int32_t>(ctx, op, params, indices, ctx.input(2)));
    } else {
      GYRE_RETURN_IF_ERROR(ScatterRows<int64_t>(ctx, op, params, indices, ctx.input(2)));
    }
  }
  if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status CheckStaticShapes(const PartialShape& params, const PartialShape& indices,
                               const PartialShape& updates) {
  if (params.has_rank() && params.rank() == 0) {
    return absl::InvalidArgumentError("params must be at least 1-D, got shape []");
  }
  if (!params.has_rank() || !indices.has_rank() || !updates.has_rank() || updates.rank() == 0) {
    return absl::OkStatus();
  }
  Dims wanted(indices.dims().begin(), indices.dims().end());
  wanted.insert(wanted.end(), params.dims().begin() + 1, params.dims().end());
  return updates.Intersect(PartialShape(std::move(wanted))).status();
}

absl::Status RefScatterShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(CheckStaticShapes(c.input(0), c.input(1), c.input(2)));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status ResourceScatterShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  if (!c.input_handle(0)) return absl::OkStatus();
  return CheckStaticShapes(c.input_handle(0)->shape, c.input(1), c.input(2));
}

// Both forms of one update; `does` completes the sentence "… rows of a variable".
template <UpdateOp op>
void RegisterBoth(OpRegistry& ops, absl::string_view name, absl::string_view type,
                  absl::string_view locking, absl::string_view does) {
  const std::string ref_schema =
      absl::StrCat("Scatter", name,
                   "(ref: Ref(T), indices: Tindices, updates: T) -> output_ref: Ref(T) {T: ", type,
                   "; Tindices: indextype; use_locking: bool = ", locking, "}");
  const std::string ref_doc =
      absl::StrCat(does, " rows of a variable, and hands on the reference.");
  ops.Add({.schema = ref_schema,
           .doc = ref_doc,
           .traits = {.effect = Effect::kWrite},
           .shape = RefScatterShape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<Scatter<op>>()});
  const std::string resource_schema =
      absl::StrCat("ResourceScatter", name,
                   "(resource: resource, indices: Tindices, updates: dtype) -> {dtype: ", type,
                   "; Tindices: indextype}");
  const std::string resource_doc = absl::StrCat(does, " rows of a variable.");
  ops.Add({.schema = resource_schema,
           .doc = resource_doc,
           .traits = {.effect = Effect::kWrite},
           .shape = ResourceScatterShape,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<Scatter<op>>()});
}

}  // namespace

void RegisterVariableScatter(OpRegistry& ops) {
  RegisterBoth<UpdateOp::kAssign>(ops, "Update", "type", "true", "Replaces");
  RegisterBoth<UpdateOp::kAdd>(ops, "Add", "numbertype", "false", "Adds to");
  RegisterBoth<UpdateOp::kSub>(ops, "Sub", "numbertype", "false", "Subtracts from");
  RegisterBoth<UpdateOp::kMul>(ops, "Mul", "numbertype", "false", "Multiplies");
  RegisterBoth<UpdateOp::kDiv>(ops, "Div", "numbertype", "false", "Divides");
  RegisterBoth<UpdateOp::kMin>(ops, "Min", "realnumbertype", "false", "Takes the minimum of");
  RegisterBoth<UpdateOp::kMax>(ops, "Max", "realnumbertype", "false", "Takes the maximum of");
}

}  // namespace gyre

// ScatterNdUpdate, ResourceScatterNdAdd, …: change slices of a variable at index vectors.
#include <utility>

#include "ops/array/slice_update.h"
#include "ops/registry.h"
#include "ops/state/variable.h"

namespace gyre {
namespace {

struct SliceAttrs {
  static absl::StatusOr<SliceAttrs> Make(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(const BadIndices policy, BadIndices::Make(node));
    return SliceAttrs{node.signature.inputs[2].dtype, policy};
  }
  DType dtype;
  BadIndices policy;
};

// Indices are checked before the first slice is changed. Strings are written to a copy, whose
// charge for text is its own, and which is given up on an error.
absl::Status ScatterSlices(const KernelContext& ctx, SliceUpdate op, const BadIndices& policy,
                           Tensor& params) {
  if (params.rank() < 1) return absl::InvalidArgumentError("params must be at least 1-D");
  const Tensor& updates = ctx.input(2);
  GYRE_ASSIGN_OR_RETURN(const NdIndices indices,
                        ResolveNdIndices(ctx, ctx.input(1), params.shape(), policy));
  GYRE_RETURN_IF_ERROR(
      CheckUpdates(indices, ctx.input(1).shape(), updates.shape(), params.shape()));
  if (params.dtype() != DType::kString) {
    GYRE_RETURN_IF_ERROR(MakeWritable(ctx, params));
    return UpdateSlices(ctx, op, indices, updates, params);
  }
  Tensor copy = params;  // a second owner, so that the next line copies
  GYRE_RETURN_IF_ERROR(MakeWritable(ctx, copy));
  GYRE_RETURN_IF_ERROR(UpdateSlices(ctx, op, indices, updates, copy));
  params = std::move(copy);
  return absl::OkStatus();
}

template <SliceUpdate op>
absl::Status ScatterNd(KernelContext& ctx, const SliceAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, VariableInput(ctx, 0, attrs.dtype));
  {
    const VariableLock lock(*variable);
    Tensor& params = lock.value(*variable);
    GYRE_RETURN_IF_ERROR(RequireInitialized(ctx, 0, *variable, params));
    GYRE_RETURN_IF_ERROR(ScatterSlices(ctx, op, attrs.policy, params));
  }
  if (ctx.num_outputs() > 0) ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

absl::Status RefRule(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(CheckStaticUpdates(c.input(1), c.input(2), c.input(0)));
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status ResourceRule(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  const PartialShape shape = c.input_handle(0) ? c.input_handle(0)->shape : PartialShape::Unknown();
  return CheckStaticUpdates(c.input(1), c.input(2), shape);
}

// Both forms of one update; `does` completes the sentence "… slices of a variable at index
// vectors".
template <SliceUpdate op>
void RegisterBoth(OpRegistry& ops, absl::string_view name, absl::string_view type,
                  absl::string_view locking, absl::string_view does) {
  const std::string ref_schema = absl::StrCat(
      "ScatterNd", name,
      "(ref: Ref(T), indices: Tindices, updates: T) -> output_ref: Ref(T) {T: ", type,
      "; Tindices: indextype; use_locking: bool = ", locking, "; bad_indices_policy: string = ''}");
  const std::string ref_doc =
      absl::StrCat(does, " slices of a variable at index vectors, and hands on the reference.");
  ops.Add({.schema = ref_schema,
           .doc = ref_doc,
           .traits = {.effect = Effect::kWrite},
           .shape = RefRule,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<ScatterNd<op>>()});
  const std::string resource_schema = absl::StrCat(
      "ResourceScatterNd", name, "(ref: resource, indices: Tindices, updates: T) -> {T: ", type,
      "; Tindices: indextype; use_locking: bool = true; bad_indices_policy: string = ''}");
  const std::string resource_doc = absl::StrCat(does, " slices of a variable at index vectors.");
  ops.Add({.schema = resource_schema,
           .doc = resource_doc,
           .traits = {.effect = Effect::kWrite},
           .shape = ResourceRule,
           .gradient = NotDifferentiable("it changes a variable"),
           .kernel = Compute<ScatterNd<op>>()});
}

}  // namespace

void RegisterVariableScatterNd(OpRegistry& ops) {
  RegisterBoth<SliceUpdate::kAssign>(ops, "Update", "type", "true", "Replaces");
  RegisterBoth<SliceUpdate::kAdd>(ops, "Add", "numbertype", "false", "Adds to");
  RegisterBoth<SliceUpdate::kSub>(ops, "Sub", "numbertype", "false", "Subtracts from");
  RegisterBoth<SliceUpdate::kMin>(ops, "Min", "numbertype", "false", "Takes the minimum of");
  RegisterBoth<SliceUpdate::kMax>(ops, "Max", "numbertype", "false", "Takes the maximum of");
}

}  // namespace gyre

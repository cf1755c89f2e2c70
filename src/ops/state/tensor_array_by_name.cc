// TensorArrayConcatV2: of arrays that are found by name in the container of a step. Nothing makes
// such arrays here, as TensorFlow itself has advised against since 2016.
#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status Concat(KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.num_elements() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Tensor array handle must be 2-element vector, but had shape: ",
                     handle.shape().ToString()));
  }
  const auto names = handle.values<std::string>();
  return absl::NotFoundError(absl::StrCat("Container ", names[0],
                                          " does not exist. (Could not find resource: ", names[0],
                                          "/", names[1], ")"));
}

absl::Status ConcatShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  c.set_output(1, PartialShape({-1}));
  return absl::OkStatus();
}

}  // namespace

void RegisterTensorArrayByName(OpRegistry& ops) {
  ops.Add({.schema = "TensorArrayConcatV2(handle: string, flow_in: float) -> value: dtype, "
                     "lengths: int64 {dtype: type; element_shape_except0: shape = ?}",
           .doc = "Joins all elements of an array that is found by its container and name.",
           .shape = ConcatShape,
           .gradient = RefusesGradient("use TensorArrayConcatV3"),
           .kernel = Compute<Concat>()});
}

}  // namespace gyre

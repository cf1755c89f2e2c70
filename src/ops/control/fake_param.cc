// FakeParam: stands in for a value that a branch does not make and nobody reads.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct FakeParamAttrs {
  DType dtype;
  Dims dims;
  explicit FakeParamAttrs(const Node& node) : dtype(NodeAttr<DType>(node, "dtype")) {
    const PartialShape& shape = NodeAttr<PartialShape>(node, "shape");
    if (!shape.has_rank()) return;
    for (const int64_t d : shape.dims()) dims.push_back(d < 0 ? 0 : d);
  }
};

// Zeros rather than garbage: runs must be repeatable.
absl::Status FakeParam(KernelContext& ctx, const FakeParamAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(attrs.dims));
  GYRE_ASSIGN_OR_RETURN(Tensor value, ctx.AllocateZeros(attrs.dtype, shape));
  ctx.set_output(0, std::move(value));
  return absl::OkStatus();
}

}  // namespace

void RegisterFakeParam(OpRegistry& ops) {
  ops.Add({.schema = "FakeParam() -> output: dtype {dtype: type; shape: shape}",
           .doc = "A value nobody reads, of the given shape (unknown dimensions 0, unknown rank a "
                  "scalar).",
           .shape = shape::ByAttr,
           .gradient = NotDifferentiable("it depends on nothing"),
           .kernel = Compute<FakeParam>()});
}

}  // namespace gyre

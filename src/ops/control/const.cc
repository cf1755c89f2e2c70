// Const: a value written in the graph.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct ConstAttrs {
  Tensor value;
  static absl::StatusOr<ConstAttrs> Make(const Node& node) {
    const Tensor& value = NodeAttr<Tensor>(node, "value");
    if (value.dtype() != NodeAttr<DType>(node, "dtype")) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute value holds ", DTypeName(value.dtype()),
                       ", but attribute dtype says ", DTypeName(NodeAttr<DType>(node, "dtype"))));
    }
    return ConstAttrs{value};
  }
};

absl::Status Const(KernelContext& ctx, const ConstAttrs& attrs) {
  ctx.set_output(0, attrs.value);
  return absl::OkStatus();
}

absl::Status ConstShape(ShapeContext& c) {
  GYRE_ASSIGN_OR_RETURN(const ConstAttrs attrs, ConstAttrs::Make(c.node()));
  c.set_output(0, attrs.value.shape());
  c.set_output_constant(0, attrs.value);
  return absl::OkStatus();
}

}  // namespace

void RegisterConst(OpRegistry& ops) {
  ops.Add({.schema = "Const() -> output: dtype {value: tensor; dtype: type}",
           .doc = "The value of the attribute `value`.",
           .kind = OpKind::kConst,
           .shape = ConstShape,
           .gradient = NotDifferentiable("a constant depends on nothing"),
           .kernel = Compute<Const>()});
}

}  // namespace gyre

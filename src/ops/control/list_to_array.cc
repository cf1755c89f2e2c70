// _ListToArray, _ArrayToList: regroup a node's values.
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status CheckTypes(const Node& node) {
  if (node.signature.inputs != node.signature.outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("the types of the inputs of ", node.op_name, " must be those of its outputs"));
  }
  return absl::OkStatus();
}

struct RegroupAttrs {
  static absl::StatusOr<RegroupAttrs> Make(const Node& node) {
    GYRE_RETURN_IF_ERROR(CheckTypes(node));
    return RegroupAttrs();
  }
};

absl::Status Regroup(KernelContext& ctx, const RegroupAttrs&) {
  for (int i = 0; i < ctx.num_inputs(); ++i) ctx.set_output(i, ctx.TakeInput(i));
  return absl::OkStatus();
}

absl::Status RegroupShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(CheckTypes(c.node()));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return absl::OkStatus();
}

}  // namespace

void RegisterListToArray(OpRegistry& ops) {
  ops.Add({.schema =
               "_ListToArray(input: Tin) -> output: N * T {Tin: list(type); T: type; N: int >= 1}",
           .doc = "Its inputs, which must all have type T.",
           .shape = RegroupShape,
           .gradient = {gradient::PassOn},
           .kernel = Compute<Regroup>()});
  ops.Add({.schema = "_ArrayToList(input: N * T) -> output: out_types {T: type; N: int >= 1; "
                     "out_types: list(type)}",
           .doc = "Its inputs, which must have the types out_types.",
           .shape = RegroupShape,
           .gradient = {gradient::PassOn},
           .kernel = Compute<Regroup>()});
}

}  // namespace gyre

// _Arg, _Retval and their device forms: the borders of a function.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
absl::Status ArgShape(ShapeContext& c) {
  const auto* shapes = c.attrs().Get<std::vector<PartialShape>>("_output_shapes");
  if (shapes != nullptr && shapes->size() == 1) c.set_output(0, (*shapes)[0]);
  const auto* types = c.attrs().Get<std::vector<DType>>("_handle_dtypes");
  const auto* handles = c.attrs().Get<std::vector<PartialShape>>("_handle_shapes");
  if (types != nullptr && handles != nullptr && types->size() == 1 && handles->size() == 1) {
    c.set_output_handle(0, {(*types)[0], (*handles)[0]});
  }
  return absl::OkStatus();
}
}  // namespace

void RegisterArg(OpRegistry& ops) {
  for (const char* schema : {"_Arg() -> output: T {T: type; index: int >= 0}",
                             "_DeviceArg() -> output: T {T: type; index: int >= 0}"}) {
    ops.Add({.schema = schema,
             .doc = "Argument number `index` of the function it stands in.",
             .kind = OpKind::kArg,
             .shape = ArgShape});
  }
  for (const char* schema : {"_Retval(input: T) -> {T: type; index: int >= 0}",
                             "_DeviceRetval(input: T) -> {T: type; index: int >= 0}"}) {
    ops.Add({.schema = schema,
             .doc = "Makes `input` result number `index` of the function it stands in.",
             .kind = OpKind::kRetval,
             .shape = shape::None});
  }
}

}  // namespace gyre

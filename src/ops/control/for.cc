// For: run a function once per value of a counter.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
absl::Status ForShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) GYRE_RETURN_IF_ERROR(c.RequireScalar(i));
  return absl::OkStatus();
}
}  // namespace

void RegisterFor(OpRegistry& ops) {
  ops.Add({.schema = "For(start: int32, limit: int32, delta: int32, input: T) -> output: T {T: "
                     "list(type) >= 0; "
                     "body: func}",
           .doc = "Starts with `input` and replaces the values by body(i, values) for i = start, "
                  "start + delta, … "
                  "before limit.",
           .kind = OpKind::kFor,
           .traits = {.effect = Effect::kIo},
           .structure = {.functions = {{"body", CalleeKind::kBody}},
                         .num_selectors = 3,
                         .num_counters = 1},
           .shape = ForShape});
}

}  // namespace gyre

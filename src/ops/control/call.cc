// PartitionedCall, StatefulPartitionedCall, RemoteCall: call a function.
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {
Structure CallStructure(absl::string_view stateless) {
  return {.functions = {{"f", CalleeKind::kFunction}}, .stateless = stateless};
}
}  // namespace

void RegisterCall(OpRegistry& ops) {
  ops.Add(
      {.schema =
           "PartitionedCall(args: Tin) -> output: Tout {Tin: list(type) >= 0; Tout: list(type) >= "
           "0; "
           "f: func; config: string = ''; config_proto: string = ''; executor_type: string = ''}",
       .doc = "The results of f(args); f has no effects.",
       .kind = OpKind::kCall,
       .structure = CallStructure(""),
       .shape = shape::Unknown});
  ops.Add({.schema =
               "StatefulPartitionedCall(args: Tin) -> output: Tout {Tin: list(type) >= 0; "
               "Tout: list(type) >= 0; f: func; config: string = ''; config_proto: string = ''; "
               "executor_type: string = ''}",
           .doc = "The results of f(args).",
           .kind = OpKind::kCall,
           .traits = {.effect = Effect::kIo},
           .structure = CallStructure("PartitionedCall"),
           .shape = shape::Unknown});
  ops.Add({.schema = "RemoteCall(target: string, args: Tin) -> output: Tout {Tin: list(type); "
                     "Tout: list(type); "
                     "f: func}",
           .doc = "The results of f(args), computed on the device named `target`.",
           .kind = OpKind::kCall,
           .traits = {.effect = Effect::kIo},
           .structure = {.functions = {{"f", CalleeKind::kFunction}}, .num_selectors = 1},
           .shape = shape::Unknown});
}

}  // namespace gyre

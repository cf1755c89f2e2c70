// _PayloadBytes: what values take in memory, lists with all that they hold.
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "ops/variant_ops.h"

namespace gyre {
namespace {

absl::Status CountBytes(KernelContext& ctx) {
  int64_t bytes = 0;
  for (int i = 0; i < ctx.num_inputs(); ++i) bytes += PayloadBytes(ctx.input(i));
  ctx.set_output(0, Tensor::Scalar(bytes));
  return absl::OkStatus();
}

}  // namespace

int64_t PayloadBytes(const Tensor& value) {
  const auto bytes = static_cast<int64_t>(value.bytes());
  if (value.dtype() != DType::kVariant || value.rank() != 0) return bytes;
  const auto* object = value.object_as<AddableObject>();
  return object == nullptr ? bytes : bytes + object->PayloadBytes();
}

void RegisterPayloadBytes(OpRegistry& ops) {
  ops.Add({.schema = "_PayloadBytes(values: T) -> bytes: int64 {T: list(type) >= 0}",
           .doc = "How many bytes the elements of all values take.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its result is an integer"),
           .kernel = Compute<CountBytes>()});
}

}  // namespace gyre

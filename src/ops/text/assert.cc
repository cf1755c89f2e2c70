#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/shape_context.h"
#include "ops/registry.h"
#include "tensor/format.h"

namespace gyre {
namespace {

struct AssertAttrs {
  explicit AssertAttrs(const Node& node) : summarize(NodeAttr<int64_t>(node, "summarize")) {}
  int64_t summarize;
};

absl::Status Assert(KernelContext& ctx, const AssertAttrs& attrs) {
  const Tensor& condition = ctx.input(0);
  if (condition.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("condition must be a scalar, but its shape is ",
                                                   condition.shape().ToString()));
  }
  if (condition.scalar<uint8_t>() != 0) return absl::OkStatus();
  std::string message = "assertion failed:";
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    absl::StrAppend(&message, " [", FormatTensor(ctx.input(i), attrs.summarize), "]");
  }
  return absl::InvalidArgumentError(message);
}

absl::Status AssertShape(ShapeContext& c) { return c.RequireScalar(0); }

// Holds if it holds in all rows; what is shown are the values of all.
absl::Status AssertBatch(BatchContext& c) {
  std::vector<Expr> inputs = {c.input(0)};
  if (c.is_stacked(0)) inputs[0] = c.op("All", {c.input(0), c.builder().Ints({0})});
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  return c.Emit(inputs);
}

}  // namespace

void RegisterAssert(OpRegistry& ops) {
  ops.Add({
      .schema = "Assert(condition: bool, data: T) -> {T: list(type) >= 1; summarize: int = 3}",
      .doc = "Fails the run, showing the data, unless the condition is true.",
      .traits = {.effect = Effect::kIo},
      .shape = AssertShape,
      .gradient = NotDifferentiable("it has no outputs"),
      .batch = {AssertBatch},
      .kernel = Compute<&Assert>(),
  });
}

}  // namespace gyre

#include "ir/shape_context.h"
#include "ops/kernel.h"
#include "ops/registry.h"

namespace gyre {
namespace {

struct AbortAttrs {
  explicit AbortAttrs(const Node& node)
      : message(NodeAttr<std::string>(node, "error_msg")),
        quietly(NodeAttr<bool>(node, "exit_without_error")) {}
  std::string message;
  bool quietly;
};

// Ends the run, never the process.
absl::Status Abort(KernelContext&, const AbortAttrs& attrs) {
  if (attrs.quietly) return absl::OkStatus();
  return absl::AbortedError(attrs.message.empty() ? "the graph asked to stop" : attrs.message);
}

}  // namespace

void RegisterAbort(OpRegistry& ops) {
  ops.Add({
      .schema = "Abort() -> {error_msg: string = ''; exit_without_error: bool = false}",
      .doc = "Fails the run with the status ABORTED; with exit_without_error it does nothing.",
      .traits = {.effect = Effect::kIo},
      .shape = shape::None,
      .gradient = NotDifferentiable("it has no outputs"),
      .kernel = Compute<&Abort>(),
  });
}

}  // namespace gyre

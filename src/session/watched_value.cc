#include "session/watched_value.h"

#include "absl/strings/match.h"
#include "ops/state/variable.h"
#include "session/surroundings.h"

namespace gyre {

std::optional<Tensor> ValueOf(const WatchedOutput& output, const Firing& firing) {
  if (firing.is_plumbing || !absl::EndsWith(output.node, firing.node)) return std::nullopt;
  if (output.slot < 0 || output.slot >= static_cast<int>(firing.outputs.size()))
    return std::nullopt;
  const absl::string_view function = FunctionAt(firing.around, firing.around.size());
  if (output.node != QualifiedName(function, firing.node)) return std::nullopt;
  const Tensor& value = firing.outputs[output.slot];
  if (!value.has_value()) return std::nullopt;
  if (!value.is_ref()) return value;
  const absl::StatusOr<Tensor> read = ReadRef(value);
  return read.ok() ? std::optional(*read) : std::nullopt;
}

}  // namespace gyre

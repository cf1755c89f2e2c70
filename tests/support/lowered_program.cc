#include "support/lowered_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ir/verifier.h"

namespace gyre::testing {

absl::StatusOr<LoweredProgram> LowerMain(const Program& program, const RunSignature& signature,
                                         const LowerOptions& options) {
  GYRE_ASSIGN_OR_RETURN(Lowered lowered, Lower(program, program.main(), signature, options));
  if (lowered.origins.size() != lowered.function.nodes.size())
    return absl::InternalError("not every node has an origin");
  for (const Node& node : lowered.function.nodes) {
    const OpKind kind = node.kind();
    if (kind == OpKind::kIf || kind == OpKind::kCase || kind == OpKind::kWhile ||
        kind == OpKind::kFor) {
      return absl::InternalError(absl::StrCat(node.name, " is not lowered"));
    }
  }
  LoweredProgram result;
  result.signature = std::move(lowered.signature);
  ProgramBuilder builder(program);
  builder.SetMain(std::move(lowered.function));
  result.program = builder.Build();
  if (absl::Status status = Verify(*result.program, Dialect::kAny); !status.ok())
    return absl::InternalError(status.message());
  return result;
}

}  // namespace gyre::testing

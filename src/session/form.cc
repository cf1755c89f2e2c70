#include "session/form.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "grad/symbolic_gradient.h"
#include "lower/lower.h"
#include "ops/registry.h"
#include "passes/for_results.h"
#include "passes/pipeline.h"
#include "passes/prune.h"
#include "passes/raise/raise.h"
#include "session/names.h"

namespace gyre {
namespace {

// Primitives again, in one function as far as that can be.
absl::StatusOr<Staged> Relowered(Staged staged) {
  GYRE_ASSIGN_OR_RETURN(staged, Raise(staged));
  GYRE_ASSIGN_OR_RETURN(Lowered lowered,
                        Lower(*staged.program, staged.program->main(), staged.signature));
  ProgramBuilder builder(*staged.program);
  builder.SetMain(std::move(lowered.function));
  return Staged{builder.Build(), std::move(lowered.signature), {}};
}

// What the pipeline makes of a session's choice of passes.
PipelineOptions ToPipelineOptions(const SessionOptions& options) {
  PipelineOptions pipeline;
  const bool verify = pipeline.choice.verify || options.passes.verify;
  pipeline.choice = options.passes;
  pipeline.choice.verify = verify;
  // Alone, but on a program that passes can see through.
  if (!options.passes.only.empty()) pipeline.order = {"raise", options.passes.only};
  pipeline.choice.only.clear();
  pipeline.order_seed = options.testing.passes_order_seed;
  return pipeline;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Program>> ForResults(
    const std::shared_ptr<const Program>& program, const std::vector<std::string>& feeds,
    const std::vector<std::string>& fetches, const std::vector<std::string>& targets) {
  GYRE_ASSIGN_OR_RETURN(RunSignature signature,
                        MainNames(*program).FindSignature(feeds, fetches, targets));
  GYRE_ASSIGN_OR_RETURN(const Staged staged,
                        ForResultsPass(MakeStaged(program, std::move(signature))));
  return staged.program;
}

absl::Status CheckForm(const SessionOptions& options) {
  return CheckPipelineOptions(ToPipelineOptions(options));
}

absl::StatusOr<std::optional<ProgramForm>> FormOf(const SessionOptions& options) {
  if (options.form) return options.form;
  const char* const variable = std::getenv("GYRE_FORM");
  const absl::string_view text = variable == nullptr ? "" : variable;
  if (text.empty() || text == "auto") return std::nullopt;
  if (const absl::StatusOr<ProgramForm> said = ParseProgramForm(text); said.ok()) return *said;
  return absl::InvalidArgumentError(
      absl::StrCat("GYRE_FORM is '", text, "', which is no form of programs: auto, ",
                   absl::StrJoin(kProgramForms, ", ", [](std::string* out, ProgramForm form) {
                     absl::StrAppend(out, to_string(form));
                   })));
}

absl::StatusOr<Staged> WithoutSymbolicGradients(Staged staged) {
  if (!HasSymbolicGradients(*staged.program)) return staged;
  // Only what the run needs: others may be of functions that have no gradient.
  GYRE_ASSIGN_OR_RETURN(staged, PrunePass(staged));
  GYRE_ASSIGN_OR_RETURN(staged.program, ExpandSymbolicGradients(staged.program));
  return staged;
}

absl::StatusOr<Staged> ToForm(Staged staged, const SessionOptions& options) {
  GYRE_ASSIGN_OR_RETURN(staged, WithoutSymbolicGradients(std::move(staged)));
  switch (options.form.value_or(ProgramForm::kImported)) {
    case ProgramForm::kImported:
      return staged;
    case ProgramForm::kRaised:
      return Raise(staged);
    case ProgramForm::kRelowered:
      return Relowered(std::move(staged));
    case ProgramForm::kReraised: {
      GYRE_ASSIGN_OR_RETURN(staged, Relowered(std::move(staged)));
      return Raise(staged);
    }
    case ProgramForm::kOptimized:
      break;
  }
  return Optimize(staged, ToPipelineOptions(options));
}

absl::StatusOr<std::shared_ptr<const Program>> LowerMain(const Program& program) {
  RunSignature all;
  for (const Node& node : program.main().nodes) all.targets.push_back(node.id);
  GYRE_ASSIGN_OR_RETURN(Lowered lowered, Lower(program, program.main(), all));
  ProgramBuilder builder(Ops());
  for (const auto& [name, function] : program.functions()) builder.SetFunction(*function);
  builder.SetMain(std::move(lowered.function));
  return builder.Build();
}

}  // namespace gyre

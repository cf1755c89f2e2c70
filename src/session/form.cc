#include "session/form.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "grad/symbolic_gradient.h"
#include "lower/lower.h"
#include "passes/prune.h"
#include "passes/raise/raise.h"

namespace gyre {
namespace {

struct FormEntry {
  absl::string_view name;
  absl::StatusOr<Staged> (*make)(Staged staged, const PassOptions& passes);
};

absl::StatusOr<Staged> Raised(Staged staged, const PassOptions&) { return Raise(staged); }

// Primitives again, in one function as far as that can be.
absl::StatusOr<Staged> Relowered(Staged staged, const PassOptions&) {
  GYRE_ASSIGN_OR_RETURN(staged, Raise(staged));
  GYRE_ASSIGN_OR_RETURN(Lowered lowered,
                        Lower(*staged.program, staged.program->main(), staged.signature));
  ProgramBuilder builder(*staged.program);
  builder.SetMain(std::move(lowered.function));
  return Staged{builder.Build(), std::move(lowered.signature), {}};
}

absl::StatusOr<Staged> Reraised(Staged staged, const PassOptions& passes) {
  GYRE_ASSIGN_OR_RETURN(staged, Relowered(std::move(staged), passes));
  return Raise(staged);
}

absl::StatusOr<Staged> Optimized(Staged staged, const PassOptions& passes) {
  return Optimize(staged, ToPipelineOptions(passes));
}

constexpr FormEntry kForms[] = {
    {"imported",
     [](Staged staged, const PassOptions&) -> absl::StatusOr<Staged> { return staged; }},
    {"raised", &Raised},
    {"relowered", &Relowered},
    {"reraised", &Reraised},
    {"optimized", &Optimized},
};

const FormEntry* FindForm(absl::string_view name) {
  if (name.empty()) return &kForms[0];
  const auto* found = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const FormEntry& f) { return f.name == name; });
  return found == std::end(kForms) ? nullptr : found;
}

}  // namespace

PipelineOptions ToPipelineOptions(const PassOptions& passes) {
  PipelineOptions options;
  options.off = passes.off;
  // Alone, but on a program that passes can see through.
  if (!passes.only.empty()) options.order = {"raise", passes.only};
  options.order_seed = passes.order_seed;
  options.verify |= passes.verify;
  return options;
}

absl::Status CheckForm(const SessionOptions& options) {
  if (FindForm(options.form) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no form called \"", options.form,
                                                   "\"; there is ",
                                                   absl::StrJoin(FormNames(), ", ")));
  }
  return CheckPipelineOptions(ToPipelineOptions(options.passes));
}

absl::StatusOr<Staged> ToForm(Staged staged, const SessionOptions& options) {
  if (HasSymbolicGradients(*staged.program)) {
    // Only what the run needs: others may be of functions that have no gradient.
    GYRE_ASSIGN_OR_RETURN(staged, PrunePass(staged));
    GYRE_ASSIGN_OR_RETURN(staged.program, ExpandSymbolicGradients(staged.program));
  }
  return FindForm(options.form)->make(std::move(staged), options.passes);
}

std::vector<std::string> FormNames() {
  std::vector<std::string> names;
  for (const FormEntry& form : kForms) names.emplace_back(form.name);
  return names;
}

}  // namespace gyre

#include "saved_model/restore.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "saved_model/held_run.h"

namespace gyre {
namespace {

absl::Status AssignFrom(const BundleReader& bundle, absl::Span<const VariableKey> keys,
                        Session& session) {
  std::vector<std::pair<std::string, Tensor>> values;
  for (const VariableKey& part : keys) {
    GYRE_ASSIGN_OR_RETURN(Tensor value, bundle.Read(part.key));
    values.emplace_back(part.variable, std::move(value));
  }
  return session.AssignVariables(values);
}

// Whether all variables of the graph have values.
absl::StatusOr<bool> IsComplete(const Session& session) {
  std::vector<std::string> names;
  for (const Session::VariableInfo& variable : session.Variables()) names.push_back(variable.name);
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.ReadVariables(names));
  return std::all_of(values.begin(), values.end(),
                     [](const Tensor& value) { return value.has_value(); });
}

}  // namespace

absl::Status RestoreModel(const ModelFiles& files, const MetaGraph& graph,
                          const BundleReader& bundle, const std::vector<VariableKey>& of_objects,
                          Session& session) {
  if (!of_objects.empty()) {
    GYRE_RETURN_IF_ERROR(AssignFrom(bundle, of_objects, session));
    GYRE_ASSIGN_OR_RETURN(const bool is_complete, IsComplete(session));
    if (is_complete) return absl::OkStatus();
  }
  // What is left, no signature reads; but saving the model does.
  if (graph.restore_op.empty()) return absl::OkStatus();
  const Feeds feeds = {{graph.restore_filename, Tensor::Scalar(files.checkpoint)}};
  HeldRun run;
  run.Within(files.folder);
  return Annotate(session.Run(feeds, {}, {graph.restore_op}, run.options()).status(),
                  absl::StrCat("restoring ", files.checkpoint));
}

}  // namespace gyre

#include "saved_model/signature_onnx.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace gyre {

absl::StatusOr<OnnxSource> SourceOf(const SavedModel& model, const std::string& signature) {
  const auto found = model.signatures().find(signature);
  if (found == model.signatures().end()) {
    std::vector<std::string> names;
    for (const auto& [name, other] : model.signatures()) names.push_back(name);
    return absl::NotFoundError(absl::StrCat("the model has no signature '", signature, "'; it has ",
                                            absl::StrJoin(names, ", ")));
  }
  std::vector<std::string> feeds, fetches, inputs, outputs;
  for (const auto& [name, input] : found->second.inputs) {
    feeds.push_back(input.tensor);
    inputs.push_back(name);
  }
  for (const auto& [name, output] : found->second.outputs) {
    fetches.push_back(output.tensor);
    outputs.push_back(name);
  }
  GYRE_ASSIGN_OR_RETURN(OnnxSource source, SourceOf(model.session(), feeds, fetches));
  source.inputs = std::move(inputs);
  source.outputs = std::move(outputs);
  return source;
}

}  // namespace gyre

#include "golden/as_onnx.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "onnx/import.h"
#include "onnx/value_file.h"
#include "ops/registry.h"
#include "session/names.h"
#include "session/onnx_file.h"
#include "session/variables.h"
#include "tensor/io/file.h"

namespace gyre::golden {
namespace {

std::map<std::string, Tensor> ValuesOfVariables(const Session& session) {
  std::vector<std::string> names;
  for (const auto& [name, variable] : ProgramVariables(session.program())) names.push_back(name);
  std::map<std::string, Tensor> values;
  const auto read = session.ReadVariables(names);
  for (size_t i = 0; read.ok() && i < names.size(); ++i) values[names[i]] = (*read)[i];
  return values;
}

absl::StatusOr<OnnxFile> Written(const Case& golden, const Step& step, const Session& session) {
  GYRE_ASSIGN_OR_RETURN(
      RunSignature signature,
      MainNames(session.program()).FindSignature(NamesOf(step.feeds), step.fetches, step.targets));
  OnnxNames names;
  names.variables = ValuesOfVariables(session);
  for (size_t i = 0; i < step.feeds.size(); ++i) names.inputs.push_back(absl::StrCat("input_", i));
  for (size_t i = 0; i < step.fetches.size(); ++i)
    names.outputs.push_back(absl::StrCat("output_", i));
  if (IsOnnxName(golden.graph_path())) {
    GYRE_ASSIGN_OR_RETURN(const OnnxModel model, ImportOnnxFile(golden.graph_path(), Ops()));
    for (const OnnxValue& input : model.inputs) names.input_types.push_back(input.type);
  }
  return ExportAsOnnx(MakeStaged(session.shared_program(), std::move(signature)), names);
}

absl::Status Keep(const std::string& folder, const OnnxFile& file, const Step& step) {
  const std::string data = absl::StrCat(folder, "/test_data_set_0");
  GYRE_RETURN_IF_ERROR(MakeFolder(data));
  GYRE_RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/model.onnx"), {file.model}));
  const auto write = [&](const char* what, size_t i, const Tensor& value) -> absl::Status {
    GYRE_ASSIGN_OR_RETURN(const std::string bytes, WriteOnnxValue(value));
    return WriteFile(absl::StrCat(data, "/", what, "_", i, ".pb"), {bytes});
  };
  for (size_t i = 0; i < step.feeds.size(); ++i)
    GYRE_RETURN_IF_ERROR(write("input", i, step.feeds[i].second.tensor()));
  for (size_t i = 0; i < step.expect.size(); ++i)
    GYRE_RETURN_IF_ERROR(write("output", i, step.expect[i]));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> RunAsOnnx(const Case& golden, size_t number,
                                              const Session& session, const RunOptions& options,
                                              const std::string& folder) {
  const Step& step = golden.steps[number];
  const absl::StatusOr<OnnxFile> file = Written(golden, step, session);
  if (!file.ok()) {
    const bool has_no_form =
        absl::IsUnimplemented(file.status()) || absl::IsFailedPrecondition(file.status());
    return has_no_form ? Annotate(file.status(), "no form in ONNX")
                       : Annotate(file.status(), "writing it as ONNX");
  }
  const auto reading = [](const absl::Status& status) {
    return absl::InternalError(absl::StrCat("reading it again: ", status.message()));
  };
  const absl::StatusOr<OnnxModel> model = ImportOnnx(file->model, Ops());
  if (!folder.empty()) {
    const absl::Status kept =
        Keep(absl::StrCat(folder, "/", golden.group, "/", golden.name, "_", number), *file, step);
    if (!kept.ok() && !absl::IsUnimplemented(kept)) return kept;
  }
  if (!model.ok()) return reading(model.status());
  if (model->inputs.size() != step.feeds.size())
    return absl::InternalError("the model has another number of inputs");
  GYRE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> other, Session::Create(model->program));
  Feeds feeds;
  for (size_t i = 0; i < step.feeds.size(); ++i)
    feeds.emplace_back(model->inputs[i].endpoint, step.feeds[i].second);
  std::vector<std::string> fetches;
  for (const OnnxValue& output : model->outputs) fetches.push_back(output.endpoint);
  const auto results = other->Run(feeds, fetches, {}, options);
  if (!results.ok()) return Annotate(results.status(), "running it as ONNX");
  return results;
}

}  // namespace gyre::golden

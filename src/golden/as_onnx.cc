#include "golden/as_onnx.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "onnx/import.h"
#include "onnx/value_file.h"
#include "ops/registry.h"
#include "saved_model/signature_onnx.h"
#include "session/names.h"
#include "session/onnx/onnx_file.h"
#include "tensor/io/file.h"

namespace gyre::golden {
namespace {

// What the model of a step is made of. Feeds of a signature are put into the order of its inputs.
absl::StatusOr<OnnxSource> SourceOfStep(const Case& golden, const GraphOrModel& loaded,
                                        Step& step) {
  if (step.fetches.empty()) return absl::UnimplementedError("nothing is fetched");
  if (!step.signature.empty()) {
    GYRE_ASSIGN_OR_RETURN(OnnxSource source, SourceOf(*loaded.model, step.signature));
    Feeds feeds;
    for (const std::string& input : source.inputs) {
      const auto given = std::find_if(step.feeds.begin(), step.feeds.end(),
                                      [&](const auto& feed) { return feed.first == input; });
      if (given == step.feeds.end()) return absl::UnimplementedError("an input with a default");
      feeds.push_back(*given);
    }
    step.feeds = std::move(feeds);
    const std::vector<Endpoint> all = source.asked.signature.fetches;
    source.asked.signature.fetches.clear();
    for (const std::string& fetch : step.fetches) {
      const auto place = std::find(source.outputs.begin(), source.outputs.end(), fetch);
      if (place == source.outputs.end())
        return absl::NotFoundError(absl::StrCat("there is no output '", fetch, "'"));
      source.asked.signature.fetches.push_back(all[place - source.outputs.begin()]);
    }
    source.outputs = step.fetches;
    return source;
  }
  const Session& session = loaded.session();
  GYRE_ASSIGN_OR_RETURN(OnnxSource source, SourceOf(session, NamesOf(step.feeds), step.fetches));
  GYRE_ASSIGN_OR_RETURN(
      source.asked.signature,
      MainNames(session.program()).FindSignature(NamesOf(step.feeds), step.fetches, step.targets));
  for (size_t i = 0; i < step.feeds.size(); ++i) source.inputs.push_back(absl::StrCat("input_", i));
  for (size_t i = 0; i < step.fetches.size(); ++i)
    source.outputs.push_back(absl::StrCat("output_", i));
  if (IsOnnxName(golden.graph_path())) {
    GYRE_ASSIGN_OR_RETURN(const OnnxModel model, ImportOnnxFile(golden.graph_path(), Ops()));
    for (const OnnxValue& input : model.inputs) source.input_types.push_back(input.type);
  }
  return source;
}

absl::StatusOr<OnnxFile> Written(const Case& golden, const GraphOrModel& loaded, Step& step) {
  GYRE_ASSIGN_OR_RETURN(const OnnxSource source, SourceOfStep(golden, loaded, step));
  return ExportAsOnnx(source);
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
                                              const GraphOrModel& loaded, const RunOptions& options,
                                              const std::string& folder) {
  Step step = golden.steps[number];
  const absl::StatusOr<OnnxFile> file = Written(golden, loaded, step);
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

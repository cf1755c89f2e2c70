#include "golden/onnx_case.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "onnx/import.h"
#include "onnx/value_file.h"
#include "ops/registry.h"
#include "tensor/io/file.h"

namespace gyre::golden {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kModel = "/model.onnx";
constexpr Tolerance kTolerance = {1e-3, 1e-7};

bool IsThere(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// The files NAME_0.pb, NAME_1.pb, … of a folder, as values of these types.
absl::StatusOr<std::vector<Tensor>> ReadValues(const std::string& folder, absl::string_view name,
                                               const std::vector<OnnxValue>& wanted) {
  std::vector<Tensor> values;
  for (size_t i = 0;; ++i) {
    const std::string path = absl::StrCat(folder, "/", name, "_", i, ".pb");
    if (!IsThere(path)) return values;
    if (i >= wanted.size())
      return absl::InvalidArgumentError(absl::StrCat(path, ": the model has fewer of them"));
    GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    const auto value = ReadOnnxValue(bytes, wanted[i].type);
    if (!value.ok()) return Annotate(value.status(), path);
    values.push_back(*value);
  }
}

absl::StatusOr<Step> ReadStep(const std::string& folder, const OnnxModel& model) {
  Step step;
  step.tolerance = kTolerance;
  GYRE_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                        ReadValues(folder, "input", model.inputs));
  for (size_t i = 0; i < inputs.size(); ++i)
    step.feeds.emplace_back(model.inputs[i].endpoint, inputs[i]);
  GYRE_ASSIGN_OR_RETURN(step.expect, ReadValues(folder, "output", model.outputs));
  for (size_t i = 0; i < step.expect.size(); ++i) step.fetches.push_back(model.outputs[i].endpoint);
  return step;
}

}  // namespace

bool IsOnnxCase(const std::string& folder) { return IsThere(absl::StrCat(folder, kModel)); }

absl::StatusOr<Case> ReadOnnxCase(const std::string& folder) {
  Case result;
  result.folder = folder;
  result.model = "model.onnx";
  const fs::path path = fs::path(folder).lexically_normal();
  result.group = path.parent_path().filename().string();
  result.name = path.filename().string();
  if (absl::StartsWith(result.name, "test_")) result.name.erase(0, 5);
  result.doc = "an ONNX model";
  GYRE_ASSIGN_OR_RETURN(const OnnxModel model, ImportOnnxFile(absl::StrCat(folder, kModel), Ops()));
  for (int i = 0; IsThere(absl::StrCat(folder, "/test_data_set_", i)); ++i) {
    GYRE_ASSIGN_OR_RETURN(Step step, ReadStep(absl::StrCat(folder, "/test_data_set_", i), model));
    result.steps.push_back(std::move(step));
  }
  if (result.steps.empty())
    return absl::InvalidArgumentError(absl::StrCat(folder, ": there is no test_data_set_0"));
  return result;
}

}  // namespace gyre::golden

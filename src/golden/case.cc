#include "golden/case.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "golden/json.h"
#include "golden/model.h"
#include "golden/onnx_case.h"
#include "golden/value.h"
#include "tensor/io/file.h"
#include "tensor/io/safetensors.h"

namespace gyre::golden {
namespace {

absl::StatusOr<absl::StatusCode> Code(const Json& object, const char* key,
                                      const std::string& where) {
  GYRE_ASSIGN_OR_RETURN(const std::string name, Text(object, key, where));
  if (name.empty()) return absl::StatusCode::kOk;
  for (int code = 0; code <= 16; ++code) {  // the canonical codes
    if (name == absl::StatusCodeToString(static_cast<absl::StatusCode>(code))) {
      return static_cast<absl::StatusCode>(code);
    }
  }
  return Mistake(Join(where, key), absl::StrCat("'", name, "' is no status code"));
}

absl::StatusOr<ExpectedError> ReadExpectedError(const Json& json, const std::string& where) {
  ExpectedError error;
  if (!json.is_object()) return Mistake(where, "not an object");
  GYRE_ASSIGN_OR_RETURN(error.code, Code(json, "code", where));
  if (error.code == absl::StatusCode::kOk) return Mistake(where, "code must say what is expected");
  GYRE_ASSIGN_OR_RETURN(error.alternative_code, Code(json, "tf_code", where));
  GYRE_ASSIGN_OR_RETURN(error.message_contains, Text(json, "message_contains", where));
  error.optional = Member(json, "optional") == true;
  return error;
}

// The values of the member `key`, an object that may be absent.
absl::StatusOr<Feeds> ReadFeeds(const Json& json, const char* key, const std::string& where,
                                const RefLookup& find_ref) {
  Feeds feeds;
  const Json& values = Member(json, key);
  if (!values.is_null() && !values.is_object())
    return Mistake(where, absl::StrCat(key, " is not an object"));
  for (const auto& [name, value] : values.items()) {
    GYRE_ASSIGN_OR_RETURN(
        Tensor tensor, ReadValue(value, Join(where, absl::StrCat(key, "[", name, "]")), find_ref));
    feeds.emplace_back(name, std::move(tensor));
  }
  return feeds;
}

// A list with a value or null for each of `count` things; none: an empty list.
absl::StatusOr<std::vector<std::optional<Tensor>>> ReadOptionalValues(const Json& json,
                                                                      const char* name,
                                                                      size_t count,
                                                                      const std::string& where,
                                                                      const RefLookup& find_ref) {
  std::vector<std::optional<Tensor>> values;
  const Json& list = Member(json, name);
  if (list.is_null()) return values;
  if (!list.is_array() || list.size() != count)
    return Mistake(where, absl::StrCat(name, " is not a list of ", count, " values"));
  for (size_t i = 0; i < count; ++i) {
    values.emplace_back();
    if (list[i].is_null()) continue;
    GYRE_ASSIGN_OR_RETURN(
        values.back(), ReadValue(list[i], Join(where, absl::StrCat(name, "[", i, "]")), find_ref));
  }
  return values;
}

// What must come out: a list along the fetches or, of a model, an object.
absl::Status ReadExpect(const Json& json, const std::string& where, const RefLookup& find_ref,
                        Step& step) {
  const Json& expect = Member(json, "expect");
  if (expect.is_object()) {
    GYRE_ASSIGN_OR_RETURN(Feeds values, ReadFeeds(json, "expect", where, find_ref));
    step.fetches.clear();
    for (auto& [name, value] : values) {
      step.fetches.push_back(name);
      step.expect.push_back(std::move(value));
    }
    return absl::OkStatus();
  }
  if (!expect.is_array() || expect.size() != step.fetches.size()) {
    return Mistake(where, "expect is not a list with one value for each fetch");
  }
  for (size_t i = 0; i < expect.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(
        Tensor tensor,
        ReadValue(expect[i], Join(where, absl::StrCat("expect[", i, "]")), find_ref));
    step.expect.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<Step> ReadStep(const Json& json, const std::string& where,
                              const RefLookup& find_ref) {
  Step step;
  if (!json.is_object()) return Mistake(where, "not an object");
  GYRE_ASSIGN_OR_RETURN(step.signature, Text(json, "signature", where));
  GYRE_ASSIGN_OR_RETURN(
      step.feeds, ReadFeeds(json, step.signature.empty() ? "feeds" : "inputs", where, find_ref));
  GYRE_ASSIGN_OR_RETURN(step.fetches, Texts(json, "fetches", where));
  GYRE_ASSIGN_OR_RETURN(step.targets, Texts(json, "targets", where));
  GYRE_ASSIGN_OR_RETURN(step.timeout_ms, Whole(json, "timeout_ms", 0, where));
  if (const Json& error = Member(json, "error"); !error.is_null()) {
    GYRE_ASSIGN_OR_RETURN(step.error, ReadExpectedError(error, Join(where, "error")));
    return step;
  }
  GYRE_RETURN_IF_ERROR(ReadExpect(json, where, find_ref, step));
  GYRE_ASSIGN_OR_RETURN(step.tolerance.rtol, Number(json, "rtol", where));
  GYRE_ASSIGN_OR_RETURN(step.tolerance.atol, Number(json, "atol", where));
  return step;
}

absl::StatusOr<Gradient> ReadGradient(const Json& json, const std::string& where,
                                      const RefLookup& find_ref) {
  Gradient gradient;
  if (!json.is_object()) return Mistake(where, "not an object");
  GYRE_ASSIGN_OR_RETURN(gradient.ys, Texts(json, "ys", where));
  GYRE_ASSIGN_OR_RETURN(gradient.xs, Texts(json, "xs", where));
  GYRE_ASSIGN_OR_RETURN(gradient.order, Whole(json, "order", 1, where));
  if (gradient.order < 1) return Mistake(where, "order is less than 1");
  GYRE_ASSIGN_OR_RETURN(gradient.grad_ys,
                        ReadOptionalValues(json, "grad_ys", gradient.ys.size(), where, find_ref));
  GYRE_ASSIGN_OR_RETURN(gradient.feeds, ReadFeeds(json, "feeds", where, find_ref));
  GYRE_ASSIGN_OR_RETURN(gradient.expect,
                        ReadOptionalValues(json, "expect", gradient.xs.size(), where, find_ref));
  if (gradient.expect.size() != gradient.xs.size()) return Mistake(where, "expect is missing");
  GYRE_ASSIGN_OR_RETURN(gradient.tolerance.rtol, Number(json, "rtol", where));
  GYRE_ASSIGN_OR_RETURN(gradient.tolerance.atol, Number(json, "atol", where));
  return gradient;
}

absl::Status ReadCase(const Json& json, const RefLookup& find_ref, Case& result) {
  if (!json.is_object()) return absl::InvalidArgumentError("not a JSON object");
  GYRE_ASSIGN_OR_RETURN(result.group, Text(json, "group", ""));
  GYRE_ASSIGN_OR_RETURN(result.name, Text(json, "name", ""));
  GYRE_ASSIGN_OR_RETURN(result.doc, Text(json, "doc", ""));
  GYRE_ASSIGN_OR_RETURN(result.tags, Texts(json, "tags", ""));
  GYRE_ASSIGN_OR_RETURN(result.init, Texts(json, "init", ""));
  if (!Member(json, "kind").is_null()) GYRE_RETURN_IF_ERROR(ReadModel(json, result));
  if (result.group.empty() || result.name.empty()) {
    return absl::InvalidArgumentError("group or name is missing");
  }
  const Json& steps = Member(json, "steps");
  if (!steps.is_array()) return absl::InvalidArgumentError("steps is not a list");
  for (size_t i = 0; i < steps.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(Step step, ReadStep(steps[i], absl::StrCat("steps[", i, "]"), find_ref));
    result.steps.push_back(std::move(step));
  }
  const Json& gradients = Member(json, "gradients");
  if (!gradients.is_null() && !gradients.is_array()) {
    return absl::InvalidArgumentError("gradients is not a list");
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(Gradient gradient,
                          ReadGradient(gradients[i], absl::StrCat("gradients[", i, "]"), find_ref));
    result.gradients.push_back(std::move(gradient));
  }
  if (const Json& error = Member(json, "load_error"); !error.is_null()) {
    GYRE_ASSIGN_OR_RETURN(result.load_error, ReadExpectedError(error, "load_error"));
  }
  if (result.steps.empty() && result.gradients.empty() && !result.load_error) {
    return absl::InvalidArgumentError("there is nothing to check");
  }
  return absl::OkStatus();
}

}  // namespace

bool Case::HasTag(absl::string_view tag) const {
  return std::find(tags.begin(), tags.end(), tag) != tags.end();
}

absl::StatusOr<Case> ReadCase(const std::string& folder) {
  if (IsOnnxCase(folder)) return ReadOnnxCase(folder);
  const std::string path = folder + "/case.json";
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError(path + ": not JSON");

  std::optional<SafetensorsFile> data;  // opened when first referred to
  const RefLookup find_ref = [&](const std::string& key) -> absl::StatusOr<Tensor> {
    if (!data) {
      GYRE_ASSIGN_OR_RETURN(SafetensorsFile file,
                            SafetensorsFile::Open(folder + "/data.safetensors"));
      data.emplace(std::move(file));
    }
    return data->Read(key);
  };
  Case result;
  result.folder = folder;
  if (const absl::Status status = ReadCase(json, find_ref, result); !status.ok()) {
    return Annotate(status, path);
  }
  return result;
}

absl::StatusOr<std::vector<std::string>> FindCases(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", folder));
  }
  std::vector<std::string> found;
  const auto is_case = [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path / "case.json", ignored) || IsOnnxCase(path.string());
  };
  if (is_case(folder)) found.push_back(folder);
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_case(entry->path())) found.push_back(entry->path().string());
  }
  if (error)
    return absl::UnavailableError(absl::StrCat("cannot list ", folder, ": ", error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gyre::golden

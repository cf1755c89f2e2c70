#include "session/checkpoint_manifest.h"

#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "tensor/io/json.h"

namespace gyre {
namespace {

constexpr int64_t kFormat = 1;
constexpr absl::string_view kPrefix = "variables-";
constexpr absl::string_view kSuffix = ".safetensors";
constexpr int64_t kMaxNumber = 1'000'000'000'000'000;  // there is always a next one

uint32_t ChecksumOf(const std::string& text) { return Crc32c(text.data(), text.size()); }

// A whole number in [0, most], or nullopt.
std::optional<int64_t> Number(const Json& object, const char* name,
                              int64_t most = std::numeric_limits<int64_t>::max()) {
  const Json* const found = object.Find(name);
  const uint64_t* const value = found == nullptr ? nullptr : found->As<uint64_t>();
  if (value == nullptr || *value > static_cast<uint64_t>(most)) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::optional<uint32_t> Checksum(const Json& object) {
  const auto number = Number(object, "crc32c", std::numeric_limits<uint32_t>::max());
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

// Empty when there is none.
std::string Text(const Json& object, const char* name) {
  const Json* const found = object.Find(name);
  const std::string* const text = found == nullptr ? nullptr : found->As<std::string>();
  return text == nullptr ? "" : *text;
}

absl::StatusOr<Manifest::Entry> ParseEntry(const std::string& name, const Json& json) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("its tensor '", name, "' has no sound ", what));
  };
  if (json.As<JsonObject>() == nullptr) return refuse("description");
  Manifest::Entry entry;
  const std::optional<DType> dtype = ParseDType(Text(json, "dtype"));
  if (!dtype) return refuse("dtype");
  entry.dtype = *dtype;
  const Json* const shape = json.Find("shape");
  if (shape == nullptr || shape->As<JsonArray>() == nullptr) return refuse("shape");
  Dims dims;
  for (const Json& item : *shape->As<JsonArray>()) {
    const uint64_t* const dim = item.As<uint64_t>();
    if (dim == nullptr || *dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return refuse("shape");
    dims.push_back(static_cast<int64_t>(*dim));
  }
  absl::StatusOr<Shape> checked = Shape::Make(dims);
  if (!checked.ok()) return refuse("shape");
  entry.shape = *std::move(checked);
  const std::optional<uint32_t> crc32c = Checksum(json);
  if (!crc32c) return refuse("crc32c");
  entry.crc32c = *crc32c;
  return entry;
}

}  // namespace

std::string ValuesFile(int64_t number) { return absl::StrCat(kPrefix, number, kSuffix); }

int64_t NumberOfValuesFile(absl::string_view name) {
  absl::string_view digits = name;
  int64_t number;
  if (!absl::ConsumePrefix(&digits, kPrefix) || !absl::ConsumeSuffix(&digits, kSuffix) ||
      !absl::SimpleAtoi(digits, &number) || number < 0 || number > kMaxNumber ||
      ValuesFile(number) != name) {
    return -1;
  }
  return number;
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view text) {
  GYRE_ASSIGN_OR_RETURN(const Json outer, ParseJsonObject(text, "the manifest"));
  const Json* const json = outer.Find("checkpoint");
  const std::optional<uint32_t> crc32c = Checksum(outer);
  if (json == nullptr || json->As<JsonObject>() == nullptr || !crc32c)
    return absl::InvalidArgumentError("the manifest is not one of a checkpoint");
  if (Number(*json, "format") != kFormat) {
    return absl::InvalidArgumentError(absl::StrCat("the manifest is of another format than ",
                                                   kFormat, ", the one that this version reads"));
  }
  GYRE_ASSIGN_OR_RETURN(const std::string inner, PrintJson(*json, "the manifest"));
  if (ChecksumOf(inner) != *crc32c)
    return absl::InvalidArgumentError("the manifest is damaged: its checksum is another");
  Manifest manifest;
  manifest.file = Text(*json, "file");
  const std::optional<int64_t> bytes = Number(*json, "bytes");
  const Json* const tensors = json->Find("tensors");
  if (NumberOfValuesFile(manifest.file) < 0 || !bytes || tensors == nullptr ||
      tensors->As<JsonObject>() == nullptr) {
    return absl::InvalidArgumentError("the manifest has no sound file, bytes and tensors");
  }
  manifest.bytes = *bytes;
  for (const auto& [name, tensor] : *tensors->As<JsonObject>()) {
    absl::StatusOr<Manifest::Entry> entry = ParseEntry(name, tensor);
    if (!entry.ok()) return Annotate(entry.status(), "the manifest");
    manifest.tensors.emplace(name, *std::move(entry));
  }
  return manifest;
}

absl::StatusOr<std::string> PrintManifest(const Manifest& manifest) {
  JsonObject tensors;
  for (const auto& [name, entry] : manifest.tensors) {
    JsonArray dims;
    for (const int64_t dim : entry.shape.dims()) dims.push_back({dim});
    tensors[name] = {JsonObject{{"dtype", {std::string(DTypeName(entry.dtype))}},
                                {"shape", {std::move(dims)}},
                                {"crc32c", {uint64_t{entry.crc32c}}}}};
  }
  Json json = {JsonObject{{"format", {kFormat}},
                          {"file", {manifest.file}},
                          {"bytes", {manifest.bytes}},
                          {"tensors", {std::move(tensors)}}}};
  GYRE_ASSIGN_OR_RETURN(const std::string inner, PrintJson(json, "a variable's name"));
  const Json outer = {
      JsonObject{{"checkpoint", std::move(json)}, {"crc32c", {uint64_t{ChecksumOf(inner)}}}}};
  GYRE_ASSIGN_OR_RETURN(std::string text, PrintJson(outer, "a variable's name", /*indent=*/1));
  text += '\n';
  if (text.size() > static_cast<size_t>(kMaxJsonBytes))
    return absl::InvalidArgumentError("there are too many variables for one manifest");
  return text;
}

}  // namespace gyre

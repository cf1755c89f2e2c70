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
  const auto found = object.find(name);
  if (found == object.end()) return std::nullopt;
  const uint64_t* value = found->get_ptr<const Json::number_unsigned_t*>();
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
  const auto found = object.find(name);
  const std::string* text = found == object.end() ? nullptr : found->get_ptr<const std::string*>();
  return text == nullptr ? "" : *text;
}

absl::StatusOr<Manifest::Entry> ParseEntry(const std::string& name, const Json& json) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("its tensor '", name, "' has no sound ", what));
  };
  if (!json.is_object()) return refuse("description");
  Manifest::Entry entry;
  const std::optional<DType> dtype = ParseDType(Text(json, "dtype"));
  if (!dtype) return refuse("dtype");
  entry.dtype = *dtype;
  const auto shape = json.find("shape");
  if (shape == json.end() || !shape->is_array()) return refuse("shape");
  Dims dims;
  for (const Json& item : *shape) {
    const uint64_t* dim = item.get_ptr<const Json::number_unsigned_t*>();
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
  const auto json = outer.find("checkpoint");
  const std::optional<uint32_t> crc32c = Checksum(outer);
  if (json == outer.end() || !json->is_object() || !crc32c)
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
  const auto tensors = json->find("tensors");
  if (NumberOfValuesFile(manifest.file) < 0 || !bytes || tensors == json->end() ||
      !tensors->is_object()) {
    return absl::InvalidArgumentError("the manifest has no sound file, bytes and tensors");
  }
  manifest.bytes = *bytes;
  for (const auto& [name, tensor] : tensors->items()) {
    absl::StatusOr<Manifest::Entry> entry = ParseEntry(name, tensor);
    if (!entry.ok()) return Annotate(entry.status(), "the manifest");
    manifest.tensors.emplace(name, *std::move(entry));
  }
  return manifest;
}

absl::StatusOr<std::string> PrintManifest(const Manifest& manifest) {
  Json tensors = Json::object();
  for (const auto& [name, entry] : manifest.tensors) {
    tensors[name] = {
        {"dtype", std::string(DTypeName(entry.dtype))},
        {"shape", std::vector<int64_t>(entry.shape.dims().begin(), entry.shape.dims().end())},
        {"crc32c", entry.crc32c}};
  }
  const Json json = {{"format", kFormat},
                     {"file", manifest.file},
                     {"bytes", manifest.bytes},
                     {"tensors", std::move(tensors)}};
  GYRE_ASSIGN_OR_RETURN(const std::string inner, PrintJson(json, "a variable's name"));
  GYRE_ASSIGN_OR_RETURN(std::string text,
                        PrintJson({{"checkpoint", json}, {"crc32c", ChecksumOf(inner)}},
                                  "a variable's name", /*indent=*/1));
  text += '\n';
  if (text.size() > static_cast<size_t>(kMaxJsonBytes))
    return absl::InvalidArgumentError("there are too many variables for one manifest");
  return text;
}

}  // namespace gyre

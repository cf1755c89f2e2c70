#include "tensor/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked_math.h"
#include "base/status.h"
#include "tensor/io/bytes.h"

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::json;

constexpr std::array<std::pair<absl::string_view, DType>, 14> kCodes = {{
    {"F64", DType::kDouble},
    {"F32", DType::kFloat},
    {"F16", DType::kHalf},
    {"BF16", DType::kBfloat16},
    {"I64", DType::kInt64},
    {"I32", DType::kInt32},
    {"I16", DType::kInt16},
    {"I8", DType::kInt8},
    {"U64", DType::kUint64},
    {"U32", DType::kUint32},
    {"U16", DType::kUint16},
    {"U8", DType::kUint8},
    {"BOOL", DType::kBool},
    {"C64", DType::kComplex64},
}};

// The integers of the array `name` in a tensor's description; nullopt unless it is that.
std::optional<std::vector<int64_t>> Integers(const Json& description, const char* name) {
  const auto found = description.find(name);
  if (found == description.end() || !found->is_array()) return std::nullopt;
  std::vector<int64_t> result;
  for (const Json& item : *found) {
    const uint64_t* value = item.get_ptr<const Json::number_unsigned_t*>();
    if (value == nullptr || *value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    result.push_back(static_cast<int64_t>(*value));
  }
  return result;
}

std::optional<DType> ElementType(const Json& description) {
  const auto found = description.find("dtype");
  if (found == description.end()) return std::nullopt;
  const std::string* code = found->get_ptr<const std::string*>();
  if (code == nullptr) return std::nullopt;
  for (const auto& [name, dtype] : kCodes) {
    if (name == *code) return dtype;
  }
  return std::nullopt;
}

// `json` as text; nullopt when a string in it is not UTF-8.
std::optional<std::string> Dump(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (Json::parse(text, nullptr, false) != json) return std::nullopt;
  return text;
}

}  // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(InputFile input, InputFile::Open(path));
  SafetensorsFile file(std::move(input));
  if (const absl::Status status = file.ReadHeader(); !status.ok()) return Annotate(status, path);
  return file;
}

absl::Status SafetensorsFile::ReadHeader() {
  uint64_t length = 0;
  if (file_.size() < 8) return absl::InvalidArgumentError("it is not a safetensors file");
  GYRE_RETURN_IF_ERROR(file_.ReadAt(0, &length, 8));
  if (length > static_cast<uint64_t>(file_.size() - 8)) {
    return absl::InvalidArgumentError(
        "it is not a safetensors file, or cut short within its header");
  }
  std::string text(length, '\0');
  GYRE_RETURN_IF_ERROR(file_.ReadAt(8, text.data(), static_cast<int64_t>(length)));
  const Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return absl::InvalidArgumentError("its header is not a JSON object");

  const int64_t data = 8 + static_cast<int64_t>(length);
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto& [name, description] : header.items()) {
    if (name == "__metadata__") continue;
    if (!description.is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "' is not described by an object"));
    }
    const std::optional<DType> dtype = ElementType(description);
    if (!dtype) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "' has no dtype that Gyre knows"));
    }
    const auto dims = Integers(description, "shape");
    const auto offsets = Integers(description, "data_offsets");
    if (!dims || !offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor '", name, "' has no sound shape and data_offsets"));
    }
    absl::StatusOr<Shape> shape = Shape::Make(*dims);
    if (!shape.ok()) return Annotate(shape.status(), absl::StrCat("tensor '", name, "'"));
    const int64_t bytes = (*offsets)[1] - (*offsets)[0];
    if (CheckedMul(shape->num_elements(), static_cast<int64_t>(DTypeSize(*dtype))) != bytes) {
      return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "' of ", DTypeName(*dtype),
                                                     shape->ToString(), " cannot have ", bytes,
                                                     " bytes"));
    }
    ranges.emplace_back((*offsets)[0], (*offsets)[1]);
    const int64_t begin = CheckedAdd(data, (*offsets)[0]).value_or(INT64_MAX);
    entries_[name] = Entry{*dtype, *std::move(shape), begin, bytes};
  }

  // No holes, no overlaps, nothing behind: what the format demands, and what keeps every read
  // inside the file.
  std::sort(ranges.begin(), ranges.end());
  int64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from != end) return absl::InvalidArgumentError("its tensors overlap or leave holes");
    end = to;
  }
  if (end != file_.size() - data) {
    return absl::InvalidArgumentError(absl::StrCat("its tensors take ", end, " bytes, but ",
                                                   file_.size() - data, " follow the header"));
  }
  return absl::OkStatus();
}

std::vector<std::string> SafetensorsFile::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

absl::StatusOr<Tensor> SafetensorsFile::Read(absl::string_view name, Tensor::Alloc alloc) const {
  const auto found = entries_.find(std::string(name));
  if (found == entries_.end()) {
    return absl::NotFoundError(absl::StrCat(file_.path(), " holds no tensor '", name, "'"));
  }
  const Entry& entry = found->second;
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(entry.dtype, entry.shape, alloc));
  GYRE_RETURN_IF_ERROR(file_.ReadAt(entry.begin, tensor.mutable_raw_data(), entry.bytes));
  NormalizeBools(tensor);
  return tensor;
}

absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors) {
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const auto* code = std::find_if(kCodes.begin(), kCodes.end(),
                                    [&](const auto& c) { return c.second == tensor.dtype(); });
    if (code == kCodes.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": safetensors files cannot hold elements of type ", DTypeName(tensor.dtype())));
    }
    if (header.contains(name) || name == "__metadata__") {
      return absl::InvalidArgumentError(absl::StrCat(path, ": the name '", name, "' is taken"));
    }
    const absl::string_view bytes = ElementBytes(tensor);
    const std::vector<int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
    header[name] = {{"dtype", std::string(code->first)},
                    {"shape", dims},
                    {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data.append(bytes.data(), bytes.size());
  }
  std::optional<std::string> text = Dump(header);
  if (!text)
    return absl::InvalidArgumentError(absl::StrCat(path, ": a tensor's name is not UTF-8"));
  text->append((8 - text->size() % 8) % 8, ' ');  // elements begin aligned
  const uint64_t length = text->size();
  return WriteFile(path,
                   {absl::string_view(reinterpret_cast<const char*>(&length), 8), *text, data});
}

}  // namespace gyre

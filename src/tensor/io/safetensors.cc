#include "tensor/io/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include "base/checked_math.h"
#include "base/status.h"
#include "tensor/io/bytes.h"
#include "tensor/io/json.h"

namespace gyre {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

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
  const Json* const found = description.Find(name);
  const JsonArray* const items = found == nullptr ? nullptr : found->As<JsonArray>();
  if (items == nullptr) return std::nullopt;
  std::vector<int64_t> result;
  for (const Json& item : *items) {
    const uint64_t* const value = item.As<uint64_t>();
    if (value == nullptr || *value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    result.push_back(static_cast<int64_t>(*value));
  }
  return result;
}

// Types without a code, and the type of the file's elements that carry them.
constexpr std::array<std::pair<DType, DType>, 6> kCarried = {{
    {DType::kComplex128, DType::kDouble},
    {DType::kQint8, DType::kInt8},
    {DType::kQuint8, DType::kUint8},
    {DType::kQint16, DType::kInt16},
    {DType::kQuint16, DType::kUint16},
    {DType::kQint32, DType::kInt32},
}};

constexpr char kMetadata[] = "__metadata__";
constexpr absl::string_view kCarriedEntry = "gyre.dtype.";

// kInvalid: none.
DType CarrierOf(DType dtype) {
  for (const auto& [carried, carrier] : kCarried) {
    if (carried == dtype) return carrier;
  }
  return DType::kInvalid;
}

absl::string_view CodeOf(DType dtype) {
  for (const auto& [code, known] : kCodes) {
    if (known == dtype) return code;
  }
  return "";
}

std::optional<DType> ElementType(const Json& description) {
  const Json* const found = description.Find("dtype");
  const std::string* const code = found == nullptr ? nullptr : found->As<std::string>();
  if (code == nullptr) return std::nullopt;
  for (const auto& [name, dtype] : kCodes) {
    if (name == *code) return dtype;
  }
  return std::nullopt;
}

// One tensor of a header; `data` is where the file's elements begin.
absl::StatusOr<SafetensorsFile::Entry> ParseEntry(const Json& description, int64_t data) {
  if (description.As<JsonObject>() == nullptr)
    return absl::InvalidArgumentError("it is not described by an object");
  const std::optional<DType> dtype = ElementType(description);
  if (!dtype) return absl::InvalidArgumentError("it has no dtype that Gyre knows");
  const auto dims = Integers(description, "shape");
  const auto offsets = Integers(description, "data_offsets");
  if (!dims || !offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return absl::InvalidArgumentError("it has no sound shape and data_offsets");
  GYRE_ASSIGN_OR_RETURN(Shape shape, Shape::Make(*dims));
  const int64_t bytes = (*offsets)[1] - (*offsets)[0];
  if (CheckedMul(shape.num_elements(), static_cast<int64_t>(DTypeSize(*dtype))) != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("of ", DTypeName(*dtype), shape.ToString(),
                                                   ", it cannot have ", bytes, " bytes"));
  }
  const int64_t begin = CheckedAdd(data, (*offsets)[0]).value_or(INT64_MAX);
  return SafetensorsFile::Entry{*dtype, std::move(shape), begin, bytes};
}

// The header's entry that holds names and texts.
using Metadata = std::map<std::string, std::string>;

// Turns the carrier that `entry` describes into what it carries, according to the metadata.
absl::Status Unload(const std::string& name, const Metadata& metadata,
                    SafetensorsFile::Entry& entry) {
  const auto found = metadata.find(absl::StrCat(kCarriedEntry, name));
  if (found == metadata.end()) return absl::OkStatus();
  const std::string& carried = found->second;
  const DType dtype = ParseDType(carried).value_or(DType::kInvalid);
  Dims dims(entry.shape.dims().begin(), entry.shape.dims().end());
  const bool is_pair = IsComplex(dtype) && !dims.empty() && dims.back() == 2;
  if (CarrierOf(dtype) != entry.dtype || IsComplex(dtype) != is_pair) {
    return absl::InvalidArgumentError(absl::StrCat("its metadata calls it ", carried, ", which ",
                                                   DTypeName(entry.dtype), entry.shape.ToString(),
                                                   " cannot be"));
  }
  entry.dtype = dtype;
  if (is_pair) dims.pop_back();
  GYRE_ASSIGN_OR_RETURN(entry.shape, Shape::Make(dims));
  return absl::OkStatus();
}

absl::StatusOr<Metadata> MetadataOf(const Json& header) {
  Metadata metadata;
  const Json* const found = header.Find(kMetadata);
  if (found == nullptr) return metadata;
  const absl::Status unsound =
      absl::InvalidArgumentError("its __metadata__ must consist of strings");
  const JsonObject* const entries = found->As<JsonObject>();
  if (entries == nullptr) return unsound;
  for (const auto& [name, value] : *entries) {
    const std::string* const text = value.As<std::string>();
    if (text == nullptr) return unsound;
    metadata.emplace(name, *text);
  }
  return metadata;
}

// The tensors in the order in which they stand in a file: where all are aligned, without padding.
std::vector<const std::pair<std::string, Tensor>*> InFileOrder(
    absl::Span<const std::pair<std::string, Tensor>> tensors) {
  std::vector<const std::pair<std::string, Tensor>*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const size_t size_a = DTypeSize(a->second.dtype()), size_b = DTypeSize(b->second.dtype());
    return size_a != size_b ? size_a > size_b : a->first < b->first;
  });
  return order;
}

Json Description(DType dtype, const Shape& shape, uint64_t begin, uint64_t end) {
  const DType carrier = CarrierOf(dtype);
  JsonArray dims;
  for (const int64_t dim : shape.dims()) dims.push_back({dim});
  if (IsComplex(dtype) && carrier != DType::kInvalid) dims.push_back({int64_t{2}});
  JsonObject description;
  description["dtype"] = {std::string(CodeOf(carrier != DType::kInvalid ? carrier : dtype))};
  description["shape"] = {std::move(dims)};
  description["data_offsets"] = {JsonArray{{begin}, {end}}};
  return {std::move(description)};
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
  if (length > static_cast<uint64_t>(kMaxJsonBytes)) {
    return absl::InvalidArgumentError(absl::StrCat("its header has ", length,
                                                   " bytes, more than the ", kMaxJsonBytes,
                                                   " that the format allows"));
  }
  std::string text(length, '\0');
  GYRE_RETURN_IF_ERROR(file_.ReadAt(8, text.data(), static_cast<int64_t>(length)));
  if (text.empty() || text[0] != '{')
    return absl::InvalidArgumentError("its header is not a JSON object");
  GYRE_ASSIGN_OR_RETURN(const Json header, ParseJsonObject(text, "its header"));
  GYRE_ASSIGN_OR_RETURN(const Metadata metadata, MetadataOf(header));
  const int64_t data = 8 + static_cast<int64_t>(length);
  for (const auto& [name, description] : *header.As<JsonObject>()) {
    if (name == kMetadata) continue;
    absl::StatusOr<Entry> entry = ParseEntry(description, data);
    const absl::Status status = entry.ok() ? Unload(name, metadata, *entry) : entry.status();
    if (!status.ok()) return Annotate(status, absl::StrCat("tensor '", name, "'"));
    entries_[name] = *std::move(entry);
  }
  return CheckRanges(data);
}

// No holes, no overlaps, nothing behind: what the format demands, and what keeps every read inside
// the file.
absl::Status SafetensorsFile::CheckRanges(int64_t data) const {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // begin and length
  for (const auto& [name, entry] : entries_) ranges.emplace_back(entry.begin, entry.bytes);
  std::sort(ranges.begin(), ranges.end());
  int64_t end = data;
  for (const auto& [begin, bytes] : ranges) {
    if (begin != end) return absl::InvalidArgumentError("its tensors overlap or leave holes");
    const std::optional<int64_t> next = CheckedAdd(begin, bytes);
    if (!next) return absl::InvalidArgumentError("its tensors reach beyond the end of the file");
    end = *next;
  }
  if (end != file_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("its tensors take ", end - data, " bytes, but ",
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

bool IsSafetensorsType(DType dtype) {
  return !CodeOf(dtype).empty() || CarrierOf(dtype) != DType::kInvalid;
}

absl::Status WriteSafetensors(OutputFile& file, const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors) {
  JsonObject header, metadata;
  std::vector<absl::string_view> pieces(2);  // the header comes here
  uint64_t end = 0;
  for (const auto* entry : InFileOrder(tensors)) {
    const auto& [name, tensor] = *entry;
    if (!IsSafetensorsType(tensor.dtype())) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": safetensors files cannot hold '",
                                                     name,
                                                     "', whose elements are of "
                                                     "type ",
                                                     DTypeName(tensor.dtype())));
    }
    if (header.contains(name) || name == kMetadata)
      return absl::InvalidArgumentError(absl::StrCat(path, ": the name '", name, "' is taken"));
    if (CarrierOf(tensor.dtype()) != DType::kInvalid)
      metadata[absl::StrCat(kCarriedEntry, name)] = {std::string(DTypeName(tensor.dtype()))};
    pieces.push_back(ElementBytes(tensor));
    const uint64_t begin = end;
    end += pieces.back().size();
    header[name] = Description(tensor.dtype(), tensor.shape(), begin, end);
  }
  if (!metadata.empty()) header[kMetadata] = {std::move(metadata)};
  absl::StatusOr<std::string> text = PrintJson({std::move(header)}, "a tensor's name");
  if (!text.ok()) return Annotate(text.status(), path);
  text->append((8 - text->size() % 8) % 8, ' ');  // elements begin aligned
  const uint64_t length = text->size();
  if (length > static_cast<uint64_t>(kMaxJsonBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the names of ", tensors.size(), " tensors do not fit into a header"));
  }
  pieces[0] = absl::string_view(reinterpret_cast<const char*>(&length), 8);
  pieces[1] = *text;
  for (const absl::string_view piece : pieces) GYRE_RETURN_IF_ERROR(file.Write(piece));
  return absl::OkStatus();
}

absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors) {
  GYRE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Replacing(path));
  GYRE_RETURN_IF_ERROR(WriteSafetensors(file, path, tensors));
  return file.Commit();
}

}  // namespace gyre

#include "bundle/index.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "bundle/table.h"
#include "bundle/wire.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

// Field numbers of TensorFlow's tensor_bundle.proto, tensor_shape.proto and tensor_slice.proto.
enum HeaderField { kNumShards = 1, kEndianness = 2, kVersion = 3 };
enum VersionField { kProducer = 1, kMinConsumer = 2 };
enum EntryField {
  kDtype = 1,
  kShape = 2,
  kShardId = 3,
  kOffset = 4,
  kSize = 5,
  kCrc32c = 6,
  kSlices = 7
};
enum ShapeField { kDim = 2, kUnknownRank = 3 };
enum DimField { kDimSize = 1 };
enum SliceField { kExtent = 1 };
enum ExtentField { kStart = 1, kLength = 2 };

constexpr uint64_t kBundleVersion = 1;  // what Gyre reads and writes

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

// Calls `take(field)` for each field of a message.
template <typename F>
absl::Status ForEachField(absl::string_view message, F take) {
  WireReader reader(message);
  for (WireField field;;) {
    GYRE_ASSIGN_OR_RETURN(const bool more, reader.Next(field));
    if (!more) return absl::OkStatus();
    GYRE_RETURN_IF_ERROR(take(field));
  }
}

// ---- Reading

absl::StatusOr<int64_t> ReadDim(absl::string_view message) {
  int64_t size = 0;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number == kDimSize) size = static_cast<int64_t>(field.value);
    return absl::OkStatus();
  }));
  return size;
}

absl::StatusOr<Shape> ReadShape(absl::string_view message) {
  std::vector<int64_t> dims;
  bool unknown = false;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number == kUnknownRank) unknown = field.value != 0;
    if (field.number != kDim) return absl::OkStatus();
    GYRE_ASSIGN_OR_RETURN(dims.emplace_back(), ReadDim(field.bytes));
    return absl::OkStatus();
  }));
  if (unknown) return Wrong("its shape is unknown");
  return Shape::Make(dims);
}

absl::StatusOr<TensorSlice> ReadSlice(absl::string_view message) {
  TensorSlice slice;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number != kExtent) return absl::OkStatus();
    TensorSlice::Extent& extent = slice.extents.emplace_back();
    return ForEachField(field.bytes, [&](const WireField& part) {
      if (part.number == kStart) extent.start = static_cast<int64_t>(part.value);
      if (part.number == kLength) extent.length = static_cast<int64_t>(part.value);
      return absl::OkStatus();
    });
  }));
  return slice;
}

absl::StatusOr<BundleEntry> ReadEntry(absl::string_view message) {
  BundleEntry entry;
  uint64_t shard = 0, offset = 0, size = 0;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) -> absl::Status {
    if (field.number == kDtype && field.value <= INT32_MAX)
      entry.wire_dtype = static_cast<int>(field.value);
    if (field.number == kShardId) shard = field.value;
    if (field.number == kOffset) offset = field.value;
    if (field.number == kSize) size = field.value;
    if (field.number == kCrc32c) entry.masked_crc = static_cast<uint32_t>(field.value);
    if (field.number == kShape) {
      GYRE_ASSIGN_OR_RETURN(entry.shape, ReadShape(field.bytes));
    } else if (field.number == kSlices) {
      GYRE_ASSIGN_OR_RETURN(entry.slices.emplace_back(), ReadSlice(field.bytes));
    }
    return absl::OkStatus();
  }));
  if (shard > INT32_MAX || offset > INT64_MAX || size > INT64_MAX - offset)
    return Wrong("the place of its data is malformed");
  entry.dtype = DTypeFromWire(entry.wire_dtype);
  entry.shard = static_cast<int32_t>(shard);
  entry.offset = static_cast<int64_t>(offset);
  entry.size = static_cast<int64_t>(size);
  return entry;
}

absl::Status CheckEntry(const BundleEntry& entry, int32_t num_shards) {
  if (!entry.slices.empty()) {
    for (const TensorSlice& slice : entry.slices)
      GYRE_RETURN_IF_ERROR(slice.Resolve(entry.shape).status());
    return absl::OkStatus();
  }
  if (entry.shard >= num_shards) {
    return Wrong(absl::StrCat("it should be in data file ", entry.shard, " of ", num_shards));
  }
  if (!IsTrivial(entry.dtype)) return absl::OkStatus();
  const std::optional<int64_t> bytes =
      CheckedMul(entry.shape.num_elements(), static_cast<int64_t>(DTypeSize(entry.dtype)));
  if (bytes == entry.size) return absl::OkStatus();
  return Wrong(absl::StrCat(DTypeName(entry.dtype), entry.shape.ToString(), " does not take ",
                            entry.size, " bytes"));
}

absl::Status CheckVersion(absl::string_view message) {
  uint64_t producer = 0, min_consumer = 0;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number == kProducer) producer = field.value;
    if (field.number == kMinConsumer) min_consumer = field.value;
    return absl::OkStatus();
  }));
  if (min_consumer <= kBundleVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("it is of version ", producer,
                                               " and needs a reader of version ", min_consumer,
                                               "; this one reads version ", kBundleVersion));
}

// The number of data files.
absl::StatusOr<int32_t> ReadHeader(absl::string_view message) {
  uint64_t shards = 0, endianness = 0;
  GYRE_RETURN_IF_ERROR(ForEachField(message, [&](const WireField& field) {
    if (field.number == kNumShards) shards = field.value;
    if (field.number == kEndianness) endianness = field.value;
    return field.number == kVersion ? CheckVersion(field.bytes) : absl::OkStatus();
  }));
  if (shards > INT32_MAX) return Wrong(absl::StrCat("it counts ", shards, " data files"));
  if (endianness == 0) return static_cast<int32_t>(shards);
  return absl::UnimplementedError("its numbers are big-endian, which Gyre does not read");
}

// ---- Writing

std::string WriteEntry(const BundleEntry& entry) {
  std::string shape;
  for (const int64_t dim : entry.shape.dims()) {
    std::string size;
    PutNumberField(kDimSize, static_cast<uint64_t>(dim), size);
    PutBytesField(kDim, size, shape);
  }
  std::string message;
  PutNumberField(kDtype, static_cast<uint64_t>(entry.wire_dtype), message);
  PutBytesField(kShape, shape, message);
  PutNumberField(kShardId, static_cast<uint64_t>(entry.shard), message);
  PutNumberField(kOffset, static_cast<uint64_t>(entry.offset), message);
  PutNumberField(kSize, static_cast<uint64_t>(entry.size), message);
  PutFixed32Field(kCrc32c, entry.masked_crc, message);
  for (const TensorSlice& slice : entry.slices) {
    std::string extents;
    for (const TensorSlice::Extent& e : slice.extents) {
      std::string extent;
      PutNumberField(kStart, static_cast<uint64_t>(e.start), extent);
      // In a oneof: there even when it is zero.
      if (e.length == 0) extent.append({static_cast<char>(kLength << 3), '\0'});
      if (e.length > 0) PutNumberField(kLength, static_cast<uint64_t>(e.length), extent);
      PutBytesField(kExtent, extent, extents);
    }
    PutBytesField(kSlices, extents, message);
  }
  return message;
}

std::string WriteHeader(int32_t num_shards) {
  std::string version, message;
  PutNumberField(kProducer, kBundleVersion, version);
  PutNumberField(kNumShards, static_cast<uint64_t>(num_shards), message);
  PutBytesField(kVersion, version, message);
  return message;
}

}  // namespace

std::string IndexFile(absl::string_view prefix) { return absl::StrCat(prefix, ".index"); }

std::string DataFile(absl::string_view prefix, int32_t shard, int32_t num_shards) {
  return absl::StrCat(prefix, ".data-", absl::Dec(shard, absl::kZeroPad5), "-of-",
                      absl::Dec(num_shards, absl::kZeroPad5));
}

absl::StatusOr<BundleIndex> ParseBundleIndex(absl::string_view bytes) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<TableEntry> table, ReadTable(bytes));
  if (table.empty() || !table[0].first.empty())
    return Wrong("it is a table, but not of tensors: its header is missing");
  BundleIndex index;
  absl::StatusOr<int32_t> shards = ReadHeader(table[0].second);
  if (!shards.ok()) return Annotate(shards.status(), "its header");
  index.num_shards = *shards;
  for (size_t i = 1; i < table.size(); ++i) {
    const auto& [key, value] = table[i];
    absl::StatusOr<BundleEntry> entry = ReadEntry(value);
    absl::Status status = entry.status();
    if (entry.ok()) status = CheckEntry(*entry, index.num_shards);
    if (!status.ok()) return Annotate(status, absl::StrCat("'", absl::CHexEscape(key), "'"));
    index.entries.emplace_hint(index.entries.end(), key, *std::move(entry));
  }
  return index;
}

absl::StatusOr<BundleIndex> ReadBundleIndex(const std::string& prefix) {
  GYRE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(IndexFile(prefix)));
  absl::StatusOr<BundleIndex> index = ParseBundleIndex(bytes);
  if (!index.ok()) return Annotate(index.status(), IndexFile(prefix));
  index->crc32c = Crc32c(bytes.data(), bytes.size());
  return index;
}

absl::Status WriteBundleIndex(const std::string& prefix, const BundleIndex& index) {
  std::vector<TableEntry> table = {{"", WriteHeader(index.num_shards)}};
  for (const auto& [key, entry] : index.entries) table.emplace_back(key, WriteEntry(entry));
  GYRE_RETURN_IF_ERROR(SyncFolder(FolderOf(prefix)));
  return WriteFile(IndexFile(prefix), {WriteTable(table)});
}

}  // namespace gyre

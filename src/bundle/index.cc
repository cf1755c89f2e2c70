#include "bundle/index.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "bundle/table.h"
#include "google/protobuf/arena.h"
#include "tensor/io/file.h"
#include "wire/bundle.pb.h"
#include "wire/parse.h"

namespace gyre {
namespace {

constexpr int32_t kBundleVersion = 1;  // what Gyre reads and writes

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

using google::protobuf::Arena;

absl::Status Malformed() { return Wrong("a message is malformed"); }

// ---- Reading

absl::StatusOr<Shape> ReadShape(const wire::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return Wrong("its shape is unknown");
  std::vector<int64_t> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return Shape::Make(dims);
}

TensorSlice ReadSlice(const wire::TensorSliceProto& proto) {
  TensorSlice slice;
  for (const auto& part : proto.extent()) {
    TensorSlice::Extent& extent = slice.extents.emplace_back();
    extent.start = part.start();
    if (part.has_length()) extent.length = part.length();
  }
  return slice;
}

absl::StatusOr<BundleEntry> ReadEntry(absl::string_view bytes) {
  Arena arena;
  const auto* parsed = ParseMessage<wire::BundleEntryProto>(bytes, &arena);
  if (parsed == nullptr) return Malformed();
  const wire::BundleEntryProto& proto = *parsed;
  if (proto.shard_id() < 0 || proto.offset() < 0 || proto.size() < 0 ||
      proto.size() > INT64_MAX - proto.offset()) {
    return Wrong("the place of its data is malformed");
  }
  BundleEntry entry;
  entry.wire_dtype = proto.dtype();
  entry.dtype = DTypeFromWire(entry.wire_dtype);
  GYRE_ASSIGN_OR_RETURN(entry.shape, ReadShape(proto.shape()));
  entry.shard = proto.shard_id();
  entry.offset = proto.offset();
  entry.size = proto.size();
  entry.masked_crc = proto.crc32c();
  for (const auto& slice : proto.slices()) entry.slices.push_back(ReadSlice(slice));
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

absl::Status CheckVersion(const wire::VersionDef& version) {
  if (version.min_consumer() <= kBundleVersion) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("it is of version ", version.producer(), " and needs a reader of version ",
                   version.min_consumer(), "; this one reads version ", kBundleVersion));
}

// The number of data files.
absl::StatusOr<int32_t> ReadHeader(absl::string_view bytes) {
  Arena arena;
  const auto* parsed = ParseMessage<wire::BundleHeaderProto>(bytes, &arena);
  if (parsed == nullptr) return Malformed();
  const wire::BundleHeaderProto& header = *parsed;
  GYRE_RETURN_IF_ERROR(CheckVersion(header.version()));
  if (header.num_shards() < 0)
    return Wrong(absl::StrCat("it counts ", header.num_shards(), " data files"));
  if (header.endianness() == wire::BundleHeaderProto::LITTLE) return header.num_shards();
  return absl::UnimplementedError("its numbers are big-endian, which Gyre does not read");
}

// ---- Writing

std::string WriteEntry(const BundleEntry& entry) {
  Arena arena;
  auto& proto = *Arena::CreateMessage<wire::BundleEntryProto>(&arena);
  proto.set_dtype(static_cast<wire::DataType>(entry.wire_dtype));
  wire::TensorShapeProto& shape = *proto.mutable_shape();
  for (const int64_t dim : entry.shape.dims()) shape.add_dim()->set_size(dim);
  proto.set_shard_id(entry.shard);
  proto.set_offset(entry.offset);
  proto.set_size(entry.size);
  proto.set_crc32c(entry.masked_crc);
  for (const TensorSlice& slice : entry.slices) {
    wire::TensorSliceProto& extents = *proto.add_slices();
    for (const TensorSlice::Extent& extent : slice.extents) {
      wire::TensorSliceProto::Extent& part = *extents.add_extent();
      part.set_start(extent.start);
      if (extent.length >= 0) part.set_length(extent.length);
    }
  }
  return proto.SerializeAsString();
}

std::string WriteHeader(int32_t num_shards) {
  Arena arena;
  auto& header = *Arena::CreateMessage<wire::BundleHeaderProto>(&arena);
  header.set_num_shards(num_shards);
  header.mutable_version()->set_producer(kBundleVersion);
  return header.SerializeAsString();
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

#include "bundle/reader.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "bundle/masked_crc.h"
#include "bundle/region.h"
#include "bundle/stored_bytes.h"
#include "tensor/io/bytes.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

std::string Quoted(absl::string_view name) {
  return absl::StrCat("tensor '", absl::CHexEscape(name), "'");
}

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::Status Damaged(const InputFile& file) {
  return Wrong(absl::StrCat(file.path(), ": it is damaged: its checksum is another"));
}

absl::StatusOr<Tensor> ReadNumbers(const InputFile& file, const BundleEntry& entry,
                                   Tensor::Alloc alloc) {
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(entry.dtype, entry.shape, alloc));
  GYRE_RETURN_IF_ERROR(file.ReadAt(entry.offset, tensor.mutable_raw_data(), entry.size));
  if (MaskedCrc(ElementBytes(tensor)) != entry.masked_crc) return Damaged(file);
  NormalizeBools(tensor);
  return tensor;
}

absl::StatusOr<Tensor> ReadStrings(const InputFile& file, const BundleEntry& entry,
                                   Tensor::Alloc alloc) {
  // A string takes a byte for its length at least.
  if (entry.shape.num_elements() > entry.size) {
    return Wrong(
        absl::StrCat(entry.size, " bytes cannot hold ", entry.shape.ToString(), " strings"));
  }
  // The text itself, twice: as it is read, and in the tensor.
  if (alloc.budget != nullptr && alloc.budget->limit() - alloc.budget->used() < entry.size) {
    return absl::ResourceExhaustedError(
        absl::StrCat(entry.size, " bytes of text do not fit into the memory budget"));
  }
  GYRE_ASSIGN_OR_RETURN(Tensor bytes,
                        Tensor::Make(DType::kUint8, Shape::Vector(entry.size), alloc));
  GYRE_RETURN_IF_ERROR(file.ReadAt(entry.offset, bytes.mutable_raw_data(), entry.size));
  GYRE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(DType::kString, entry.shape, alloc));
  const absl::StatusOr<uint32_t> crc = DecodeStrings(ElementBytes(bytes), tensor);
  if (!crc.ok()) return Annotate(crc.status(), file.path());
  if (*crc != entry.masked_crc) return Damaged(file);
  return tensor;
}

Dims Starts(const TensorSlice& slice) {
  Dims starts;
  for (const TensorSlice::Extent& e : slice.extents) starts.push_back(e.start);
  return starts;
}

}  // namespace

absl::StatusOr<BundleReader> BundleReader::Open(const std::string& prefix,
                                                const std::string& within) {
  if (!within.empty()) GYRE_RETURN_IF_ERROR(CheckWithin(IndexFile(prefix), within));
  GYRE_ASSIGN_OR_RETURN(BundleIndex index, ReadBundleIndex(prefix));
  return BundleReader(prefix, within, std::move(index));
}

bool BundleReader::WasReplaced() const {
  const absl::StatusOr<BundleIndex> now = ReadBundleIndex(prefix_);
  return now.ok() && now->crc32c != index_.crc32c;
}

absl::Status ReadBundle(const std::string& prefix, const std::string& within,
                        absl::FunctionRef<absl::Status(const BundleReader&)> read) {
  for (;;) {
    GYRE_ASSIGN_OR_RETURN(const BundleReader bundle, BundleReader::Open(prefix, within));
    const absl::Status status = read(bundle);
    if (status.ok() || !bundle.WasReplaced()) return status;
  }
}

std::vector<std::string> BundleReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, entry] : index_.entries) {
    if (!IsSliceKey(key)) names.push_back(key);
  }
  return names;
}

const BundleEntry* BundleReader::Find(absl::string_view name) const {
  const auto it = index_.entries.find(std::string(name));
  return it == index_.entries.end() || IsSliceKey(name) ? nullptr : &it->second;
}

absl::StatusOr<Tensor> BundleReader::Read(absl::string_view name, Tensor::Alloc alloc) const {
  const BundleEntry* entry = Find(name);
  if (entry == nullptr) {
    return absl::NotFoundError(absl::StrCat(IndexFile(prefix_), " has no ", Quoted(name)));
  }
  return ReadNamed(name, *entry, alloc);
}

absl::StatusOr<Tensor> BundleReader::ReadNamed(absl::string_view name, const BundleEntry& entry,
                                               Tensor::Alloc alloc) const {
  absl::StatusOr<Tensor> tensor =
      entry.slices.empty() ? ReadStored(entry, alloc) : Assemble(name, entry, alloc);
  if (tensor.ok()) return tensor;
  const absl::Status status =
      Annotate(tensor.status(), absl::StrCat(IndexFile(prefix_), ": ", Quoted(name)));
  if (!WasReplaced()) return status;
  return absl::UnavailableError(absl::StrCat(
      "the checkpoint ", prefix_, " was replaced while it was being read; open it again (",
      status.message(), ")"));
}

absl::StatusOr<Tensor> BundleReader::ReadStored(const BundleEntry& entry,
                                                Tensor::Alloc alloc) const {
  if (!IsTrivial(entry.dtype) && entry.dtype != DType::kString) {
    return absl::UnimplementedError(absl::StrCat("values of type ",
                                                 entry.dtype == DType::kInvalid
                                                     ? absl::StrCat("number ", entry.wire_dtype)
                                                     : std::string(DTypeName(entry.dtype)),
                                                 " are not read"));
  }
  const std::string path = DataFile(prefix_, entry.shard, index_.num_shards);
  if (!within_.empty()) GYRE_RETURN_IF_ERROR(CheckWithin(path, within_));
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (entry.offset + entry.size > file.size()) {
    return Wrong(absl::StrCat(path, " is cut short: it has ", file.size(), " bytes, ", entry.size,
                              " are wanted at ", entry.offset));
  }
  return entry.dtype == DType::kString ? ReadStrings(file, entry, alloc)
                                       : ReadNumbers(file, entry, alloc);
}

absl::StatusOr<const BundleEntry*> BundleReader::FindSlice(absl::string_view name,
                                                           const BundleEntry& whole,
                                                           const TensorSlice& slice) const {
  GYRE_ASSIGN_OR_RETURN(const TensorSlice resolved, slice.Resolve(whole.shape));
  const auto it = index_.entries.find(SliceKey(name, slice));
  if (it == index_.entries.end())
    return Wrong(absl::StrCat("its slice ", slice.ToString(), " is missing"));
  const BundleEntry& entry = it->second;
  if (entry.slices.empty() && entry.dtype == whole.dtype && entry.shape == resolved.shape())
    return &entry;
  return Wrong(absl::StrCat("its slice ", slice.ToString(), " is ", DTypeName(entry.dtype),
                            entry.shape.ToString(), " in the file"));
}

absl::StatusOr<Tensor> BundleReader::Assemble(absl::string_view name, const BundleEntry& entry,
                                              Tensor::Alloc alloc) const {
  // Before anything is allocated: the slices come to the whole. (Those that overlap would leave
  // zeros elsewhere.)
  int64_t elements = 0;
  for (const TensorSlice& slice : entry.slices) {
    GYRE_ASSIGN_OR_RETURN(const BundleEntry* part, FindSlice(name, entry, slice));
    const std::optional<int64_t> sum = CheckedAdd(elements, part->shape.num_elements());
    elements = sum.value_or(-1);
    if (elements < 0 || elements > entry.shape.num_elements()) break;
  }
  if (elements != entry.shape.num_elements()) {
    return Wrong(absl::StrCat("its slices do not make up the whole of ", entry.shape.ToString()));
  }
  Tensor tensor;
  for (const TensorSlice& slice : entry.slices) {
    GYRE_ASSIGN_OR_RETURN(const BundleEntry* part, FindSlice(name, entry, slice));
    GYRE_ASSIGN_OR_RETURN(const Tensor piece, ReadStored(*part, alloc));
    if (!tensor.has_value()) {
      GYRE_ASSIGN_OR_RETURN(tensor, Tensor::Zeros(entry.dtype, entry.shape, alloc));
    }
    GYRE_ASSIGN_OR_RETURN(const TensorSlice where, slice.Resolve(entry.shape));
    CopyRegion(piece, Dims(entry.shape.rank(), 0), tensor, Starts(where), piece.shape());
  }
  return tensor;
}

absl::StatusOr<Tensor> BundleReader::ReadSlice(absl::string_view name, const SliceSpec& spec,
                                               Tensor::Alloc alloc) const {
  const BundleEntry* entry = Find(name);
  if (entry == nullptr) return Read(name, alloc);
  if (entry->shape != spec.full_shape) {
    return Wrong(absl::StrCat(IndexFile(prefix_), ": ", Quoted(name), " is ",
                              entry->shape.ToString(), ", but a slice of ",
                              spec.full_shape.ToString(), " is asked for"));
  }
  GYRE_ASSIGN_OR_RETURN(const TensorSlice wanted, spec.slice.Resolve(entry->shape));
  for (const TensorSlice& slice : entry->slices) {
    GYRE_ASSIGN_OR_RETURN(const TensorSlice stored, slice.Resolve(entry->shape));
    if (stored != wanted) continue;
    absl::StatusOr<const BundleEntry*> part = FindSlice(name, *entry, slice);
    if (part.ok()) return ReadNamed(name, **part, alloc);
  }
  GYRE_ASSIGN_OR_RETURN(const Tensor whole, ReadNamed(name, *entry, alloc));
  GYRE_ASSIGN_OR_RETURN(Tensor result, Tensor::Make(whole.dtype(), wanted.shape(), alloc));
  CopyRegion(whole, Starts(wanted), result, Dims(whole.rank(), 0), result.shape());
  return result;
}

}  // namespace gyre

#include "bundle/writer.h"

#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/data_files.h"
#include "bundle/masked_crc.h"
#include "bundle/stored_bytes.h"
#include "tensor/io/bytes.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace {

absl::Status Refuse(const BundleItem& item, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor '", absl::CHexEscape(item.name), "' cannot be saved: ", why));
}

// Puts tensors one after the other. Pieces refer to the items' elements, and to what it holds
// itself.
class DataFileWriter {
 public:
  // Where the value lies, and its checksum.
  BundleEntry Add(const Tensor& value) {
    BundleEntry entry;
    entry.dtype = value.dtype();
    entry.wire_dtype = static_cast<int>(value.dtype());
    entry.shape = value.shape();
    entry.offset = size_;
    if (value.dtype() == DType::kString) {
      auto text = std::make_unique<std::string>();
      entry.masked_crc = EncodeStrings(value, *text);
      pieces_.emplace_back(*text);
      texts_.push_back(std::move(text));
    } else {
      pieces_.push_back(ElementBytes(value));
      entry.masked_crc = MaskedCrc(pieces_.back());
    }
    entry.size = static_cast<int64_t>(pieces_.back().size());
    size_ += entry.size;
    return entry;
  }

  absl::Status Write(OutputFile& file) const {
    for (const absl::string_view piece : pieces_) GYRE_RETURN_IF_ERROR(file.Write(piece));
    return file.Commit();
  }

 private:
  std::vector<absl::string_view> pieces_;
  std::vector<std::unique_ptr<std::string>> texts_;
  int64_t size_ = 0;
};

absl::Status CheckItem(const BundleItem& item) {
  if (item.name.empty() || item.name.find('\0') != std::string::npos)
    return Refuse(item, "its name is empty, or has a zero byte");
  if (!item.value.has_value()) return Refuse(item, "it has no value");
  const DType dtype = item.value.dtype();
  if (!IsTrivial(dtype) && dtype != DType::kString)
    return Refuse(item, absl::StrCat("files hold no values of type ", DTypeName(dtype)));
  if (!item.slice) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(const TensorSlice slice, item.slice->slice.Resolve(item.slice->full_shape));
  if (slice.shape() == item.value.shape()) return absl::OkStatus();
  return Refuse(item, absl::StrCat("its slice ", slice.ToString(), " is not of the value's shape ",
                                   item.value.shape().ToString()));
}

// Adds the slice of an item to the entry of the whole tensor.
absl::Status AddToWhole(const BundleItem& item, BundleIndex& index) {
  BundleEntry& whole = index.entries[item.name];
  if (whole.slices.empty()) {
    whole.dtype = item.value.dtype();
    whole.wire_dtype = static_cast<int>(whole.dtype);
    whole.shape = item.slice->full_shape;
  } else if (whole.dtype != item.value.dtype() || whole.shape != item.slice->full_shape) {
    return Refuse(item, "its slices are of different tensors");
  }
  whole.slices.push_back(item.slice->slice);
  return absl::OkStatus();
}

absl::Status WriteFiles(const std::string& prefix, const DataFileWriter& data, BundleIndex& index) {
  std::optional<OutputFile> first;
  const auto make_first = [&](const std::string& path) -> absl::Status {
    GYRE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::New(path));
    first.emplace(std::move(file));
    return absl::OkStatus();
  };
  GYRE_ASSIGN_OR_RETURN(index.num_shards, TakeNumberOfDataFiles(prefix, 1, make_first));
  GYRE_RETURN_IF_ERROR(data.Write(*first));
  return WriteBundleIndex(prefix, index);
}

}  // namespace

absl::Status WriteBundle(const std::string& prefix, absl::Span<const BundleItem> items) {
  BundleIndex index;
  DataFileWriter data;
  for (const BundleItem& item : items) {
    GYRE_RETURN_IF_ERROR(CheckItem(item));
    const auto whole = index.entries.find(item.name);
    const bool is_further_slice =
        whole != index.entries.end() && item.slice && !whole->second.slices.empty();
    if (whole != index.entries.end() && !is_further_slice) return Refuse(item, "it is given twice");
    if (item.slice) GYRE_RETURN_IF_ERROR(AddToWhole(item, index));
    const std::string key = item.slice ? SliceKey(item.name, item.slice->slice) : item.name;
    if (!index.entries.emplace(key, data.Add(item.value)).second)
      return Refuse(item, "a slice is given twice");
  }
  const absl::Status status = WriteFiles(prefix, data, index);
  // Those of the bundle before; or, after an error, what was written.
  RemoveLeftDataFiles(prefix);
  return status;
}

}  // namespace gyre

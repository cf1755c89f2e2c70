// The index of a tensor bundle, PREFIX.index: what TensorFlow's checkpoints hold, and where in
// their data files PREFIX.data-NNNNN-of-NNNNN it lies. Stateless; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bundle/slice.h"
#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"

namespace gyre {

// One tensor, or one slice of a tensor.
struct BundleEntry {
  DType dtype = DType::kInvalid;  // kInvalid: one that Gyre does not know
  int wire_dtype = 0;             // the number in the file
  Shape shape;
  int32_t shard = 0;  // which data file
  int64_t offset = 0;
  int64_t size = 0;  // in bytes
  uint32_t masked_crc = 0;
  // Not empty: the entry holds no data, its slices do, each in an entry of its own (SliceKey).
  std::vector<TensorSlice> slices;
};

struct BundleIndex {
  int32_t num_shards = 1;
  // By key: names of tensors, and keys of slices.
  std::map<std::string, BundleEntry> entries;
  // Of the file that it was read from; tensors' checksums are in there, so one index is one bundle.
  uint32_t crc32c = 0;
};

std::string IndexFile(absl::string_view prefix);
std::string DataFile(absl::string_view prefix, int32_t shard, int32_t num_shards);

// An index from its bytes; errors say what is wrong with which key.
absl::StatusOr<BundleIndex> ParseBundleIndex(absl::string_view bytes);

// The index of the bundle at `prefix`. NOT_FOUND when there is none; INVALID_ARGUMENT, naming the
// file and the key, for one that is not sound. Sizes fit dtypes and shapes then; whether the data
// files hold them shows when they are read. UNIMPLEMENTED: compressed, or big-endian.
absl::StatusOr<BundleIndex> ReadBundleIndex(const std::string& prefix);

// Makes or replaces the index in one step, once the names of the data files are on disk.
absl::Status WriteBundleIndex(const std::string& prefix, const BundleIndex& index);

}  // namespace gyre

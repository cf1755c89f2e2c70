// Writing TensorFlow checkpoints: PREFIX.index and its data files. Stateless; any thread. Of two
// that write to one prefix at the same time, one wins.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "bundle/index.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct BundleItem {
  std::string name;
  Tensor value;
  // The value is this part of a tensor; others of the same name hold the rest.
  std::optional<SliceSpec> slice = {};
};

// Makes or replaces the bundle in one step, its index's (data_files.h): a data file of a name that
// the old index does not have, then the index, then the old data files go. Whatever stops it, the
// bundle is the old one or the new one; what it left is removed by the next.
// INVALID_ARGUMENT for a name given twice or one that a bundle cannot hold, a slice at odds with
// its value or with other slices, or a value of a type that files do not hold (resource, variant).
absl::Status WriteBundle(const std::string& prefix, absl::Span<const BundleItem> items);

struct MergeOptions {
  // The folders of the parts, where nothing is left in them, are removed.
  bool delete_old_folders = true;
  // Parts that are not there are passed over.
  bool allow_missing = false;
};

// Makes one bundle of several, in one step as WriteBundle: their data files get further names, or
// are copied where the file system cannot do that, their indices are joined, and then they are
// removed. What the writers of a sharded checkpoint leave is put together so. After an error the
// parts and the old bundle are what they were.
// INVALID_ARGUMENT when two parts hold the same tensor; errors of ReadBundleIndex otherwise.
absl::Status MergeBundles(absl::Span<const std::string> parts, const std::string& prefix,
                          const MergeOptions& options);

}  // namespace gyre

// BundleReader: the tensors of a TensorFlow checkpoint.
//
// Owns the index; opens data files when tensors are asked for, and keeps none open. Immutable: may
// be read from many threads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "bundle/index.h"
#include "gyre/core/tensor.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT BundleReader {
 public:
  // The bundle at `prefix`, as ReadBundleIndex. `within`, if not empty: a folder that all its files
  // must lie in, links followed; PERMISSION_DENIED otherwise.
  static absl::StatusOr<BundleReader> Open(const std::string& prefix,
                                           const std::string& within = "");

  const std::string& prefix() const { return prefix_; }
  // Whether there is another bundle at the prefix now. Its data files may be gone then.
  bool WasReplaced() const;
  // In order of name; slices are not listed.
  std::vector<std::string> Names() const;
  // Null when there is no tensor of this name.
  const BundleEntry* Find(absl::string_view name) const;

  // A whole tensor, put together if it is stored in slices. NOT_FOUND when there is none of this
  // name; INVALID_ARGUMENT, naming file and key, where what is there is damaged; UNIMPLEMENTED for
  // types without values (resource, variant). Nothing is allocated that the data files do not hold.
  absl::StatusOr<Tensor> Read(absl::string_view name, Tensor::Alloc alloc = {}) const;
  // A part of it, of which the caller says the whole shape, too.
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name, const SliceSpec& spec,
                                   Tensor::Alloc alloc = {}) const;

 private:
  BundleReader(std::string prefix, std::string within, BundleIndex index)
      : prefix_(std::move(prefix)), within_(std::move(within)), index_(std::move(index)) {}

  absl::StatusOr<Tensor> ReadNamed(absl::string_view name, const BundleEntry& entry,
                                   Tensor::Alloc alloc) const;
  absl::StatusOr<Tensor> ReadStored(const BundleEntry& entry, Tensor::Alloc alloc) const;
  absl::StatusOr<Tensor> Assemble(absl::string_view name, const BundleEntry& entry,
                                  Tensor::Alloc alloc) const;
  // The entry of one slice; an error when it is missing or does not fit.
  absl::StatusOr<const BundleEntry*> FindSlice(absl::string_view name, const BundleEntry& whole,
                                               const TensorSlice& slice) const;

  std::string prefix_;
  std::string within_;
  BundleIndex index_;
};

// Opens the bundle and calls `read` with it; again where `read` failed and the bundle was replaced
// meanwhile, so that what is read is one bundle, whole, also while others write to the prefix.
absl::Status ReadBundle(const std::string& prefix, const std::string& within,
                        absl::FunctionRef<absl::Status(const BundleReader&)> read);

}  // namespace gyre

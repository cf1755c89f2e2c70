// CheckpointSource: a checkpoint to read, with what vouches for it. Immutable; any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/internal_export.h"
#include "session/checkpoint_manifest.h"
#include "tensor/io/safetensors.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT CheckpointSource {
 public:
  // A .safetensors file, for which nothing vouches.
  static absl::StatusOr<CheckpointSource> OfFile(const std::string& path);

  const std::map<std::string, SafetensorsFile::Entry>& entries() const { return file_.entries(); }
  // NOT_FOUND when there is no such tensor; INVALID_ARGUMENT: it is not what was saved.
  absl::StatusOr<Tensor> Read(const std::string& name) const;

 private:
  friend absl::Status ReadCheckpointFolder(
      const std::string& folder, const std::function<absl::Status(CheckpointSource)>& read);

  CheckpointSource(SafetensorsFile file, std::optional<Manifest> manifest)
      : file_(std::move(file)), manifest_(std::move(manifest)) {}
  // The values that the manifest in a folder names.
  static absl::StatusOr<CheckpointSource> Named(const std::string& folder, Manifest manifest);

  SafetensorsFile file_;
  std::optional<Manifest> manifest_;
};

inline constexpr absl::string_view kManifestFile = "manifest.json";

std::string PathInFolder(const std::string& folder, absl::string_view file);
// Of the elements.
uint32_t ChecksumOf(const Tensor& tensor);
// NOT_FOUND: there is none in the folder.
absl::StatusOr<Manifest> ReadManifest(const std::string& folder);

// Has `read` read the checkpoint in a folder. A writer may replace what the manifest names at any
// moment, also by a file of the same name: an error counts only if the manifest is still the one
// that was read; else it begins anew.
GYRE_INTERNAL_EXPORT absl::Status ReadCheckpointFolder(
    const std::string& folder, const std::function<absl::Status(CheckpointSource)>& read);

}  // namespace gyre

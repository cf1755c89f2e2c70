#include "session/checkpoint_source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "tensor/io/bytes.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"

namespace gyre {
namespace {

// Whether the file holds what the manifest says.
absl::Status CheckAgainst(const Manifest& manifest, const SafetensorsFile& file) {
  const auto refuse = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), " is damaged, or not the file that was saved: ", what));
  };
  if (file.size() != manifest.bytes) {
    return refuse(absl::StrCat("it has ", file.size(), " bytes, not the ", manifest.bytes,
                               " of the manifest"));
  }
  const bool same = std::equal(
      file.entries().begin(), file.entries().end(), manifest.tensors.begin(),
      manifest.tensors.end(), [](const auto& there, const auto& promised) {
        return there.first == promised.first && there.second.dtype == promised.second.dtype &&
               there.second.shape == promised.second.shape;
      });
  return same ? absl::OkStatus() : refuse("its tensors are others than those of the manifest");
}

}  // namespace

std::string PathInFolder(const std::string& folder, absl::string_view file) {
  return (std::filesystem::path(folder) / std::string(file)).string();
}

uint32_t ChecksumOf(const Tensor& tensor) {
  const absl::string_view bytes = ElementBytes(tensor);
  return Crc32c(bytes.data(), bytes.size());
}

absl::StatusOr<Manifest> ReadManifest(const std::string& folder) {
  const std::string path = PathInFolder(folder, kManifestFile);
  GYRE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.size() > kMaxJsonBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", file.size(), " bytes: it is no manifest"));
  }
  std::string text(static_cast<size_t>(file.size()), '\0');
  GYRE_RETURN_IF_ERROR(file.ReadAt(0, text.data(), file.size()));
  absl::StatusOr<Manifest> manifest = ParseManifest(text);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  return manifest;
}

absl::StatusOr<CheckpointSource> CheckpointSource::OfFile(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path));
  return CheckpointSource(std::move(file), std::nullopt);
}

absl::StatusOr<CheckpointSource> CheckpointSource::Named(const std::string& folder,
                                                         Manifest manifest) {
  GYRE_ASSIGN_OR_RETURN(SafetensorsFile file,
                        SafetensorsFile::Open(PathInFolder(folder, manifest.file)));
  GYRE_RETURN_IF_ERROR(CheckAgainst(manifest, file));
  return CheckpointSource(std::move(file), std::move(manifest));
}

absl::StatusOr<Tensor> CheckpointSource::Read(const std::string& name) const {
  GYRE_ASSIGN_OR_RETURN(Tensor value, file_.Read(name));
  if (manifest_ && manifest_->tensors.at(name).crc32c != ChecksumOf(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_.path(), " is damaged: tensor '", name,
                     "' has another checksum than when it was saved"));
  }
  return value;
}

absl::Status ReadCheckpointFolder(const std::string& folder,
                                  const std::function<absl::Status(CheckpointSource)>& read) {
  absl::StatusOr<Manifest> manifest = ReadManifest(folder);
  for (;;) {
    if (absl::IsNotFound(manifest.status()))
      return Annotate(manifest.status(), absl::StrCat("no checkpoint in ", folder));
    GYRE_RETURN_IF_ERROR(manifest.status());
    absl::StatusOr<CheckpointSource> source = CheckpointSource::Named(folder, *manifest);
    const absl::Status done = source.ok() ? read(*std::move(source)) : source.status();
    if (done.ok()) return done;
    absl::StatusOr<Manifest> now = ReadManifest(folder);
    if (now.ok() && *now == *manifest) return done;
    manifest = std::move(now);
  }
}

}  // namespace gyre

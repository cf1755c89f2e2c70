#include <cerrno>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/data_files.h"
#include "bundle/writer.h"
#include "tensor/io/file.h"
#include "tensor/io/file_calls.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace {

struct Part {
  std::string prefix;
  BundleIndex index;
  int32_t first_shard = 0;  // of its data files, in the whole
};

absl::StatusOr<std::vector<Part>> ReadParts(absl::Span<const std::string> prefixes,
                                            const MergeOptions& options) {
  std::vector<Part> parts;
  int32_t num_shards = 0;
  for (const std::string& prefix : prefixes) {
    absl::StatusOr<BundleIndex> index = ReadBundleIndex(prefix);
    if (absl::IsNotFound(index.status()) && options.allow_missing) continue;
    GYRE_RETURN_IF_ERROR(index.status());
    if (__builtin_add_overflow(num_shards, index->num_shards, &num_shards)) {
      return absl::InvalidArgumentError(absl::StrCat(prefix, " has too many data files"));
    }
    parts.push_back({prefix, *std::move(index), 0});
    parts.back().first_shard = num_shards - parts.back().index.num_shards;
  }
  return parts;
}

absl::Status AddEntry(const Part& part, const std::string& key, BundleEntry entry,
                      BundleIndex& whole) {
  entry.shard += part.first_shard;
  const auto [it, is_new] = whole.entries.try_emplace(key, entry);
  if (is_new) return absl::OkStatus();
  BundleEntry& there = it->second;
  const bool same_tensor = !there.slices.empty() && !entry.slices.empty() &&
                           there.dtype == entry.dtype && there.shape == entry.shape;
  if (!same_tensor) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", absl::CHexEscape(key), "' of ",
                                                   part.prefix,
                                                   " is in another part of the checkpoint, too"));
  }
  there.slices.insert(there.slices.end(), entry.slices.begin(), entry.slices.end());
  return absl::OkStatus();
}

absl::StatusOr<BundleIndex> Join(const std::vector<Part>& parts) {
  BundleIndex whole;
  for (const Part& part : parts) {
    for (const auto& [key, entry] : part.index.entries)
      GYRE_RETURN_IF_ERROR(AddEntry(part, key, entry, whole));
  }
  return whole;
}

// The parts' data files, in the order in which they stand in the whole.
std::vector<std::string> DataFilesOf(const std::vector<Part>& parts) {
  std::vector<std::string> files;
  for (const Part& part : parts) {
    for (int32_t shard = 0; shard < part.index.num_shards; ++shard)
      files.push_back(DataFile(part.prefix, shard, part.index.num_shards));
  }
  return files;
}

absl::Status Copy(const std::string& from, const std::string& to) {
  GYRE_ASSIGN_OR_RETURN(OutputFile copy, OutputFile::New(to));
  GYRE_RETURN_IF_ERROR(CopyInto(from, copy));
  return copy.Commit();
}

// Makes `to` another name of `from`, or a copy. ALREADY_EXISTS: `to` is taken.
absl::Status LinkOrCopy(const std::string& from, const std::string& to) {
  if (file_calls::Link(from, to) == 0) return absl::OkStatus();
  if (errno == EEXIST) return absl::AlreadyExistsError(absl::StrCat("there is a file ", to));
  if (errno == ENOENT || errno == EIO) return SystemError(errno, "cannot read", from);
  return Copy(from, to);
}

// Gives the parts' data files their names in the whole, and writes its index.
absl::Status WriteWhole(const std::vector<std::string>& files, const std::string& prefix,
                        BundleIndex& whole) {
  std::unique_ptr<FileLock> lock;
  const auto make_first = [&](const std::string& path) -> absl::Status {
    GYRE_RETURN_IF_ERROR(LinkOrCopy(files[0], path));
    lock = FileLock::TryTake(path);
    if (lock == nullptr) return absl::AlreadyExistsError(absl::StrCat(path, " is held"));
    return absl::OkStatus();
  };
  const auto at_least = static_cast<int32_t>(files.size());
  GYRE_ASSIGN_OR_RETURN(whole.num_shards, TakeNumberOfDataFiles(prefix, at_least, make_first));
  for (int32_t shard = 1; shard < at_least; ++shard) {
    GYRE_RETURN_IF_ERROR(
        LinkOrCopy(files[static_cast<size_t>(shard)], DataFile(prefix, shard, whole.num_shards)));
  }
  return WriteBundleIndex(prefix, whole);
}

// Removes the part and, if asked to, the folder that it stood in, where it is empty now. What
// cannot be removed does no harm.
void RemovePart(const Part& part, const std::string& prefix, const MergeOptions& options) {
  if (part.prefix == prefix) return;
  static_cast<void>(RemoveFile(IndexFile(part.prefix)));
  for (int32_t shard = 0; shard < part.index.num_shards; ++shard)
    static_cast<void>(RemoveFile(DataFile(part.prefix, shard, part.index.num_shards)));
  const std::string folder = FolderOf(part.prefix);
  if (options.delete_old_folders && folder != "." && folder != FolderOf(prefix))
    file_calls::RemoveFolder(folder);
}

}  // namespace

absl::Status MergeBundles(absl::Span<const std::string> parts, const std::string& prefix,
                          const MergeOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Part> read, ReadParts(parts, options));
  if (read.empty()) {
    return absl::NotFoundError(absl::StrCat("none of the ", parts.size(),
                                            " parts of the checkpoint ", prefix, " is there"));
  }
  GYRE_ASSIGN_OR_RETURN(BundleIndex whole, Join(read));
  const std::vector<std::string> files = DataFilesOf(read);
  if (files.empty())
    return absl::InvalidArgumentError(absl::StrCat(read[0].prefix, " has no data files"));
  const absl::Status status = WriteWhole(files, prefix, whole);
  if (status.ok()) {
    for (const Part& part : read) RemovePart(part, prefix, options);
  }
  // Those of the bundle before; or, after an error, those of the whole.
  RemoveLeftDataFiles(prefix);
  return status;
}

}  // namespace gyre

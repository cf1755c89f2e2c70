#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "bundle/writer.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

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

absl::Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return absl::OkStatus();
  const std::string message =
      absl::StrCat("cannot rename ", from, " to ", to, ": ", error.message());
  return error == std::errc::no_such_file_or_directory ? absl::NotFoundError(message)
                                                       : absl::UnavailableError(message);
}

// Removes the part's index and, if asked to, the folder that it stood in, where it is empty now.
// What cannot be removed does no harm.
void RemoveRemains(const Part& part, const std::string& prefix, const MergeOptions& options) {
  std::error_code ignored;
  if (part.prefix == prefix) return;
  fs::remove(IndexFile(part.prefix), ignored);
  const fs::path folder = fs::path(part.prefix).parent_path();
  if (options.delete_old_folders && !folder.empty() && folder != fs::path(prefix).parent_path() &&
      fs::is_directory(folder, ignored) && fs::is_empty(folder, ignored)) {
    fs::remove(folder, ignored);
  }
}

}  // namespace

absl::Status MergeBundles(absl::Span<const std::string> parts, const std::string& prefix,
                          const MergeOptions& options) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<Part> read, ReadParts(parts, options));
  if (read.empty()) {
    return absl::NotFoundError(absl::StrCat("none of the ", parts.size(),
                                            " parts of the checkpoint ", prefix, " is there"));
  }
  BundleIndex whole;
  whole.num_shards = read.back().first_shard + read.back().index.num_shards;
  for (const Part& part : read) {
    for (const auto& [key, entry] : part.index.entries)
      GYRE_RETURN_IF_ERROR(AddEntry(part, key, entry, whole));
  }
  for (const Part& part : read) {
    for (int32_t shard = 0; shard < part.index.num_shards; ++shard) {
      GYRE_RETURN_IF_ERROR(Rename(DataFile(part.prefix, shard, part.index.num_shards),
                                  DataFile(prefix, part.first_shard + shard, whole.num_shards)));
    }
  }
  GYRE_RETURN_IF_ERROR(WriteBundleIndex(prefix, whole));
  for (const Part& part : read) RemoveRemains(part, prefix, options);
  return absl::OkStatus();
}

}  // namespace gyre

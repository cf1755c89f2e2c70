#include "bundle/data_files.h"

#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "bundle/index.h"
#include "tensor/io/file.h"
#include "tensor/io/output_file.h"

namespace gyre {
namespace {

// So many more than needed are tried; each belongs to another writer, or to the bundle before.
constexpr int32_t kMostTried = 100;

bool ParseNumber(absl::string_view digits, int32_t& number) {
  return digits.size() >= 5 && absl::ascii_isdigit(static_cast<unsigned char>(digits[0])) &&
         absl::SimpleAtoi(digits, &number);
}

// The data files of a prefix, as numbers, by how many they say they are.
std::map<int32_t, std::vector<int32_t>> DataFilesOf(const std::string& prefix) {
  std::map<int32_t, std::vector<int32_t>> found;
  const auto names = ListFolder(FolderOf(prefix));
  if (!names.ok()) return found;
  const std::string start = absl::StrCat(NameOf(prefix), ".data-");
  for (const std::string& name : *names) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, start)) continue;
    const std::vector<absl::string_view> numbers = absl::StrSplit(rest, "-of-");
    int32_t shard = 0, count = 0;
    if (numbers.size() == 2 && ParseNumber(numbers[0], shard) && ParseNumber(numbers[1], count))
      found[count].push_back(shard);
  }
  return found;
}

// The number of data files that the index says; 0 when there is no index.
absl::StatusOr<int32_t> NumberOfIndex(const std::string& prefix) {
  const absl::StatusOr<BundleIndex> index = ReadBundleIndex(prefix);
  if (absl::IsNotFound(index.status())) return 0;
  GYRE_RETURN_IF_ERROR(index.status());
  return index->num_shards;
}

}  // namespace

absl::StatusOr<int32_t> TakeNumberOfDataFiles(
    const std::string& prefix, int32_t at_least,
    absl::FunctionRef<absl::Status(const std::string& path)> make_first) {
  RemoveLeftDataFiles(prefix);
  for (int32_t count = at_least; count < at_least + kMostTried; ++count) {
    const absl::Status status = make_first(DataFile(prefix, 0, count));
    if (absl::IsAlreadyExists(status)) continue;
    GYRE_RETURN_IF_ERROR(status);
    for (int32_t shard = at_least; shard < count; ++shard) {
      GYRE_ASSIGN_OR_RETURN(OutputFile empty, OutputFile::New(DataFile(prefix, shard, count)));
      GYRE_RETURN_IF_ERROR(empty.Commit());
    }
    return count;
  }
  return absl::UnavailableError(
      absl::StrCat("cannot write ", prefix, ": ", kMostTried,
                   " others are writing to it, or left data files; remove those that ",
                   IndexFile(prefix), " does not say"));
}

void RemoveLeftDataFiles(const std::string& prefix) {
  std::map<int32_t, std::vector<int32_t>> files = DataFilesOf(prefix);
  std::vector<std::unique_ptr<FileLock>> locks;
  for (auto it = files.begin(); it != files.end();) {
    const std::vector<int32_t>& shards = it->second;
    const bool has_first = !shards.empty() && shards.front() == 0;
    if (has_first) locks.push_back(FileLock::TryTake(DataFile(prefix, 0, it->first)));
    it = has_first && locks.back() == nullptr ? files.erase(it) : std::next(it);
  }
  // Asked for now: what nobody holds is not going to be named by an index that is not there yet.
  const absl::StatusOr<int32_t> number = NumberOfIndex(prefix);
  if (!number.ok()) return;
  files.erase(*number);
  for (const auto& [count, shards] : files) {
    // The first one last: with it goes what guards the others.
    for (auto shard = shards.rbegin(); shard != shards.rend(); ++shard)
      static_cast<void>(RemoveFile(DataFile(prefix, *shard, count)));
  }
}

}  // namespace gyre

#include "compiled/code_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "tensor/io/file.h"
#include "tensor/io/file_calls.h"

namespace gyre::compiled {
namespace {

constexpr absl::string_view kEnding = ".gyre-code";

// At the beginning of a file.
struct Header {
  char magic[8] = {'G', 'y', 'r', 'e', 'c', 'o', 'd', 'e'};
  uint32_t version = 2;
  uint32_t checksum = 0;  // of what comes behind it: the key, a line's end, the code
  uint64_t size = 0;      // of that
};
static_assert(sizeof(Header) == 24);

bool IsWritableByOthers(const struct stat& info) {
  return info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// What lies where code is to be: nothing, a file that nobody else can have written, or anything
// else, such as a link or a pipe.
enum class Entry { kNothing, kOwnFile, kOther };
Entry EntryAt(const std::string& path, int64_t most_bytes) {
  struct stat info{};
  if (file_calls::LinkStat(path, &info) != 0) return Entry::kNothing;
  const bool is_own =
      S_ISREG(info.st_mode) && !IsWritableByOthers(info) && info.st_size <= most_bytes;
  return is_own ? Entry::kOwnFile : Entry::kOther;
}

absl::StatusOr<const CodeCache*> OfEnvironment() {
  const char* const folder = std::getenv("GYRE_COMPILE_CACHE");
  if (folder == nullptr || *folder == '\0') return nullptr;
  absl::StatusOr<CodeCache> cache = CodeCache::Open(folder);
  if (!cache.ok()) return Annotate(cache.status(), "GYRE_COMPILE_CACHE, a folder for native code");
  return new CodeCache(*std::move(cache));  // of the process
}

}  // namespace

absl::StatusOr<const CodeCache*> CodeCache::Get() {
  static const auto* const cache = new absl::StatusOr<const CodeCache*>(OfEnvironment());
  return *cache;
}

CodeCache::CodeCache(std::string folder, int64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  find = [](const CodeStore* self, const char* key,
            void (*take)(void* to, const char* bytes, size_t size), void* to) noexcept {
    try {
      const std::string code = static_cast<const CodeCache*>(self)->Find(key);
      if (!code.empty()) take(to, code.data(), code.size());
      return !code.empty();
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  keep = [](const CodeStore* self, const char* key, const char* bytes, size_t size) noexcept {
    try {
      static_cast<const CodeCache*>(self)->Keep(key, {bytes, size});
    } catch (const std::bad_alloc&) {  // then it is not kept
    }
  };
}

absl::StatusOr<CodeCache> CodeCache::Open(std::string folder, int64_t most_bytes) {
  GYRE_RETURN_IF_ERROR(MakeFolder(folder, 0700));
  struct stat info{};
  if (file_calls::Stat(folder, &info) != 0) return SystemError(errno, "cannot look at", folder);
  if (!S_ISDIR(info.st_mode)) return NotAFolder(folder);
  if (IsWritableByOthers(info)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "'", folder, "' is a folder that others may write to, and what is in it would be run: ",
        "take one of your own (chmod go-w), or one that is not there yet"));
  }
  return CodeCache(std::move(folder), most_bytes);
}

std::string CodeCache::PathOf(absl::string_view key) const {
  return absl::StrCat(folder_, "/", key, kEnding);
}

std::string CodeCache::Find(absl::string_view key) const {
  const std::string path = PathOf(key);
  if (EntryAt(path, most_bytes_) != Entry::kOwnFile) return "";
  const absl::StatusOr<std::string> file = ReadFile(path);
  if (!file.ok() || file->size() <= sizeof(Header)) return "";
  Header header;
  std::memcpy(&header, file->data(), sizeof header);
  absl::string_view rest = absl::string_view(*file).substr(sizeof header);
  const Header want{.checksum = Crc32c(rest.data(), rest.size()), .size = rest.size()};
  const bool is_whole = std::memcmp(&header, &want, sizeof header) == 0;
  if (!is_whole || !absl::ConsumePrefix(&rest, key) || !absl::ConsumePrefix(&rest, "\n")) return "";
  return std::string(rest);
}

void CodeCache::Keep(absl::string_view key, absl::string_view code) const {
  const std::string path = PathOf(key);
  // What could not be used is not written into, or through, but gives way.
  if (EntryAt(path, most_bytes_) == Entry::kOther && !RemoveFile(path).ok()) return;
  const std::string name = absl::StrCat(key, "\n");
  const Header header{
      .checksum = Crc32c(code.data(), code.size(), Crc32c(name.data(), name.size())),
      .size = name.size() + code.size()};
  const absl::string_view start(reinterpret_cast<const char*>(&header), sizeof header);
  if (WriteFile(path, {start, name, code}, 0600).ok()) RemoveOldest();
}

void CodeCache::RemoveOldest() const {
  const absl::StatusOr<std::vector<std::string>> names = ListFolder(folder_);
  if (!names.ok()) return;
  struct File {
    int64_t seconds, nanos, bytes;
    std::string path;
  };
  std::vector<File> files;
  int64_t bytes = 0;
  for (const std::string& name : *names) {
    struct stat info{};
    std::string path = absl::StrCat(folder_, "/", name);
    if (!absl::EndsWith(name, kEnding) || file_calls::Stat(path, &info) != 0) continue;
    bytes += info.st_size;
    files.push_back({info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size, std::move(path)});
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.seconds, a.nanos) < std::tie(b.seconds, b.nanos);
  });
  for (const File& file : files) {
    if (bytes <= most_bytes_) break;
    if (RemoveFile(file.path).ok()) bytes -= file.bytes;
  }
}

}  // namespace gyre::compiled

// Native code on disk: what is kept is found again, what is damaged is not, and a folder that
// others may write to is refused.
#include "compiled/code_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::compiled {
namespace {

std::string Written(const CodeCache& cache, const std::string& folder, const std::string& key,
                    const std::string& code) {
  cache.Keep(key, code);
  return absl::StrCat(folder, "/", key, ".gyre-code");
}

TEST(CodeCache, FindsWhatWasKept) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path() + "/a/b");
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ(cache->Find("key"), "");
  cache->Keep("key", "code");
  cache->Keep("other", std::string(100'000, 'x'));
  EXPECT_EQ(cache->Find("key"), "code");
  EXPECT_EQ(CodeCache::Open(folder.path() + "/a/b")->Find("other"), std::string(100'000, 'x'));
}

TEST(CodeCache, TakesADamagedFileForNone) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path());
  ASSERT_TRUE(cache.ok()) << cache.status();
  const std::string path = Written(*cache, folder.path(), "key", "some code");
  const std::string whole = *ReadFile(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    ASSERT_TRUE(WriteFile(path, {damaged}).ok());
    EXPECT_EQ(cache->Find("key"), "") << "byte " << i;
    ASSERT_TRUE(WriteFile(path, {whole.substr(0, i)}).ok());
    EXPECT_EQ(cache->Find("key"), "") << "the first " << i << " bytes";
  }
  ASSERT_TRUE(WriteFile(path, {whole, "more"}).ok());
  EXPECT_EQ(cache->Find("key"), "");
  cache->Keep("key", "some code");
  EXPECT_EQ(cache->Find("key"), "some code");
}

TEST(CodeCache, IsSharedByWriters) {
  const test::TempFolder folder;
  const auto work = [&](char mine) {
    const auto cache = CodeCache::Open(folder.path());
    for (int i = 0; i < 50; ++i) {
      cache->Keep("key", std::string(5000, mine));
      const std::string found = cache->Find("key");
      EXPECT_EQ(found, std::string(5000, found.empty() ? 'a' : found[0]));
    }
  };
  std::thread other(work, 'a');
  work('b');
  other.join();
}

TEST(CodeCache, RemovesTheOldestWhereThereIsTooMuch) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path(), 10'000);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE(WriteFile(folder.path() + "/somebody's", {std::string(50'000, 'x')}).ok());
  for (int i = 0; i < 20; ++i) cache->Keep(absl::StrCat("key", i), std::string(1000, 'x'));
  EXPECT_EQ(cache->Find("key0"), "");
  EXPECT_NE(cache->Find("key19"), "");
  EXPECT_LE(ListFolder(folder.path())->size(), 10u);
  EXPECT_TRUE(ReadFile(folder.path() + "/somebody's").ok());
}

TEST(CodeCache, FindsNoOtherKeysCode) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path());
  const std::string one = Written(*cache, folder.path(), "one", "the code of one");
  const std::string other = Written(*cache, folder.path(), "other", "the code of the other");
  ASSERT_EQ(rename(one.c_str(), other.c_str()), 0);
  EXPECT_EQ(cache->Find("other"), "");
}

TEST(CodeCache, TakesNothingThatOthersMayHaveWritten) {
  const test::TempFolder folder;
  const mode_t before = umask(0);
  const auto cache = CodeCache::Open(folder.path());
  const std::string path = Written(*cache, folder.path(), "key", "code");
  umask(before);
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  EXPECT_EQ(cache->Find("key"), "");
  cache->Keep("key", "code");  // in its place
  EXPECT_EQ(cache->Find("key"), "code");
}

TEST(CodeCache, WaitsForNoPipeAndFollowsNoLink) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path() + "/cache");
  const std::string path = Written(*cache, folder.path() + "/cache", "key", "code");
  const std::string elsewhere = folder.path() + "/elsewhere";
  ASSERT_EQ(rename(path.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), path.c_str()), 0);
  EXPECT_EQ(cache->Find("key"), "");
  const std::string kept = *ReadFile(elsewhere);
  cache->Keep("key", "other code");
  EXPECT_EQ(*ReadFile(elsewhere), kept);
  EXPECT_EQ(cache->Find("key"), "other code");
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cache->Find("key"), "");
  cache->Keep("key", "code");
  EXPECT_EQ(cache->Find("key"), "code");
}

TEST(CodeCache, ReadsNothingThatIsLargerThanAllOfIt) {
  const test::TempFolder folder;
  const auto cache = CodeCache::Open(folder.path(), 1 << 20);
  const std::string path = Written(*cache, folder.path(), "key", "code");
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);  // it has no blocks
  EXPECT_EQ(cache->Find("key"), "");
}

TEST(CodeCache, IsNobodyElses) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/shared";
  const auto set_mode = [&](mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0); };
  const auto mode_now = [&] {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  const mode_t before = umask(002);
  ASSERT_TRUE(CodeCache::Open(path).ok());  // which makes it
  umask(before);
  EXPECT_EQ(mode_now(), 0700u);
  for (const mode_t mode : {0775, 0757, 01777}) {  // also while it is empty: it stays as it is
    set_mode(mode);
    EXPECT_EQ(CodeCache::Open(path).status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(mode_now(), mode);
  }
  ASSERT_TRUE(WriteFile(path + "/file", {"x"}).ok());
  set_mode(0755);
  EXPECT_TRUE(CodeCache::Open(path).ok());
  EXPECT_FALSE(CodeCache::Open(path + "/file").ok());
}

}  // namespace
}  // namespace gyre::compiled

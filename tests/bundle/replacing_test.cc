// Bundles that are written where there is one: at any time the old one or the new one, whole,
// whoever stops, fails or reads when, and nothing else is left.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bundle/index.h"
#include "bundle/reader.h"
#include "bundle/writer.h"
#include "support/file_faults.h"
#include "support/kill.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

using test::FilesBelow;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A bundle of which every number says which version it is.
std::vector<BundleItem> Version(int i) {
  Tensor large = *Tensor::Make(DType::kInt32, Shape::Trusted({20'000}));
  for (int32_t& value : large.mutable_values<int32_t>()) value = i;
  return {{"large", large},
          {absl::StrCat("named/", i), Tensor::Scalar<int32_t>(i)},
          {"step", Tensor::Scalar<int32_t>(i)}};
}

// Which version the bundle is; an error also where it is a mixture.
absl::StatusOr<int> VersionAt(const std::string& prefix) {
  int version = -1;
  const absl::Status status = ReadBundle(prefix, "", [&](const BundleReader& bundle) {
    absl::StatusOr<Tensor> step = bundle.Read("step");
    if (!step.ok()) return step.status();
    version = step->scalar<int32_t>();
    absl::StatusOr<Tensor> large = bundle.Read("large");
    if (!large.ok()) return large.status();
    for (const int32_t value : large->values<int32_t>()) {
      if (value != version) return absl::InternalError("a mixture of values");
    }
    return bundle.Find(absl::StrCat("named/", version)) == nullptr || bundle.Names().size() != 3
               ? absl::InternalError("a mixture of names")
               : absl::OkStatus();
  });
  if (!status.ok()) return status;
  return version;
}

void ExpectWhole(const std::string& prefix) {
  const absl::StatusOr<int> version = VersionAt(prefix);
  EXPECT_TRUE(version.ok()) << version.status();
}

TEST(ReplacedBundle, AKilledWriterLeavesTheOldOrTheNewOneAndTheNextOneCleansUp) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string prefix = folder.Path("model");
  ASSERT_TRUE(WriteBundle(prefix, Version(0)).ok());
  const int kills = test::KillAtRandomMoments(
      150,
      [&] {
        for (int i = 1;; ++i) {
          if (!WriteBundle(prefix, Version(i)).ok()) ::_exit(1);
        }
      },
      [&] { ExpectWhole(prefix); });
  EXPECT_EQ(kills, 150);
  ASSERT_TRUE(WriteBundle(prefix, Version(7)).ok());
  EXPECT_EQ(*VersionAt(prefix), 7);
  const int shards = ReadBundleIndex(prefix)->num_shards;
  EXPECT_THAT(FilesBelow(folder.path()), SizeIs(1 + shards));
  EXPECT_LE(shards, 2);
}

// Parts are written and joined: what a sharded saver does.
void WriteParts(const TempFolder& folder, const std::string& prefix, int i) {
  std::vector<BundleItem> items = Version(i);
  const std::string parts = folder.Path(absl::StrCat("temp_", ::getpid(), "_", i, "/part"));
  ASSERT_TRUE(MakeFolder(FolderOf(parts)).ok());
  ASSERT_TRUE(WriteBundle(parts + "-0", {items[0]}).ok());
  ASSERT_TRUE(WriteBundle(parts + "-1", {items[1], items[2]}).ok());
  const absl::Status status = MergeBundles({parts + "-0", parts + "-1"}, prefix, {});
  ASSERT_TRUE(status.ok()) << status;
}

TEST(ReplacedBundle, AKilledMergeLeavesTheOldOrTheNewOne) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string prefix = folder.Path("model");
  WriteParts(folder, prefix, 0);
  EXPECT_THAT(FilesBelow(folder.path()),
              ElementsAre("model.data-00000-of-00002", "model.data-00001-of-00002", "model.index"));
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        for (int i = 1;; ++i) {
          WriteParts(folder, prefix, i);
          if (::testing::Test::HasFailure()) ::_exit(1);
        }
      },
      [&] { ExpectWhole(prefix); });
  EXPECT_EQ(kills, 100);
}

TEST(ReplacedBundle, OfTwoWritersAtOnceOneWinsAndReadersSeeOneWhole) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string prefix = folder.Path("model");
  ASSERT_TRUE(WriteBundle(prefix, Version(0)).ok());
  std::atomic<int> writing = 2;
  const auto write = [&](int first) {
    for (int i = first; i < first + 100; ++i) {
      const absl::Status status = WriteBundle(prefix, Version(i));
      EXPECT_TRUE(status.ok()) << status;
    }
    --writing;
  };
  std::thread one(write, 1000), two(write, 2000);
  while (writing > 0) ExpectWhole(prefix);
  one.join();
  two.join();
  EXPECT_TRUE(*VersionAt(prefix) == 1099 || *VersionAt(prefix) == 2099);
  ASSERT_TRUE(WriteBundle(prefix, Version(1)).ok());
  EXPECT_THAT(FilesBelow(folder.path()), SizeIs(1 + ReadBundleIndex(prefix)->num_shards));
}

TEST(ReplacedBundle, WhoReadsOneThatIsReplacedIsToldTo) {
  const TempFolder folder;
  const std::string prefix = folder.Path("model");
  ASSERT_TRUE(WriteBundle(prefix, Version(1)).ok());
  const absl::StatusOr<BundleReader> reader = BundleReader::Open(prefix);
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(reader->WasReplaced());
  ASSERT_TRUE(WriteBundle(prefix, Version(2)).ok());
  EXPECT_TRUE(reader->WasReplaced());
  EXPECT_THAT(std::string(reader->Read("step").status().message()),
              HasSubstr("model was replaced while it was being read; open it again"));
}

TEST(ReplacedBundle, EachCallOfTheSystemThatFailsOnceIsAnErrorAndLeavesTheOldOrTheNew) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string prefix = folder.Path("model");
  int last = 0;
  ASSERT_TRUE(WriteBundle(prefix, Version(last)).ok());
  const int calls = test::FailEachCall(
      [&] { return WriteBundle(prefix, Version(last + 1)); },
      [&](const test::FaultCase& fault, const absl::Status& status) {
        const absl::StatusOr<int> found = VersionAt(prefix);
        ASSERT_TRUE(found.ok()) << fault << found.status();
        EXPECT_TRUE(*found == last + 1 || (!status.ok() && *found == last)) << fault << status;
        last = *found;
        if (fault.MayLeaveFiles()) {
          EXPECT_TRUE(WriteBundle(prefix, Version(last)).ok()) << fault;
        }
        EXPECT_THAT(FilesBelow(folder.path()), SizeIs(1 + ReadBundleIndex(prefix)->num_shards))
            << fault;
      });
  EXPECT_GT(calls, 40);
}

TEST(ReplacedBundle, EachCallOfTheSystemThatFailsOnceInAMergeLeavesTheOldAndThePartsOrTheNew) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string prefix = folder.Path("model"), a = folder.Path("a"), b = folder.Path("b");
  int last = 0;
  ASSERT_TRUE(WriteBundle(prefix, Version(last)).ok());
  const auto write_parts = [&] {
    const std::vector<BundleItem> items = Version(last + 1);
    ASSERT_TRUE(WriteBundle(a, {items[0]}).ok());
    ASSERT_TRUE(WriteBundle(b, {items[1], items[2]}).ok());
  };
  write_parts();
  const int calls =
      test::FailEachCall([&] { return MergeBundles({a, b}, prefix, {}); },
                         [&](const test::FaultCase& fault, const absl::Status& status) {
                           const absl::StatusOr<int> found = VersionAt(prefix);
                           ASSERT_TRUE(found.ok()) << fault << found.status();
                           if (*found == last) {
                             EXPECT_FALSE(status.ok()) << fault;
                             EXPECT_TRUE(BundleReader::Open(a)->Read("large").ok()) << fault;
                             EXPECT_TRUE(BundleReader::Open(b)->Read("step").ok()) << fault;
                           } else {
                             EXPECT_EQ(*found, last + 1) << fault;
                           }
                           last = *found;
                           write_parts();
                         });
  EXPECT_GT(calls, 40);
}

TEST(ReplacedBundle, EachCallOfTheSystemThatFailsOnceInReadingIsAnError) {
  const TempFolder folder;
  const std::string prefix = folder.Path("model");
  WriteParts(folder, prefix, 3);
  const int calls = test::FailEachCall(
      [&] { return VersionAt(prefix).status(); },
      [&](const test::FaultCase&, const absl::Status& status) {
        EXPECT_TRUE(status.ok() || absl::StrContains(status.message(), prefix)) << status;
      });
  EXPECT_GT(calls, 10);
}

// Whatever n the old bundle's data files count, and whatever is left over beside them.
TEST(ReplacedBundle, OldDataFilesAndThoseLeftOverGo) {
  const TempFolder folder;
  const std::string prefix = folder.Path("model");
  WriteParts(folder, prefix, 0);
  for (const char* name : {"model.data-00000-of-00007", "model.data-00003-of-00009",
                           "model.index.unfinished", "model.index.unfinished-1"})
    folder.Write(name, "left by a killed writer");
  for (const char* name :
       {"model-2.data-00000-of-00007", "model.data-of-7", "model.data-x-of-00007", "another.index"})
    folder.Write(name, "not this bundle's");
  ASSERT_TRUE(WriteBundle(prefix, Version(5)).ok());
  EXPECT_EQ(*VersionAt(prefix), 5);
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("another.index", "model-2.data-00000-of-00007",
                                                     "model.data-00000-of-00001", "model.data-of-7",
                                                     "model.data-x-of-00007", "model.index"));
}

TEST(ReplacedBundle, OneWhoseIndexIsDamagedIsReplacedToo) {
  const TempFolder folder;
  const std::string prefix = folder.Path("model");
  ASSERT_TRUE(WriteBundle(prefix, Version(1)).ok());
  folder.Write("model.index", "torn");
  ASSERT_TRUE(WriteBundle(prefix, Version(2)).ok());
  EXPECT_EQ(*VersionAt(prefix), 2);
  EXPECT_THAT(FilesBelow(folder.path()), SizeIs(3));
}

TEST(ReplacedBundle, PartsThatCannotBeJoinedStayAsTheyWere) {
  const TempFolder folder;
  const std::string prefix = folder.Path("model");
  ASSERT_TRUE(WriteBundle(prefix, Version(1)).ok());
  ASSERT_TRUE(WriteBundle(folder.Path("a"), {Version(2)[0]}).ok());
  ASSERT_TRUE(WriteBundle(folder.Path("b"), {Version(2)[1]}).ok());
  std::filesystem::remove(DataFile(folder.Path("b"), 0, 1));
  const std::vector<std::string> before = FilesBelow(folder.path());
  EXPECT_TRUE(absl::IsNotFound(MergeBundles({folder.Path("a"), folder.Path("b")}, prefix, {})));
  EXPECT_EQ(*VersionAt(prefix), 1);
  EXPECT_EQ(FilesBelow(folder.path()), before);
}

}  // namespace
}  // namespace gyre

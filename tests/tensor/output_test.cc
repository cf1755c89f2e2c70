// Files and folders that are written: at any time the old one or the new one, whoever stops or
// fails when, and nothing else is left.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "support/kill.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"
#include "tensor/io/file_calls.h"
#include "tensor/io/output_file.h"
#include "tensor/io/output_folder.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using test::FilesBelow;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Text of which every byte and the length say which version it is.
std::string Version(int i) {
  return std::string(static_cast<size_t>(200'000 + 1000 * (i % 26)),
                     static_cast<char>('a' + i % 26));
}
bool IsAVersion(const std::string& text) { return !text.empty() && text == Version(text[0] - 'a'); }

mode_t ModeOf(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(OutputFile, AKilledWriterLeavesTheOldOrTheNewOneAndTheNextOneCleansUp) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("file");
  ASSERT_TRUE(WriteFile(path, {Version(0)}).ok());
  const int kills = test::KillAtRandomMoments(
      120,
      [&] {
        for (int i = 1;; ++i) {
          if (!WriteFile(path, {Version(i)}).ok()) ::_exit(1);
        }
      },
      [&] { EXPECT_TRUE(IsAVersion(*ReadFile(path))); });
  EXPECT_EQ(kills, 120);
  ASSERT_TRUE(WriteFile(path, {"last"}).ok());
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("file"));
}

TEST(OutputFile, OfTwoWritersAtOnceOneWins) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("file");
  ASSERT_TRUE(WriteFile(path, {Version(0)}).ok());
  const auto write = [&](int first) {
    for (int i = first; i < first + 100; ++i) EXPECT_TRUE(WriteFile(path, {Version(i)}).ok());
  };
  std::thread one(write, 0), two(write, 3);
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(IsAVersion(*ReadFile(path)));
  one.join();
  two.join();
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("file"));
}

TEST(OutputFile, WhatIsNotCommittedIsGone) {
  const TempFolder folder;
  folder.Write("file", "old");
  {
    absl::StatusOr<OutputFile> file = OutputFile::Replacing(folder.Path("file"));
    ASSERT_TRUE(file.ok() && file->Write("new").ok());
  }
  EXPECT_EQ(*ReadFile(folder.Path("file")), "old");
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("file"));
}

TEST(OutputFile, LinksAreFollowed) {
  const TempFolder folder;
  folder.Write("real/file", "old");
  fs::create_directory(folder.Path("links"));
  fs::create_symlink("../real/file", folder.Path("links/one"));
  fs::create_symlink("one", folder.Path("links/two"));
  ASSERT_TRUE(WriteFile(folder.Path("links/two"), {"new"}).ok());
  EXPECT_EQ(*ReadFile(folder.Path("real/file")), "new");
  EXPECT_TRUE(fs::is_symlink(folder.Path("links/two")) && fs::is_symlink(folder.Path("links/one")));
  // What a link leads to may have to be made.
  fs::create_symlink("../real/further", folder.Path("links/three"));
  ASSERT_TRUE(WriteFile(folder.Path("links/three"), {"made"}).ok());
  EXPECT_EQ(*ReadFile(folder.Path("real/further")), "made");
  fs::create_symlink("ring", folder.Path("links/ring"));
  EXPECT_THAT(std::string(WriteFile(folder.Path("links/ring"), {"x"}).message()),
              HasSubstr("links/ring: Too many levels of symbolic links"));
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("links/one", "links/ring", "links/three",
                                                     "links/two", "real/file", "real/further"));
}

TEST(OutputFile, PermissionsStayAndNewFilesObeyTheMask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  ASSERT_TRUE(WriteFile(folder.Path("new"), {"x"}).ok());
  ::umask(before);
  EXPECT_EQ(ModeOf(folder.Path("new")), 0640u);
  ASSERT_EQ(::chmod(folder.Path("new").c_str(), 0604), 0);
  ASSERT_TRUE(WriteFile(folder.Path("new"), {"y"}).ok());
  EXPECT_EQ(ModeOf(folder.Path("new")), 0604u);
}

TEST(OutputFile, PipesDevicesAndDescriptorsAreWrittenTo) {
  const TempFolder folder;
  EXPECT_TRUE(WriteFile("/dev/null", {"x"}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(WriteFile("/dev/full", {"x"})));
  EXPECT_TRUE(fs::is_character_file("/dev/null") && fs::is_character_file("/dev/full"));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(WriteFile(absl::StrCat("/dev/fd/", ends[1]), {"by ", "pipe"}).ok());
  char text[8];
  EXPECT_EQ(std::string(text, static_cast<size_t>(::read(ends[0], text, 8))), "by pipe");
  ::close(ends[0]);
  ::close(ends[1]);
  // A file that somebody has open, as a shell's `> file`.
  const int fd = ::open(folder.Path("out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_TRUE(WriteFile(absl::StrCat("/proc/self/fd/", fd), {"open"}).ok());
  EXPECT_EQ(::pread(fd, text, 8, 0), 4);
  ::close(fd);
}

TEST(OutputFile, ErrorsSayWhatToDo) {
  const TempFolder folder;
  folder.Write("file", "old");
  fs::create_directory(folder.Path("inner"));
  const auto error = [](const std::string& path) { return WriteFile(path, {"x"}); };
  EXPECT_EQ(error(folder.Path("no/file")).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(error(folder.Path("no/file")).message()),
              HasSubstr("there is no folder " + folder.Path("no")));
  fs::create_symlink(folder.Path("gone/file"), folder.Path("link"));
  EXPECT_THAT(std::string(error(folder.Path("link")).message()),
              HasSubstr("there is no folder " + folder.Path("gone")));
  fs::remove(folder.Path("link"));
  EXPECT_EQ(error(folder.Path("file/x")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error(folder.Path("inner")).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error("").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error(folder.Path(std::string(300, 'n'))).code(), absl::StatusCode::kInvalidArgument);
  // A name as long as there may be leaves no room for an ending.
  const std::string longest = folder.Path(std::string(255, 'n'));
  EXPECT_TRUE(error(longest).ok());
  EXPECT_EQ(*ReadFile(longest), "x");
  fs::remove(longest);
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("file"));
}

TEST(OutputFile, AFolderThatVanishesIsAnError) {
  const TempFolder folder;
  fs::create_directory(folder.Path("inner"));
  absl::StatusOr<OutputFile> file = OutputFile::Replacing(folder.Path("inner/file"));
  ASSERT_TRUE(file.ok() && file->Write("new").ok());
  fs::remove_all(folder.Path("inner"));
  EXPECT_EQ(file->Commit().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(file->Commit().code(), absl::StatusCode::kNotFound);
}

// ---- Folders

// A folder of two files that say which version they are.
void WriteVersion(const std::string& path, int i) {
  constexpr absl::string_view kParts[] = {"data", "old", "main"};
  absl::StatusOr<OutputFolder> folder = OutputFolder::Replacing(path, kParts);
  ASSERT_TRUE(folder.ok()) << folder.status();
  ASSERT_TRUE(MakeFolder(folder->unfinished() + "/data").ok());
  ASSERT_TRUE(WriteFile(folder->unfinished() + "/data/file", {Version(i)}).ok());
  ASSERT_TRUE(WriteFile(folder->unfinished() + "/main", {Version(i)}).ok());
  const absl::Status status = folder->Commit();
  ASSERT_TRUE(status.ok()) << status;
}

TEST(OutputFolder, AKilledWriterLeavesTheOldOrTheNewOneAndTheNextOneCleansUp) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("model");
  WriteVersion(path, 0);
  folder.Write("model/notes/mine.txt", "kept");
  const int kills = test::KillAtRandomMoments(
      100,
      [&] {
        for (int i = 1;; ++i) {
          WriteVersion(path, i);
          if (::testing::Test::HasFailure()) ::_exit(1);
        }
      },
      [&] {
        EXPECT_TRUE(IsAVersion(*ReadFile(path + "/main")));
        EXPECT_EQ(*ReadFile(path + "/main"), *ReadFile(path + "/data/file"));
        EXPECT_EQ(*ReadFile(path + "/notes/mine.txt"), "kept");
      });
  EXPECT_EQ(kills, 100);
  WriteVersion(path, 1);
  EXPECT_THAT(FilesBelow(folder.path()),
              ElementsAre("model/data/file", "model/main", "model/notes/mine.txt"));
}

// A folder that another writer has just made, and not yet locked, is taken for abandoned by the
// next one: then its writer makes another.
TEST(OutputFolder, ManyWritersAtOnceAllSucceedAndLeaveOne) {
  const TempFolder folder(TempFolder::kInMemory);
  const std::string path = folder.Path("model");
  std::vector<std::thread> writers;
  for (int w = 0; w < 6; ++w) {
    writers.emplace_back([&, w] {
      const std::string text(1, static_cast<char>('a' + w));
      for (int i = 0; i < 500; ++i) {
        absl::StatusOr<OutputFolder> output = OutputFolder::Replacing(path, {"main"});
        ASSERT_TRUE(output.ok()) << output.status();
        const absl::Status written = WriteFile(output->unfinished() + "/main", {text});
        ASSERT_TRUE(written.ok()) << written;
        const absl::Status status = output->Commit();
        ASSERT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("model/main"));
}

TEST(OutputFolder, PartsThatAreNotWrittenAgainGoAndOthersStay) {
  const TempFolder folder;
  folder.Write("real/data/gone", "x");
  folder.Write("real/old/gone", "x");
  folder.Write("real/others/deep/file", "kept");
  fs::create_symlink("nowhere", folder.Path("real/others/link"));
  ASSERT_EQ(::chmod(folder.Path("real").c_str(), 0750), 0);
  fs::create_directory_symlink("real", folder.Path("link"));
  WriteVersion(folder.Path("link"), 3);
  EXPECT_TRUE(fs::is_symlink(folder.Path("link")));
  EXPECT_EQ(ModeOf(folder.Path("real")), 0750u);
  EXPECT_THAT(FilesBelow(folder.path()), ElementsAre("link", "real/data/file", "real/main",
                                                     "real/others/deep/file", "real/others/link"));
  EXPECT_EQ(fs::read_symlink(folder.Path("real/others/link")), "nowhere");
  folder.Write("file", "");
  for (const absl::Status& status :
       {OutputFolder::Replacing(folder.Path("file"), {"main"}).status(),
        MakeFolder(folder.Path("file/below"))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(SystemErrorOf(status), ENOTDIR);
    EXPECT_EQ(status.message(), folder.Path("file") +
                                    " is a file, not a folder that could be written to; write "
                                    "elsewhere");
  }
}

// Fails renames with two names, as file systems without them do.
TEST(OutputFolder, WhereNothingCanBeExchangedItIsRenamed) {
  const TempFolder folder;
  WriteVersion(folder.Path("model"), 0);
  folder.Write("model/mine", "kept");
  int renames = 0;
  // Files of the new folder are renamed first: two of WriteFile's.
  const file_calls::FaultHook hook = [&](file_calls::Call call) {
    return call == file_calls::Call::kRename && ++renames == 3 ? EINVAL : 0;
  };
  file_calls::SetFaultHook(&hook);
  WriteVersion(folder.Path("model"), 1);
  file_calls::SetFaultHook(nullptr);
  EXPECT_EQ(renames, 6);
  EXPECT_EQ(*ReadFile(folder.Path("model/data/file")), Version(1));
  EXPECT_THAT(FilesBelow(folder.path()),
              ElementsAre("model/data/file", "model/main", "model/mine"));
}

TEST(OutputFolder, WhoIsInItStaysInIt) {
  const TempFolder folder;
  WriteVersion(folder.Path("model"), 0);
  folder.Write("model/notes/mine", "kept");
  const fs::path before = fs::current_path();
  fs::current_path(folder.Path("model/notes"));
  WriteVersion("..", 1);
  EXPECT_EQ(fs::current_path(), fs::canonical(folder.Path("model/notes")));
  fs::current_path(before);
  EXPECT_EQ(*ReadFile(folder.Path("model/main")), Version(1));
  EXPECT_THAT(FilesBelow(folder.path()),
              ElementsAre("model/data/file", "model/main", "model/notes/mine"));
}

TEST(OutputFolder, WhereItCannotBeRenamedItsPartsAreReplaced) {
  const TempFolder folder;
  WriteVersion(folder.Path("model"), 0);
  folder.Write("model/old/x", "goes");
  folder.Write("model/mine", "kept");
  bool is_first = true;
  const file_calls::FaultHook hook = [&](file_calls::Call call) {
    return call == file_calls::Call::kMakeFolder && std::exchange(is_first, false) ? EACCES : 0;
  };
  file_calls::SetFaultHook(&hook);
  WriteVersion(folder.Path("model"), 1);
  file_calls::SetFaultHook(nullptr);
  EXPECT_FALSE(is_first);
  EXPECT_EQ(*ReadFile(folder.Path("model/data/file")), Version(1));
  EXPECT_EQ(*ReadFile(folder.Path("model/main")), Version(1));
  EXPECT_THAT(FilesBelow(folder.path()),
              ElementsAre("model/data/file", "model/main", "model/mine"));
}

// A file system gives the number of a folder that is gone to the next one that is made.
TEST(HeldPath, IsNotTheOneThatTookItsPlace) {
  const TempFolder folder;
  const std::string path = folder.Path("model"), other = folder.Path("other");
  fs::create_directory(path);
  const HeldPath held(path);
  EXPECT_TRUE(held.IsThereStill());
  for (int i = 0; i < 20; ++i) {
    fs::remove(path);
    EXPECT_FALSE(held.IsThereStill());
    fs::create_directory(i % 2 == 0 ? path : other);
    if (i % 2 == 1) fs::rename(other, path);
    EXPECT_FALSE(held.IsThereStill());
  }
  const HeldPath nothing(other);
  EXPECT_TRUE(nothing.IsThereStill());
  fs::create_directory(other);
  EXPECT_FALSE(nothing.IsThereStill());
}

}  // namespace
}  // namespace gyre

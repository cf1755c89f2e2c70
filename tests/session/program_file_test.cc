// Files of programs: what is read and written when calls of the system fail, or files are torn.
#include "session/program_file.h"

#include <gmock/gmock.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/text/printer.h"
#include "support/file_faults.h"
#include "support/kill.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;

constexpr const char* kEndings[] = {"gyre", "pb", "pbtxt"};

std::string TextOf(const std::shared_ptr<const Program>& program) { return PrintProgram(*program); }

std::shared_ptr<const Program> Golden() {
  return *LoadProgramFile(test::SourcePath("tests/golden/models/q_learning/graph.pb"));
}

TEST(ProgramFile, EachCallOfTheSystemThatFailsOnceIsAnErrorOrTheWholeProgram) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto program = Golden();
  for (const std::string ending : kEndings) {
    const std::string name = absl::StrCat("graph.", ending), path = folder.Path(name);
    ASSERT_TRUE(SaveProgramFile(*program, path).ok());
    const std::string text = TextOf(*LoadProgramFile(path)), bytes = *ReadFile(path);
    const auto says = [&](const absl::Status& status) {
      return status.ok() || absl::StrContains(status.message(), path);
    };
    absl::StatusOr<std::shared_ptr<const Program>> loaded;
    const auto load = [&] {
      loaded = LoadProgramFile(path);
      return loaded.status();
    };
    EXPECT_GT(test::FailEachCall(load,
                                 [&](const test::FaultCase& fault, const absl::Status& status) {
                                   EXPECT_TRUE(says(status)) << fault << status;
                                   EXPECT_TRUE(!status.ok() || TextOf(*loaded) == text) << fault;
                                 }),
              3);
    const auto save = [&] { return SaveProgramFile(*program, path); };
    EXPECT_GT(test::FailEachCall(save,
                                 [&](const test::FaultCase& fault, const absl::Status& status) {
                                   EXPECT_TRUE(says(status)) << fault << status;
                                   EXPECT_EQ(*ReadFile(path), bytes) << fault;
                                   EXPECT_TRUE(!fault.MayLeaveFiles() || save().ok());
                                 }),
              10);
    EXPECT_THAT(test::FilesBelow(folder.path()), ElementsAre(name));
    ASSERT_TRUE(RemoveFile(path).ok());
  }
}

TEST(ProgramFile, TornOnesAreRefusedByName) {
  const TempFolder folder(TempFolder::kInMemory);
  const auto program = Golden();
  for (const std::string ending : {"gyre", "pbtxt"}) {
    const std::string path = folder.Path(absl::StrCat("graph.", ending));
    ASSERT_TRUE(SaveProgramFile(*program, path).ok());
    const std::string bytes = *ReadFile(path);
    for (size_t size = 1; size + 3 < bytes.size(); size += 1 + bytes.size() / 500) {
      const std::string torn = bytes.substr(0, size);
      folder.Write(absl::StrCat("graph.", ending), torn);
      const absl::Status status = LoadProgramFile(path).status();
      // What ends behind a node or a function is a program, too.
      const absl::string_view end = absl::StripTrailingAsciiWhitespace(torn);
      const bool may_be_whole = ending == "pbtxt" || absl::EndsWith(end, "\n}");
      EXPECT_TRUE(status.ok() ? may_be_whole : absl::StrContains(status.message(), path))
          << ending << ", " << size << " bytes: " << status;
    }
  }
}

}  // namespace
}  // namespace gyre

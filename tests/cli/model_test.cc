// `gyre run`, `show` and `check` on models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/gyre.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string& Model() {
  static const auto* const path =
      new std::string(test::SourcePath("tests/saved_models/asset_text/model"));
  return *path;
}

TEST(Models, EveryCasePassesOnEveryEngine) {
  for (const std::string engine : {"reference", "dataflow"}) {
    const Ran ran = Gyre({"check", test::SourcePath("tests/saved_models"), "--engine=" + engine});
    EXPECT_EQ(ran.out, "19 passed, 0 failed, 0 skipped\n");
    EXPECT_EQ(ran.code, 0);
  }
}

TEST(Models, ASignatureRuns) {
  const Ran ran = Gyre({"run", Model(), "--signature", "read", "--feed", "times=1", "--then",
                        "--signature", "read", "--feed", "times=0", "--fetch", "reads"});
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("reads int32[] = 1\ntext string[] = "));
  EXPECT_THAT(ran.out, EndsWith("reads int32[] = 2\n"));
}

TEST(Models, MistakesNameWhatThereIs) {
  EXPECT_THAT(Gyre({"run", Model()}).err, HasSubstr("(--signature NAME),\n    read\n"));
  EXPECT_THAT(Gyre({"run", Model(), "--signature", "raed"}).err, HasSubstr("did you mean 'read'?"));
  EXPECT_THAT(Gyre({"run", Model(), "--signature", "read"}).err,
              HasSubstr("signature 'read' needs its input times int32[]: --feed times=VALUE"));
  EXPECT_THAT(Gyre({"run", Model(), "--signature", "read", "--feed", "times=1.5"}).err,
              HasSubstr("--feed times: "));
  EXPECT_THAT(
      Gyre({"run", test::SourcePath("tests/golden/while_v1/collatz/graph.pb"), "--signature", "x"})
          .err,
      HasSubstr("--signature is for models"));
  const Ran none = Gyre({"run", test::SourcePath("tests/saved_models"), "--signature", "x"});
  EXPECT_THAT(none.err, HasSubstr("holds no SavedModel"));
}

TEST(Models, ShowListsSignaturesVariablesAndFiles) {
  const Ran ran = Gyre({"show", Model()});
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("tags serve, written by TensorFlow 2.21.0\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nsignature read\n"
                                 "  input  times int32[]\n"
                                 "  output reads int32[]\n"
                                 "  output text string[]\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nassets\n  note.txt\n"));
  EXPECT_THAT(ran.out, HasSubstr("  reads/.ATTRIBUTES/VARIABLE_VALUE int32[]\n"));
}

TEST(Models, ShowPrintsWhatASignatureRuns) {
  const Ran ran = Gyre({"show", Model(), "--signature", "read"});
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, HasSubstr("ReadFile"));
  EXPECT_THAT(ran.out, Not(HasSubstr("RestoreV2")));
  EXPECT_THAT(Gyre({"show", Model(), "--full"}).out, HasSubstr("RestoreV2"));
  EXPECT_THAT(Gyre({"show", Model(), "--signature", "read", "--lowered"}).out,
              HasSubstr("NextIteration"));
  EXPECT_THAT(Gyre({"show", Model(), "--signature", "read", "--fetch", "x"}).err,
              HasSubstr("do not go together"));
}

// A second graph, of other tags, in the model's file: messages one after the other are one.
TEST(Models, TagsChooseAmongGraphs) {
  const test::TempFolder folder;
  const std::string path = folder.Path("model");
  std::filesystem::copy(Model(), path, std::filesystem::copy_options::recursive);
  const std::string serve = *ReadFile(path + "/saved_model.pb");
  std::string train = serve;
  const size_t tag = train.find("\x22\x05serve");  // tags: field 4, five letters
  ASSERT_NE(tag, std::string::npos);
  train.replace(tag + 2, 5, "train");
  ASSERT_TRUE(WriteFile(path + "/saved_model.pb", {serve, train}).ok());
  const std::vector<std::string> run = {"run", path, "--signature", "read", "--feed", "times=0"};
  EXPECT_THAT(Gyre(run).err, HasSubstr("[serve] and [train]"));
  std::vector<std::string> tagged = run;
  tagged.insert(tagged.end(), {"--tags", "train"});
  EXPECT_THAT(Gyre(tagged).out, StartsWith("reads int32[] = 1\n"));
  tagged.back() = "train,gpu";
  EXPECT_THAT(Gyre(tagged).err, HasSubstr("no graph with the tags [train, gpu]"));
  EXPECT_THAT(Gyre({"show", path, "--tags", "train"}).out, HasSubstr("tags train,"));
  EXPECT_EQ(Gyre({"show", path, "--tags", "train", "--summary"}).code, 0);
  EXPECT_THAT(Gyre({"show", path, "--summary"}).err, HasSubstr("[serve] and [train]"));
  const std::string graph = test::SourcePath("tests/golden/while_v1/collatz/graph.pb");
  EXPECT_THAT(Gyre({"run", graph, "--tags", "train"}).err, HasSubstr("--tags is for models"));
  EXPECT_THAT(Gyre({"show", graph, "--tags", "train"}).err, HasSubstr("--tags is for models"));
}

TEST(Models, AreSavedAfterTheLastRun) {
  const test::TempFolder folder;
  const std::vector<std::string> read = {"--signature", "read",    "--feed",
                                         "times=0",     "--fetch", "reads"};
  std::vector<std::string> run = {"run", Model(), "--save", folder.Path("again")};
  run.insert(run.end(), read.begin(), read.end());
  run.push_back("--then");
  run.insert(run.end(), read.begin(), read.end());
  const Ran first = Gyre(run);
  EXPECT_EQ(first.err, "");
  EXPECT_THAT(first.out, EndsWith("reads int32[] = 2\nwrote " + folder.Path("again") + "\n"));
  std::vector<std::string> further = {"run", folder.Path("again")};
  further.insert(further.end(), read.begin(), read.end());
  EXPECT_EQ(Gyre(further).out, "reads int32[] = 3\n");
  EXPECT_THAT(Gyre({"run", test::SourcePath("tests/golden/while_v1/collatz/graph.pb"), "--save",
                    folder.Path("graph")})
                  .err,
              HasSubstr("--save is for models"));
}

TEST(Models, AWrongValueOfTheCheckpointFailsTheCase) {
  const test::TempFolder folder;
  const std::string source = test::SourcePath("tests/saved_models/counter");
  std::filesystem::copy(source, folder.Path("counter"), std::filesystem::copy_options::recursive);
  std::string text = *ReadFile(source + "/case.json");
  const size_t at = text.find("\"first\": ");
  ASSERT_NE(at, std::string::npos);
  text.insert(at + 9, "1");
  folder.Write("counter/case.json", text);
  const Ran ran = Gyre({"check", folder.path()});
  EXPECT_THAT(ran.out, HasSubstr("its first element is another"));
  EXPECT_THAT(ran.out, EndsWith("0 passed, 1 failed, 0 skipped\n"));
}

}  // namespace
}  // namespace gyre::cli

// `gyre compile`: what it writes, and what it says of a command line that makes no sense.
#include "absl/strings/match.h"
#include "cli/cli.h"
#include "gtest/gtest.h"
#include "cli/gyre.h"
#include "support/temp_folder.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

constexpr char kGraph[] = R"(
graph {
  %x = Placeholder() dtype=float32 shape=() : float32
  %y = Neg(%x) : float32
  %z = Print(%x, %x) message="x" : float32
}
)";

TEST(CompileCommand, WritesAnObjectAndItsHeader) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("graph.gyre", kGraph);
  const Ran ran = Gyre({"compile", graph, "--fetch", "y", "-o", folder.Path("my-model.o")});
  if (absl::StrContains(ran.err, "llvm")) GTEST_SKIP() << ran.err;
  ASSERT_EQ(ran.code, kSuccess) << ran.err;
  EXPECT_EQ(ran.out,
            "wrote " + folder.Path("my-model.o") + " and " + folder.Path("my-model.h") + "\n");
  const auto header = ReadFile(folder.Path("my-model.h"));
  ASSERT_TRUE(header.ok());
  EXPECT_TRUE(absl::StrContains(*header, "int32_t my_model(const struct my_model_inputs *inputs"))
      << *header;
  const auto object = ReadFile(folder.Path("my-model.o"));
  ASSERT_TRUE(object.ok());
  EXPECT_TRUE(absl::StartsWith(*object,
                               "\x7f"
                               "ELF"));
}

TEST(CompileCommand, RefusesWhatMakesNoSense) {
  const test::TempFolder folder;
  const std::string graph = folder.Write("graph.gyre", kGraph);
  const std::string object = folder.Path("model.o");
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{graph}, "-o FILE says where the object file goes"},
      {{graph, "-o", object, "--header", object}, "the object file and the header are one file"},
      {{graph, "-o", folder.Path("nowhere/model.o")}, "there is no folder"},
      {{graph, "-o", object, "--fetch", "nothing"}, "nothing"},
      {{graph, "-o", object, "--stack", "much"}, "--stack 'much' is no number of bytes"},
  };
  for (auto [words, why] : cases) {
    words.insert(words.begin(), "compile");
    const Ran ran = Gyre(words);
    EXPECT_EQ(ran.code, kMisuse) << ran.err;
    EXPECT_TRUE(absl::StrContains(ran.err, why)) << ran.err;
  }
  EXPECT_EQ(Gyre({"compile", graph, "-o", object, "--name", "2x", "--fetch", "y"}).code, kFailure);
  EXPECT_FALSE(ReadFile(object).ok()) << "nothing is written then";
}

}  // namespace
}  // namespace gyre::cli

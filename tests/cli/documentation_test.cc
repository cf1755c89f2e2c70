// The command lines of the README do what it says.
#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/gyre.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

TEST(Documentation, CommandLinesOfTheReadmeWork) {
  constexpr absl::string_view kPrompt = "$ build/release/bin/gyre ";
  const auto readme = ReadFile(test::SourcePath("README.md"));
  ASSERT_TRUE(readme.ok()) << readme.status();
  ASSERT_EQ(::chdir(test::SourcePath(".").c_str()), 0);
  int run = 0;
  for (const absl::string_view line : absl::StrSplit(*readme, '\n')) {
    if (!absl::StartsWith(line, kPrompt)) continue;
    std::vector<std::string> words;
    for (const absl::string_view word : absl::StrSplit(line.substr(kPrompt.size()), ' ')) {
      if (word == "|") break;
      words.emplace_back(word);
    }
    const Ran ran = Gyre(words);
    EXPECT_EQ(ran.code, kSuccess) << std::string(line) << "\n" << ran.err;
    EXPECT_NE(ran.out, "") << std::string(line);
    ++run;
  }
  EXPECT_GE(run, 6) << "the README shows no commands any more";
}

}  // namespace
}  // namespace gyre::cli

// The command lines of the README and of docs/ do what they say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/gyre.h"
#include "support/paths.h"
#include "tensor/io/file.h"

namespace gyre::cli {
namespace {

// A command of a page, and what the page shows below it: nothing, or all that it prints.
struct Shown {
  std::string line;
  std::vector<std::string> words;
  std::string output;
};

absl::StatusOr<std::vector<Shown>> CommandsIn(const std::string& page) {
  constexpr absl::string_view kPrompt = "$ build/release/bin/gyre ";
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(test::SourcePath(page)));
  std::vector<Shown> commands;
  bool is_output = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, kPrompt)) {
      commands.push_back({std::string(line), {}, ""});
      for (const absl::string_view word : absl::StrSplit(line.substr(kPrompt.size()), ' ')) {
        if (word == "|") break;
        commands.back().words.emplace_back(word);
      }
      is_output = true;
    } else if (absl::StartsWith(line, "```")) {
      is_output = false;
    } else if (is_output) {
      absl::StrAppend(&commands.back().output, line, "\n");
    }
  }
  return commands;
}

class Documentation : public ::testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(Documentation, CommandLinesWork) {
  const auto& [page, least] = GetParam();
  const auto commands = CommandsIn(page);
  ASSERT_TRUE(commands.ok()) << commands.status();
  EXPECT_GE(commands->size(), least) << page << " shows no commands any more";
  ASSERT_EQ(::chdir(test::SourcePath(".").c_str()), 0);
  for (const Shown& command : *commands) {
    const Ran ran = Gyre(command.words);
    EXPECT_EQ(ran.code, kSuccess) << command.line << "\n" << ran.err;
    EXPECT_NE(ran.out, "") << command.line;
    if (!command.output.empty()) {
      EXPECT_EQ(ran.out, command.output) << command.line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Documentation,
                         ::testing::Values(std::pair{"README.md", 2},
                                           std::pair{"docs/guide/command_line.md", 6},
                                           std::pair{"docs/distribution.md", 2}));

}  // namespace
}  // namespace gyre::cli

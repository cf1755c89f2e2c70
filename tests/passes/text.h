// A pass as text: what goes in and what comes out, in the text form of programs.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "session/names.h"

namespace gyre::testing {

struct Asked {
  std::vector<std::string> feeds, fetches, targets = {};
};

// The program of `text`, with what is asked of its main graph. A failed test when names are wrong.
inline Staged StagedText(const std::string& text, const Asked& asked) {
  const auto program = Parse(text);
  auto signature = MainNames(*program).FindSignature(asked.feeds, asked.fetches, asked.targets);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return MakeStaged(program, std::move(signature).value_or(RunSignature()));
}

inline std::string Text(const Program& program) {
  std::string text = absl::StrCat("\n", PrintFunction(program.main()));
  for (const auto& [name, function] : program.functions())
    absl::StrAppend(&text, "\n", PrintFunction(*function));
  return text;
}

// What `pass` makes of the program; "unchanged" if it gives the same one back.
inline std::string After(Pass pass, const std::string& text, const Asked& asked) {
  const Staged before = StagedText(text, asked);
  const auto after = pass(before);
  EXPECT_TRUE(after.ok()) << after.status();
  if (!after.ok()) return "";
  const absl::Status status = Verify(*after->program, Dialect::kAny);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(after->signature.feeds.size(), asked.feeds.size());
  EXPECT_EQ(after->signature.fetches.size(), asked.fetches.size());
  EXPECT_EQ(after->signature.targets.size(), asked.targets.size());
  return after->program == before.program ? "unchanged" : Text(*after->program);
}

}  // namespace gyre::testing

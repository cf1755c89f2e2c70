// Lowering as text: what goes in and what comes out, in the text form of programs.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "lower/lowering.h"
#include "session/names.h"

namespace gyre::testing {

struct Asked {
  std::vector<std::string> feeds, fetches, targets = {};
  LowerOptions options = {};
};

// The main graph of `text`, lowered.
inline std::string LoweredText(const std::string& text, const Asked& asked) {
  const auto program = Parse(text);
  const auto signature =
      MainNames(*program).FindSignature(asked.feeds, asked.fetches, asked.targets);
  EXPECT_TRUE(signature.ok()) << signature.status();
  if (!signature.ok()) return "";
  const auto lowered = LowerMain(*program, *signature, asked.options);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered.ok() ? "\n" + PrintFunction(lowered->program->main()) : "";
}

}  // namespace gyre::testing

// Raising as text: what goes in and what comes out, in the text form of programs.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/raise/raise.h"
#include "session/names.h"

namespace gyre::testing {

struct RaiseAsked {
  std::vector<std::string> feeds, fetches, targets = {};
};

inline absl::StatusOr<Staged> RaiseProgram(const std::string& text, const RaiseAsked& asked) {
  const auto program = Parse(text);
  const auto signature =
      MainNames(*program).FindSignature(asked.feeds, asked.fetches, asked.targets);
  if (!signature.ok()) return signature.status();
  return Raise(MakeStaged(program, *signature));
}

// `text`, raised; or why it is not.
inline std::string RaisedText(const std::string& text, const RaiseAsked& asked) {
  const auto raised = RaiseProgram(text, asked);
  if (!raised.ok()) return std::string(raised.status().message());
  EXPECT_TRUE(Verify(*raised->program, Dialect::kStructured).ok())
      << Verify(*raised->program, Dialect::kStructured);
  return "\n" + PrintProgram(*raised->program);
}

}  // namespace gyre::testing

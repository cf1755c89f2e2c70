// Raising as text: what goes in and what comes out, in the text form of programs.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/raise/raise.h"
#include "support/signature.h"

namespace gyre::testing {

struct RaiseAsked {
  std::vector<std::string> feeds, fetches, targets = {};
};

inline absl::StatusOr<Staged> RaiseProgram(const std::string& text, const RaiseAsked& asked) {
  Staged staged;
  staged.program = Parse(text);
  const auto signature = SignatureOf(*staged.program, asked.feeds, asked.fetches, asked.targets);
  if (!signature.ok()) return signature.status();
  staged.signature = *signature;
  for (const Node& node : staged.program->main().nodes) {
    for (int slot = 0; slot < node.num_outputs(); ++slot)
      staged.values.emplace(Endpoint{node.id, slot}, Endpoint{node.id, slot});
  }
  return Raise(staged);
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

// What passes take, from a program written down as text.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ir/parse.h"
#include "passes/staged.h"
#include "session/names.h"

namespace gyre::testing {

// The program of `text`, with what is asked of its main graph. A failed test when names are wrong.
inline Staged StagedText(const std::string& text, const std::vector<std::string>& feeds,
                         const std::vector<std::string>& fetches) {
  const std::shared_ptr<const Program> program = Parse(text);
  auto signature = MainNames(*program).FindSignature(feeds, fetches);
  EXPECT_TRUE(signature.ok()) << signature.status();
  return MakeStaged(program, std::move(signature).value_or(RunSignature()));
}

}  // namespace gyre::testing

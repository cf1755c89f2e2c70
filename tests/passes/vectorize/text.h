// Vectorize as text: a function of one row goes in, what was made of it comes out.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/parse.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/vectorize/vectorize.h"

namespace gyre::testing {

struct RowsOptions {
  int64_t num_rows = -1;
  bool fall_back = true;
};

// Vectorises `@row` of the program. Its first arguments, as many as `stacked` says, differ from row
// to row. The functions that were made, the new one first, and what became a loop; or the error.
inline std::string AllRows(const std::string& text, size_t stacked, RowsOptions options = {}) {
  const auto program = Parse(absl::StrCat("graph {\n}\n", text));
  const Function* const row = program->FindFunction("row");
  EXPECT_NE(row, nullptr);
  if (row == nullptr) return "";
  ProgramBuilder builder(*program);
  builder.SetMain(*row);
  VectorizeRequest request{
      .name = "rows", .num_rows = options.num_rows, .fall_back = options.fall_back};
  for (size_t i = 0; i < row->args.size(); ++i) {
    request.stacked.push_back(i < stacked);
    request.args.push_back({.shape = row->args[i].shape});
  }
  const auto made = Vectorize(builder.Build(), request);
  if (!made.ok()) return std::string(made.status().message());
  ProgramBuilder checked(*made->program);
  checked.SetMain(Function());
  const absl::Status status = Verify(*checked.Build(), Dialect::kAny);
  EXPECT_TRUE(status.ok()) << status;
  std::string result = "\n";
  absl::StrAppend(&result, PrintFunction(*made->program->FindFunction(made->function)));
  for (const auto& [name, function] : made->program->functions()) {
    if (program->FindFunction(name) == nullptr && name != made->function)
      absl::StrAppend(&result, "\n", PrintFunction(*function));
  }
  for (const LoopOverRows& loop : made->loops)
    absl::StrAppend(&result, "loop: ", loop.op, " '", loop.node, "': ", loop.reason, "\n");
  return result;
}

}  // namespace gyre::testing

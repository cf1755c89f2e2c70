// Programs from text, for the tests of this folder.
#pragma once

#include <memory>

#include "gtest/gtest.h"
#include "ir/text/parser.h"
#include "ops/registry.h"

namespace gyre {

// A failed test and an empty program when the text does not parse.
inline std::shared_ptr<const Program> Parse(absl::string_view text) {
  absl::StatusOr<std::shared_ptr<const Program>> program = ParseProgram(text, Ops());
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *program : ProgramBuilder(Ops()).Build();
}

inline NodeId Id(const Function& function, absl::string_view name) {
  const Node* node = function.FindNode(name);
  EXPECT_NE(node, nullptr) << "no node " << name;
  return node == nullptr ? 0 : node->id;
}

}  // namespace gyre

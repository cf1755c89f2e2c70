// StackHandles: where handles of stacks go, within a function and through the functions it calls.
//
// Of one program, which must outlive it. Immutable.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"

namespace gyre::grad {

// By node, then output: the number of the stack that it is a handle of, or kNoStack.
using StackRows = std::vector<std::vector<int>>;
inline constexpr int kNoStack = -1;

class StackHandles {
 public:
  explicit StackHandles(const Program& program);

  // `args`: of the function's arguments. `own`: of its nodes that make stacks.
  StackRows Follow(const Function& function, const std::vector<int>& args,
                   const std::map<NodeId, int>& own) const;
  // Whether a function does anything with its argument but hand it on.
  bool Uses(const std::string& function, size_t arg) const;
  // The argument that a function returns as a result; -1: something else.
  int Returned(const std::string& function, size_t result) const;

  // Of a structured node's input, a handle: its functions hand it on where it is not followed.
  bool Loses(const Node& structured, size_t input, const StackRows& rows) const;

 private:
  struct Summary {
    std::vector<bool> uses;     // by argument
    std::vector<int> returned;  // by result
  };
  StackRows FollowArgs(const Function& function) const;
  bool FindReturned(const Function& function, Summary& summary) const;
  bool FindUses(const Function& function, Summary& summary) const;
  bool UsesInput(const Node& node, size_t input, const StackRows& rows) const;
  int OutputOfStructured(const Node& node, size_t slot, const StackRows& rows) const;

  const Program& program_;
  std::map<std::string, Summary> summaries_;
};

}  // namespace gyre::grad

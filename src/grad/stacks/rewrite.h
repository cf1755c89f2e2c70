// StackRewrite: one attempt at writing a program with lists in place of stacks.
//
// Functions that get a handle from their callers are written anew for each way in which they are
// called. Not thread-safe; the program must outlive it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/stacks/handles.h"
#include "ir/builder.h"
#include "ir/program.h"
#include "passes/edit/unique_names.h"

namespace gyre::grad {

// Nodes that make stacks, by function ("": the main graph), which are not to be lists, and why they
// cannot; "": nothing is ever popped, so they are in no gradient's way.
using StacksLeft = std::map<std::pair<std::string, NodeId>, std::string>;

class StackRewrite {
 public:
  // Stacks of `left` stay as they are.
  StackRewrite(const Program& program, const StackHandles& handles, const StacksLeft& left)
      : program_(program), handles_(handles), left_(left), names_(program) {}

  // Null when more stacks are left than before.
  absl::StatusOr<std::shared_ptr<const Program>> Run();
  const StacksLeft& left() const { return left_; }

 private:
  // A function whose callers hand over lists; they come last among its arguments and results.
  struct Version {
    std::string name;
    std::vector<std::string> why_not;  // by list; empty: nothing is in the way
    std::vector<bool> pops;            // by list: the function, or one that it calls, pops
  };
  // A structured node whose functions use stacks.
  struct Structured {
    std::vector<int> stacks;
    std::vector<std::string> functions;  // as CalleesOf
  };
  // One function while it is rewritten. Stacks are numbered: those of the arguments, then its own.
  struct Work {
    const Function& function;
    std::vector<NodeId> order;
    std::vector<int> args;  // by argument: the stack, or kNoStack
    int num_given;
    std::vector<NodeId> makers;  // of its own stacks
    StackRows rows;
    std::vector<std::vector<NodeId>> users;  // by stack, in order
    std::map<NodeId, Structured> structured_nodes;
    std::vector<std::string> why_not;  // by given stack
    std::vector<bool> pops;            // by stack
  };

  // The main graph may have a name, too.
  std::string KeyOf(const Function& function) const {
    return &function == &program_.main() ? "" : function.name;
  }
  // Of `version`: all but the name.
  absl::StatusOr<Function> Rewrite(const Function& function, const std::vector<int>& args,
                                   int num_given, Version& version);
  absl::StatusOr<const Version*> VersionOf(const Function& function, const std::vector<int>& args,
                                           int num_given);
  std::string WithMoreArgs(const Function& function, size_t count);

  // What is in the way, and what is used where.
  absl::Status Read(Work& work);
  absl::Status ReadNode(const Node& node, Work& work);
  absl::Status ReadStructured(const Node& node, Work& work);
  std::string WhyNotRewritten(const Node& node) const;
  void CheckOrder(int stack, Work& work);
  void Fail(int stack, const std::string& why, Work& work);

  absl::Status Write(const Work& work, FunctionBuilder& builder);
  absl::Status WriteNode(const Node& node, const Work& work, std::vector<Endpoint>& lists,
                         FunctionBuilder& builder);
  absl::Status WriteStructured(const Node& node, const Structured& structured,
                               std::vector<Endpoint>& lists, FunctionBuilder& builder);

  const Program& program_;
  const StackHandles& handles_;
  StacksLeft left_;
  bool has_failed_ = false;
  passes::UniqueNames names_;
  std::map<std::pair<std::string, std::vector<int>>, Version> versions_;
  std::map<std::pair<std::string, size_t>, std::string> with_more_args_;
  std::vector<Function> functions_;  // written
};

}  // namespace gyre::grad

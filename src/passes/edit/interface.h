// Changing what goes into and comes out of functions and the nodes that call them.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/program.h"
#include "passes/edit/rewrite.h"

namespace gyre::passes {

// What a structured node takes behind its selectors, and gives.
struct StructuredInterface {
  std::vector<Endpoint> args;
  std::vector<DType> arg_types;
  std::vector<DType> output_types;
  std::vector<int> outputs_from;  // per output: which one of the old node it is; -1: a new one
};

// What it has now.
StructuredInterface InterfaceOf(const Node& structured);
// `structured` with another interface; names and all else stay.
absl::StatusOr<Node> WithInterface(const Node& structured, const StructuredInterface& wanted);
// Puts WithInterface(structured node, wanted) in place of `structured`, whose outputs are read from
// there. Who comes after it, and what it comes after, stays so: arguments that are left out are
// waited for if `keep_waiting` says so of their node.
absl::Status ReplaceStructured(NodeId structured, const StructuredInterface& wanted,
                               const std::vector<bool>& keep_waiting, Rewrite& rewrite);

// Leaves out arguments and results. Requirement: nobody reads the arguments.
void KeepInterface(const std::vector<bool>& args, const std::vector<bool>& results,
                   Rewrite& function);
// A new last argument, and the value that it has.
Endpoint AddArgument(absl::string_view name, DType dtype, const OpLookup& ops, Rewrite& function);
void AddResult(absl::string_view name, DType dtype, Endpoint value, Rewrite& function);

// A node like `structured` that calls `function` once, with `args`.
absl::StatusOr<Node> CallInstead(const OpLookup& ops, const Node& structured,
                                 const FunctionRef& function, bool has_effects,
                                 std::vector<Endpoint> args, std::vector<DType> arg_types);

}  // namespace gyre::passes

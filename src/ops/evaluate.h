// Runs one op by itself: for constant folding, tests and fuzzing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "ops/registry.h"

namespace gyre {

// Makes the node `op_name` with these attributes, inferring what the inputs tell: `T` from a
// tensor's dtype, `N` from how many inputs are left, lists of types from all of them.
// INVALID_ARGUMENT when they don't fit the schema.
GYRE_INTERNAL_EXPORT absl::StatusOr<Node> MakeNode(const OpRegistry& ops, absl::string_view op_name,
                                                   const std::vector<Tensor>& inputs,
                                                   AttrMap attrs = {});

// Runs the kernel. Waits for an asynchronous one until `cancellation` ends it (null for nothing
// that does); attends meanwhile.
absl::Status RunAndWait(const Kernel& kernel, KernelContext& ctx, Cancellation* cancellation);

// Runs the kernel of `node` on `inputs` and returns its outputs (those of an untaken side have no
// value). Waits for an asynchronous kernel until `env`'s cancellation ends it. Shape rules are not
// consulted.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const OpRegistry& ops, const Node& node,
                                                 std::vector<Tensor> inputs, RunEnv& env,
                                                 Tag tag = {});

// Both, with an environment of its own.
GYRE_INTERNAL_EXPORT absl::StatusOr<std::vector<Tensor>> EvaluateOp(absl::string_view op_name,
                                                                    std::vector<Tensor> inputs,
                                                                    AttrMap attrs = {});

}  // namespace gyre

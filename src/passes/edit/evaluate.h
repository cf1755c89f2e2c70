// Evaluating parts of a program before it runs.
#pragma once

#include <optional>
#include <vector>

#include "analysis/effects.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"

namespace gyre::passes {

// The outputs of a node with these inputs; nothing if it fails (it will do so again when it runs,
// and be reported), has no kernel, is not pure, makes anything but plain tensors, or would make
// more than kMaxBytes and more than goes in.
inline constexpr size_t kMaxBytes = size_t{1} << 20;
std::optional<std::vector<Tensor>> EvaluatePure(const Node& node, std::vector<Tensor> inputs);

// The results of a call with these arguments, of which some may be unknown (no value); so are then
// the results that need them. All unknown if the function is not pure, or large.
std::vector<Tensor> EvaluateCall(const Effects& effects, const Function& function,
                                 const std::vector<Tensor>& arguments);

}  // namespace gyre::passes

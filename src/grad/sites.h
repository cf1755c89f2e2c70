// What the gradients of If, Case, While, For and calls have in common.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grad/body.h"

namespace gyre::grad {

// Where a value that a function's gradient needs is to be had outside of the function.
struct Origin {
  enum class Place : uint8_t { kArgument, kResult, kInside };
  Place place = Place::kInside;
  int index = -1;  // of the argument or result
};
Origin OriginOf(const Function& function, Endpoint e);

// By input behind the selectors: whether its gradient is of use and depends on an output that has
// an adjoint.
std::vector<bool> WantedArgs(Body& body, const Node& site);
// What is asked of the site's functions, but for their results. `args`: the values they get.
FunctionRequest RequestOf(Body& body, const std::vector<Endpoint>& args, std::vector<bool> wanted);

// Has sums go through a part of a loop: those of the wanted arguments that `function` returns as
// they are and whose gradient is one tensor.
absl::Status SeedSums(Transform& transform, const Function& function, FunctionRequest& request);

// Makes `site` call other functions, in the order of CalleesOf.
void SetFunctions(const std::vector<std::string>& names, Node& site);
// Puts `site` back on the forward side with more arguments and outputs.
absl::Status ExtendSite(Body& body, Node site, const std::vector<Endpoint>& more_args,
                        const std::vector<DType>& more_outputs);

// A node on the backward side that calls functions of the transform. The stateless `op` if none of
// them has effects; all that name Tout get `types`.
struct BackwardSite {
  absl::string_view op;  // "If", "Case", "While", "PartitionedCall"
  std::vector<Expr> inputs;
  std::vector<DType> types;  // of its outputs
  AttrMap attrs;
  bool has_effects = false;
};
std::vector<Expr> AddSite(Body& body, const BackwardSite& site);

}  // namespace gyre::grad

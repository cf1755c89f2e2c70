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
std::vector<bool> WantedArgs(GradientBody& body, const Node& structured);
// What is asked of the structured node's functions, but for their results. `args`: the values they
// get.
FunctionRequest RequestOf(GradientBody& body, const std::vector<Endpoint>& args,
                          std::vector<bool> wanted);

// Has sums go through a part of a loop: those of the wanted arguments that `function` returns as
// they are and whose gradient is one tensor.
absl::Status SeedSums(GradientTransform& transform, const Function& function,
                      FunctionRequest& request);

// `copy` runs in the place of `original`, and draws the same random numbers.
void MarkAsCopy(const Function& original, Function& copy);
// Makes `structured` call other functions, in the order of CalleesOf.
void SetFunctions(const std::vector<std::string>& names, Node& structured);
// Puts `structured` back on the forward side with more arguments and outputs.
struct MoreOutput {
  DType dtype;
  ValueKind kind;
};
inline MoreOutput TapeOutput() {
  return {DType::kVariant, {ValueKind::Type::kOptional, DType::kInvalid, {}}};
}
absl::Status ExtendStructured(GradientBody& body, Node structured,
                              const std::vector<Endpoint>& more_args,
                              const std::vector<MoreOutput>& more_outputs);

// A tape: an optional that holds values of `function`, by which a gradient comes.
struct TapeOf {
  std::vector<Endpoint> values;
  std::vector<DType> types;
  KindRow kinds;
};
void AddToTape(const Function& function, Endpoint value, const ValueKind& kind, TapeOf& tape);
// The tape, written by the function that has the values; one without values holds nothing.
Expr WriteTape(const TapeOf& tape, ExprBuilder& builder);
std::vector<Expr> ReadTape(const TapeOf& tape, Expr from);

// A node on the backward side that calls functions of the transform. The stateless `op` if none of
// them has effects; all that name Tout get `types`.
struct BackwardNode {
  absl::string_view op;  // "If", "Case", "While", "PartitionedCall"
  std::vector<Expr> inputs;
  std::vector<DType> types;  // of its outputs
  AttrMap attrs;
  bool has_effects = false;
};
std::vector<Expr> AddStructured(GradientBody& body, const BackwardNode& structured);

}  // namespace gyre::grad

// What people name on the command line, looked up in a program: tensors, ops, what to feed and what
// to fetch. Functions of their arguments alone; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/shape.h"
#include "ir/program.h"

namespace gyre::cli {

// "node" or "node:slot" of the main graph. NOT_FOUND suggests names that are close.
absl::StatusOr<Endpoint> FindTensor(const Program& program, absl::string_view name);
absl::StatusOr<NodeId> FindOp(const Program& program, absl::string_view name);

// What has to be fed, in the graph's order.
std::vector<NodeId> Placeholders(const Program& program);
// The shape that a fed tensor must have, as far as the graph says.
PartialShape FedShape(const Node& node);
// Values of the main graph that nobody uses: what it was probably built for.
std::vector<Endpoint> LikelyFetches(const Program& program);
// Ops without outputs that nobody waits for, such as an initialiser.
std::vector<NodeId> LikelyTargets(const Program& program);

// "x:0 float32[2,?]": an output with what the graph says of it.
std::string DescribeTensor(const Program& program, Endpoint e);

}  // namespace gyre::cli

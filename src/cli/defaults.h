// What a program has to be fed, and what is worth fetching and running, where the command line does
// not say. Functions of their arguments alone; any thread.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/shape.h"
#include "ir/program.h"

namespace gyre::cli {

// What has to be fed, in the graph's order.
std::vector<NodeId> Placeholders(const Program& program);
// The shape that a fed tensor must have, as far as the graph says.
PartialShape FedShape(const Node& node);
// Values of the main graph that nobody uses: what it was probably built for.
// Constants only if there is nothing else.
std::vector<Endpoint> LikelyFetches(const Program& program);
// Ops without outputs that nobody waits for, such as an initialiser.
std::vector<NodeId> LikelyTargets(const Program& program);

// "x:0 float32[2,?]": an output with what the graph says of it.
std::string DescribeTensor(const Program& program, Endpoint e);

}  // namespace gyre::cli

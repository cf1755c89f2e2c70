// StackFlow: whether a derivative flows from xs to ys by way of what stacks hold.
//
// Stacks of one element type are not told apart, and a function's calls are taken together: what is
// found to flow may not, what is not found does not. Of one program, which must outlive it.
#pragma once

#include <string>
#include <vector>

#include "grad/dependence.h"
#include "ir/program.h"

namespace gyre::grad {

// StackV2, Stack; StackPushV2, StackPush; …
bool IsStackMaker(const Node& node);
bool IsStackPush(const Node& node);
bool IsStackPop(const Node& node);
bool IsStackClose(const Node& node);

// Whether anything is pushed anywhere.
bool HasStacks(const Program& program);

// "node 'a' (Op)", and where, unless that is the main graph.
std::string Described(const Function& function, const Node& node);

// Values of a function, or of the main graph, "": derivatives of ys by xs are asked for.
struct Asked {
  std::string function;
  std::vector<Endpoint> ys;
  std::vector<Endpoint> xs;
  std::vector<Endpoint> stops;  // nothing goes through these
};

// A node that takes from a stack what depends on an x, and from which a y comes.
struct PopOnTheWay {
  const Function* function = nullptr;  // null: there is none
  NodeId pop = -1;
  DType dtype = DType::kInvalid;
};
PopOnTheWay FindPopOnTheWay(const Program& program, const Asked& asked);

}  // namespace gyre::grad

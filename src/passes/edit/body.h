// BodyFacts: what passes must know of one function's nodes before they change them.
#pragma once

#include <vector>

#include "analysis/effects.h"
#include "analysis/run_signature.h"
#include "ir/program.h"
#include "passes/edit/rewrite.h"

namespace gyre::passes {

struct BodyFacts {
  std::vector<NodeId> order;        // producers first, by data and control edges
  std::vector<EffectSet> effects;   // by node
  std::vector<bool> after_effects;  // the node, or one it waits for, comes in an order with others
  std::vector<bool> gives_reference;  // whatever its signature says
  // Must stay as it is: it is fed, it reads or hands on a reference, or its op is not known.
  std::vector<bool> is_fixed;

  // A computation that may be evaluated beforehand, shared, or moved elsewhere.
  bool IsPure(NodeId id) const { return effects[id].IsPure() && !is_fixed[id]; }
};

// `feeds` are those of the function, if it is the main graph. Requirement: not IsOpaque(function).
// Linear in nodes and edges.
BodyFacts ReadBody(const Function& function, const Effects& effects,
                   const std::vector<Endpoint>& feeds = {});

// The node that makes `e` now; null where that says nothing of `e`, which is fed or a reference.
// Requirement: `body` is what ReadBody says of the function before its change.
const Node* MakerOf(const Rewrite& rewrite, const BodyFacts& body, Endpoint e);
// What `e` is in every run, if that is a constant; else null.
const Tensor* ConstantOf(const Rewrite& rewrite, const BodyFacts& body, Endpoint e);

// Per node: the nodes that read one of its outputs, once per input that does.
std::vector<std::vector<NodeId>> Readers(const Function& function);

}  // namespace gyre::passes

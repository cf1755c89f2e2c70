#include "place/cut_edges.h"

#include "base/work.h"
#include "place/groups.h"

namespace gyre::place {

CutEdges CountEdges(const CutProgram& program) {
  const Function& function = program.whole.function;
  Colocation colocation = FindColocation(program.whole, program.frames, program.needed);
  CutEdges count;
  const auto add = [&](NodeId from, NodeId to) {
    while (program.needed[from] && colocation.is_invariant[from])
      from = function.node(from).inputs[0].node;
    if (!program.needed[from] || colocation.groups.Of(from) == colocation.groups.Of(to)) return;
    ++count.edges;
    if (program.placement.device[from] != program.placement.device[to]) ++count.cut;
  };
  for (const Node& node : function.nodes) {
    SpendWork();
    if (!program.needed[node.id]) continue;
    ++count.nodes;
    if (colocation.is_invariant[node.id]) continue;
    for (const Endpoint& input : node.inputs) add(input.node, node.id);
    for (const NodeId control : node.control_inputs) add(control, node.id);
  }
  return count;
}

}  // namespace gyre::place

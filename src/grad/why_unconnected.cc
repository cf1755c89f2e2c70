#include "grad/why_unconnected.h"

#include "absl/strings/str_cat.h"
#include "ir/data_order.h"

namespace gyre::grad {
namespace {

// By node: whether a y is computed from it, in any way.
std::vector<bool> LeadsTo(const Function& main, const std::vector<Endpoint>& ys) {
  std::vector<bool> leads(main.nodes.size());
  std::vector<NodeId> open;
  for (const Endpoint& y : ys) open.push_back(y.node);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (leads[id]) continue;
    leads[id] = true;
    for (const Endpoint& e : main.node(id).inputs) open.push_back(e.node);
  }
  return leads;
}

std::string Reason(const Node& node) {
  const std::string& why =
      node.op == nullptr ? std::string() : node.op->gradient.not_differentiable;
  return why.empty() ? "" : absl::StrCat(": ", why);
}

}  // namespace

std::string WhyUnconnected(const Function& main, const Dependence& dependence,
                           const std::vector<Endpoint>& ys, Endpoint x) {
  const std::string name = main.EndpointName(x);
  const DType dtype = main.node(x.node).signature.outputs[x.slot].dtype;
  if (!HasDerivative(dtype))
    return absl::StrCat("'", name, "' is ", DTypeName(dtype), ", which has no derivative");
  const std::vector<bool> leads = LeadsTo(main, ys);
  if (!leads[x.node])
    return absl::StrCat("nothing of what is differentiated depends on '", name, "'");
  Marks marks = NoMarks(main);
  marks[x.node][x.slot] = true;
  MarkDependents(main, dependence, NoMarks(main), marks);
  for (const NodeId id : OrderByData(main).order) {
    const Node& node = main.node(id);
    if (!leads[id]) continue;
    for (const Endpoint& e : node.inputs) {
      if (!marks[e.node][e.slot]) continue;
      bool goes_on = false;
      for (const bool mark : marks[id]) goes_on |= mark;
      if (goes_on) continue;
      return absl::StrCat("no derivative comes from '", name, "' through node '", node.name, "' (",
                          node.op_name, ")", Reason(node));
    }
  }
  return absl::StrCat("no derivative leads from '", name, "' to what is differentiated");
}

}  // namespace gyre::grad

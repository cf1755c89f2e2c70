#include "passes/edit/rewrite.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"
#include "ir/type_attrs.h"

namespace gyre::passes {
namespace {

// What a node waits for. What is fed is there without the node that would make it.
std::vector<NodeId> WaitsOf(const Node& node, const HashSet<Endpoint>& fed) {
  std::vector<NodeId> waits = node.control_inputs;
  for (const Endpoint& e : node.inputs) {
    if (!fed.contains(e)) waits.push_back(e.node);
  }
  return waits;
}

void SortUnique(std::vector<NodeId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

void MakeConstant(const OpLookup& ops, const Tensor& value, std::vector<NodeId> control_inputs,
                  Node& node) {
  node.op_name = "Const";
  node.op = ops.Find("Const");
  node.inputs.clear();
  node.control_inputs = std::move(control_inputs);
  node.attrs = {};
  node.attrs.Set("dtype", value.dtype());
  node.attrs.Set("value", value);
  node.signature = {};
  node.signature.outputs.push_back({value.dtype(), false});
  node.wire_extra.clear();
}

Rewrite::Rewrite(const OpLookup& ops, Function function, RunSignature run)
    : ops_(&ops),
      function_(std::move(function)),
      run_(std::move(run)),
      num_old_(static_cast<NodeId>(function_.nodes.size())),
      dropped_(function_.nodes.size()) {}

Endpoint Rewrite::Resolve(Endpoint e) const {
  for (auto it = replaced_.find(e); it != replaced_.end(); it = replaced_.find(e)) e = it->second;
  return e;
}

Node& Rewrite::Edit(NodeId id) {
  changed_ = true;
  return function_.nodes[id];
}

Function& Rewrite::EditInterface() {
  changed_ = true;
  return function_;
}

NodeId Rewrite::Add(Node node, NodeId before) {
  SpendWork();
  SpendWorkMemory(kWorkBytesOfNode);
  changed_ = true;
  node.id = static_cast<NodeId>(function_.nodes.size());
  if (node.op != nullptr && node.op->stateful() && !function_.name.empty())
    function_.stateful = true;
  const NodeId id = node.id;
  function_.nodes.push_back(std::move(node));
  dropped_.push_back(false);
  before_.push_back(before < id ? before : -1);
  return id;
}

absl::StatusOr<NodeId> Rewrite::Add(absl::string_view op, absl::Span<const Endpoint> inputs,
                                    AttrMap attrs, Options options) {
  Node node;
  node.op_name = std::string(op);
  node.op = ops_->Find(op);
  if (node.op == nullptr) return absl::NotFoundError(absl::StrCat("there is no op called ", op));
  std::vector<NodeSignature::Slot> slots;
  for (const Endpoint& e : inputs) slots.push_back(this->node(e.node).signature.outputs[e.slot]);
  for (const auto& [name, value] : DeduceTypeAttrs(*node.op, slots, {})) {
    if (!attrs.Has(name)) attrs.Set(name, value);
  }
  node.inputs.assign(inputs.begin(), inputs.end());
  node.attrs = std::move(attrs);
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*node.op, node.attrs));
  node.name = options.name.empty() ? std::string(op) : std::move(options.name);
  node.control_inputs = std::move(options.control_inputs);
  if (options.like != nullptr) {
    node.device = options.like->device;
    node.source = options.like->source;
  }
  return Add(std::move(node), options.before);
}

Endpoint Rewrite::AddConstant(const Tensor& value, Options options) {
  Node node;
  MakeConstant(*ops_, value, std::move(options.control_inputs), node);
  node.name = options.name.empty() ? "Const" : std::move(options.name);
  if (options.like != nullptr) {
    node.device = options.like->device;
    node.source = options.like->source;
  }
  return {Add(std::move(node), options.before), 0};
}

void Rewrite::Replace(Endpoint from, Endpoint to) {
  to = Resolve(to);
  if (from == to) return;
  changed_ = true;
  replaced_[from] = to;
}

void Rewrite::Drop(NodeId id) {
  changed_ = true;
  dropped_[id] = true;
}

void Rewrite::Drop(NodeId id, std::vector<NodeId> waits) {
  Drop(id);
  waits_[id] = std::move(waits);
}

void Rewrite::TurnIntoNoOp(NodeId id, std::vector<NodeId> waits) {
  Node& node = function_.nodes[id];
  node.op_name = "NoOp";
  node.op = ops_->Find("NoOp");
  node.inputs.clear();
  node.control_inputs = std::move(waits);
  node.attrs = {};
  node.signature = {};
  node.wire_extra.clear();
  dropped_[id] = false;
  waits_.erase(id);
}

// For each dropped node that somebody waits for: either one node to wait for, or none, in waits_;
// else it becomes a NoOp that waits for all of them. Chains of dropped nodes are followed without
// recursion.
void Rewrite::FindWaits() {
  std::vector<NodeId> work;
  const auto want = [&](NodeId id) {
    if (dropped_[id]) work.push_back(id);
  };
  for (const Node& node : function_.nodes) {
    if (dropped_[node.id]) continue;
    for (const NodeId control : node.control_inputs) want(control);
  }
  for (const NodeId target : run_.targets) want(target);
  for (const auto& [name, id] : function_.control_results) want(id);
  const HashSet<Endpoint> fed(run_.feeds.begin(), run_.feeds.end());
  HashSet<NodeId> done, open;
  while (!work.empty()) {
    const NodeId id = work.back();
    if (!dropped_[id] || done.contains(id)) {
      work.pop_back();
      continue;
    }
    std::vector<NodeId> waits = waits_.contains(id) ? waits_[id] : WaitsOf(node(id), fed);
    // Nobody waits for a fed placeholder, and as a target it would ask for its value.
    std::erase_if(waits, [&](NodeId wait) {
      return node(wait).kind() == OpKind::kPlaceholder && fed.contains({wait, 0});
    });
    if (open.insert(id).second) {
      for (const NodeId wait : waits) {
        if (dropped_[wait] && !done.contains(wait)) work.push_back(wait);
      }
      if (work.back() != id) continue;
    }
    work.pop_back();
    done.insert(id);
    ReplaceControls(waits);
    if (waits.size() <= 1) {
      waits_[id] = std::move(waits);
    } else {
      TurnIntoNoOp(id, std::move(waits));
    }
  }
}

// Dropped nodes by what to wait for instead, each once. A constant is not waited for.
void Rewrite::ReplaceControls(std::vector<NodeId>& controls) {
  std::vector<NodeId> replaced;
  for (const NodeId id : controls) {
    if (!dropped_[id]) {
      if (ConstantValue(node(id)) == nullptr) replaced.push_back(id);
      continue;
    }
    const auto it = waits_.find(id);
    if (it == waits_.end()) continue;
    for (const NodeId wait : it->second) {
      if (ConstantValue(node(wait)) == nullptr) replaced.push_back(wait);
    }
  }
  SortUnique(replaced);
  controls = std::move(replaced);
}

std::vector<NodeId> Rewrite::NewOrder() const {
  struct Place {
    NodeId before;  // an old node
    bool is_old;
    bool is_no_argument;
    NodeId id;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for (const Node& node : function_.nodes) {
    if (dropped_[node.id]) continue;
    NodeId before = node.id;
    while (before >= num_old_) before = before_[before - num_old_];
    if (before < 0) before = num_old_;
    places.push_back({before, node.id < num_old_, node.kind() != OpKind::kArg, node.id});
  }
  std::sort(places.begin(), places.end());
  std::vector<NodeId> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.id);
  return order;
}

void Rewrite::MakeNamesUnique(const std::vector<NodeId>& order) {
  HashMap<std::string, int> taken;  // and the last number given to each
  for (const NodeId id : order) {
    if (id < num_old_) taken.emplace(node(id).name, 0);
  }
  for (const NodeId id : order) {
    if (id < num_old_) continue;
    std::string& name = function_.nodes[id].name;
    if (taken.emplace(name, 0).second) continue;
    for (int i = taken[name] + 1;; ++i) {
      std::string numbered = absl::StrCat(name, "_", i);
      if (!taken.emplace(numbered, 0).second) continue;
      taken[name] = i;
      name = std::move(numbered);
      break;
    }
  }
}

absl::StatusOr<Rewrite::Finished> Rewrite::Finish() && {
  FindWaits();
  // A target or control result stays a node, which may be one that stands for another.
  const auto standing = [&](NodeId id) -> NodeId {
    if (!dropped_[id]) return id;
    const std::vector<NodeId>& waits = waits_.at(id);
    if (waits.size() == 1) return waits[0];
    TurnIntoNoOp(id, {});
    return id;
  };
  for (NodeId& target : run_.targets) target = standing(target);
  for (auto& [name, id] : function_.control_results) id = standing(id);
  for (Endpoint& feed : run_.feeds) feed = Resolve(feed);
  for (Endpoint& fetch : run_.fetches) fetch = Resolve(fetch);
  for (FunctionResult& result : function_.results) result.value = Resolve(result.value);
  for (Node& node : function_.nodes) {
    if (dropped_[node.id]) continue;
    for (Endpoint& e : node.inputs) e = Resolve(e);
    if (!node.control_inputs.empty()) ReplaceControls(node.control_inputs);
  }
  const std::vector<NodeId> order = NewOrder();
  MakeNamesUnique(order);
  Finished finished;
  finished.new_ids.assign(function_.nodes.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) finished.new_ids[order[i]] = static_cast<NodeId>(i);
  absl::Status status;
  const auto renumber = [&](NodeId& id) {
    const NodeId now = finished.new_ids[id];
    if (now < 0)
      status = BugError(absl::StrCat("node ", node(id).name, " was dropped, but is needed"));
    id = now;
  };
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const NodeId id : order) {
    SpendWork();
    Node node = function_.nodes[id];
    node.id = static_cast<NodeId>(nodes.size());
    for (Endpoint& e : node.inputs) renumber(e.node);
    for (NodeId& control : node.control_inputs) renumber(control);
    nodes.push_back(std::move(node));
  }
  for (NodeId& id : function_.arg_nodes) renumber(id);
  for (FunctionResult& result : function_.results) renumber(result.value.node);
  for (auto& [name, id] : function_.control_results) renumber(id);
  for (Endpoint& feed : run_.feeds) renumber(feed.node);
  for (Endpoint& fetch : run_.fetches) renumber(fetch.node);
  for (NodeId& target : run_.targets) renumber(target);
  if (!status.ok()) return status;
  function_.nodes = std::move(nodes);
  finished.function = std::move(function_);
  finished.run = std::move(run_);
  return finished;
}

}  // namespace gyre::passes

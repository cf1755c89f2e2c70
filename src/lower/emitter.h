// LoweringEmitter: the lowered function while it grows, node by node, with names and origins.
//
// Not thread-safe. What goes wrong is kept in `status()` (it would be a bug: Lower checks what it
// expands), so that those who draw plumbing need not look after every node.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "ir/program.h"
#include "lower/lower.h"

namespace gyre::lower {

// Whose plumbing a node is, and the scope that it stands in.
struct Where {
  const Node* structured = nullptr;
  int scope = 0;
};

class LoweringEmitter {
 public:
  explicit LoweringEmitter(const OpLookup& ops) : ops_(ops) {}

  // A name nobody has: `wanted`, with a suffix if that is taken. Constant time.
  std::string UniqueName(std::string wanted);
  // A node that is complete but for its id; its name is taken as it is.
  NodeId Add(Node node, NodeOrigin origin);
  // Plumbing. Attributes that the inputs tell may be left out.
  NodeId Plumb(Where where, absl::string_view op, std::string name,
               const std::vector<Endpoint>& inputs, std::vector<NodeId> controls = {},
               AttrMap attrs = {}) {
    return PlumbNamed(where, op, UniqueName(std::move(name)), inputs, std::move(controls),
                      std::move(attrs));
  }
  // As Plumb, with a name that is taken as it is.
  NodeId PlumbNamed(Where where, absl::string_view op, std::string name,
                    const std::vector<Endpoint>& inputs, std::vector<NodeId> controls = {},
                    AttrMap attrs = {});
  // As Plumb, for its first output.
  Endpoint Plumb1(Where where, absl::string_view op, std::string name,
                  const std::vector<Endpoint>& inputs, std::vector<NodeId> controls = {},
                  AttrMap attrs = {}) {
    return {Plumb(where, op, std::move(name), inputs, std::move(controls), std::move(attrs)), 0};
  }
  void SetInput(NodeId node, int slot, Endpoint input) { nodes_[node].inputs[slot] = input; }
  void SetControls(NodeId node, std::vector<NodeId> controls);
  // Replaces what was said when the node was made.
  void SetOrigin(NodeId node, NodeOrigin origin) { origins_[node] = origin; }

  const Node& node(NodeId id) const { return nodes_[id]; }
  bool is_ref(Endpoint e) const;
  // Variant where it is not known: the output of an op that Gyre does not have, of which only its
  // deadness can arrive, or what is fed in its place.
  DType dtype(Endpoint e) const;
  size_t size() const { return nodes_.size(); }
  const absl::Status& status() const { return status_; }

  std::vector<Node> TakeNodes() { return std::move(nodes_); }
  std::vector<NodeOrigin> TakeOrigins() { return std::move(origins_); }

 private:
  NodeId AddPlumbing(Node node, Where where, std::vector<NodeId> controls);
  bool HandsOnReference(absl::string_view op, const std::vector<Endpoint>& inputs) const;
  const OpLookup& ops_;
  std::vector<Node> nodes_;
  std::vector<NodeOrigin> origins_;
  HashMap<std::string, int> names_;  // with the number of the last suffix given
  absl::Status status_;
};

}  // namespace gyre::lower

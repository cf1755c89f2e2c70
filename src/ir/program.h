// Program, Function, Node: the graph of operations that engines run and passes transform.
//
// A Program is an immutable snapshot: transforms build a new one (sharing the functions they don't
// change) and plans bind to the snapshot they were made from. Snapshots are passed as
// shared_ptr<const Program> and may be read from any thread. Ids are dense: node i of a function is
// nodes[i]. Names are for people; no meaning hangs on them, save that fetches and feeds may use
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"
#include "ir/attr.h"
#include "ir/op_def.h"

namespace gyre {

using NodeId = int32_t;

// Output `slot` of node `node`.
struct Endpoint {
  NodeId node = -1;
  int32_t slot = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.node, e.slot);
  }
};

struct Node {
  NodeId id = -1;
  std::string name;
  std::string op_name;
  const OpDef* op =
      nullptr;  // null: an op that the registry does not know; fine as long as nothing needs it
  std::vector<Endpoint> inputs;
  std::vector<NodeId> control_inputs;
  AttrMap attrs;  // declared ones, defaults filled in, and undeclared ones
  NodeSignature signature;
  std::string device;
  std::string source;      // where the user wrote it, "file.py:12"; empty when unknown
  std::string wire_extra;  // fields of the wire's NodeDef that Gyre does not read, serialised; kept
                           // for export

  OpKind kind() const { return op == nullptr ? OpKind::kPlain : op->kind; }
  Role role() const { return op == nullptr ? Role::kOther : op->traits.role; }
  int num_outputs() const { return static_cast<int>(signature.outputs.size()); }
};

// What a Const node that waits for nothing states; null for other nodes.
GYRE_EXPORT const Tensor* ConstantValue(const Node& node);

struct FunctionArg {
  std::string name;
  DType dtype = DType::kInvalid;
  bool is_ref = false;
  PartialShape shape;  // as promised by the signature's attributes
  AttrMap attrs;
};

struct FunctionResult {
  std::string name;
  DType dtype = DType::kInvalid;
  Endpoint value;
};

// A graph with arguments and results. Argument i is the node of kind kArg whose attribute `index`
// is i (arg_nodes[i]). A program's main graph is a Function with neither.
struct GYRE_EXPORT Function {
  std::string name;
  std::vector<Node> nodes;
  std::vector<FunctionArg> args;
  std::vector<NodeId> arg_nodes;
  std::vector<FunctionResult> results;
  // Nodes that run although no result needs them, with the names under which callers know them.
  std::vector<std::pair<std::string, NodeId>> control_results;
  AttrMap attrs;
  bool stateful = false;
  std::string doc;
  std::string wire_extra;  // as Node::wire_extra, of the wire's FunctionDef

  const Node& node(NodeId id) const { return nodes[id]; }
  // Null when there is no such node. Linear in the number of nodes: callers that look up many keep
  // an index.
  const Node* FindNode(absl::string_view node_name) const;
  // "node" or "node:slot".
  std::string EndpointName(Endpoint e) const;
};

class GYRE_EXPORT Program {
 public:
  // The graph that fetches and targets name. Never null.
  const Function& main() const { return *main_; }
  const std::shared_ptr<const Function>& main_ptr() const { return main_; }
  // Null when there is no such function.
  const Function* FindFunction(absl::string_view name) const;
  const std::map<std::string, std::shared_ptr<const Function>>& functions() const {
    return functions_;
  }
  // function → its gradient function, as the wire's library lists them.
  const std::map<std::string, std::string>& gradient_functions() const {
    return gradient_functions_;
  }
  const OpLookup& ops() const { return *ops_; }
  // Distinguishes snapshots: no two programs of a process have the same.
  uint64_t version() const { return version_; }
  // GraphDef versions, kept for export.
  int32_t producer() const { return producer_; }
  int32_t min_consumer() const { return min_consumer_; }
  const std::string& wire_extra() const { return wire_extra_; }

 private:
  friend class ProgramBuilder;
  std::shared_ptr<const Function> main_;
  std::map<std::string, std::shared_ptr<const Function>> functions_;
  std::map<std::string, std::string> gradient_functions_;
  const OpLookup* ops_ = nullptr;
  uint64_t version_ = 0;
  int32_t producer_ = 0;
  int32_t min_consumer_ = 0;
  std::string wire_extra_;
};

// Makes a new snapshot, from nothing or from an older one. Not thread-safe.
class GYRE_EXPORT ProgramBuilder {
 public:
  explicit ProgramBuilder(const OpLookup& ops);
  // Starts as a copy of `base`, whose functions are shared.
  explicit ProgramBuilder(const Program& base);

  ProgramBuilder& SetMain(Function main);
  // Adds or replaces.
  ProgramBuilder& SetFunction(Function function);
  ProgramBuilder& EraseFunction(absl::string_view name);
  ProgramBuilder& SetGradientFunction(absl::string_view function, absl::string_view gradient);
  ProgramBuilder& SetVersions(int32_t producer, int32_t min_consumer);
  ProgramBuilder& SetWireExtra(std::string bytes);

  std::shared_ptr<const Program> Build();

 private:
  std::unique_ptr<Program> program_;
};

// A copy of `function` with every placeholder attribute replaced from `attrs`, and the signatures
// that depended on them resolved. INVALID_ARGUMENT when one is missing.
GYRE_EXPORT absl::StatusOr<Function> Instantiate(const Function& function, const AttrMap& attrs);

}  // namespace gyre

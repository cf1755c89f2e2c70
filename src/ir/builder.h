// FunctionBuilder: makes a Function node by node. Tracers, passes and gradient rules write programs
// with it.
//
//   FunctionBuilder f(Ops(), "square_sum");
//   const Endpoint x = f.Arg("x", DType::kFloat);
//   GYRE_ASSIGN_OR_RETURN(const Endpoint y, f.Add1("Mul", {x, x}));
//   f.Return("y", y);
//   GYRE_ASSIGN_OR_RETURN(Function square_sum, f.Build());
//
// Not thread-safe. `ops` must outlive the functions that are built.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/hash_map.h"
#include "gyre/core/export.h"
#include "ir/program.h"

namespace gyre {

class GYRE_EXPORT FunctionBuilder {
 public:
  // What a node may have beside inputs and attributes.
  struct NodeOptions {
    std::string name;  // empty: derived from the op; made unique by a suffix "_1", "_2", …
    std::vector<NodeId> control_inputs;
    std::string device;
    std::string source;
  };

  FunctionBuilder(const OpLookup& ops, std::string name);
  // Goes on where `function` ends: ids and names of its nodes stay.
  FunctionBuilder(const OpLookup& ops, Function function);

  // The next argument.
  Endpoint Arg(absl::string_view name, DType dtype, PartialShape shape = PartialShape::Unknown(),
               bool is_ref = false);
  // Puts the arguments behind the first `fixed` into this order. Requirement, not checked: `order`
  // holds each of them once.
  void OrderArgs(size_t fixed, absl::Span<const Endpoint> order);

  // A node. Attributes that the inputs tell (T, N, …) may be left out. INVALID_ARGUMENT or
  // NOT_FOUND, naming the op, when inputs or attributes don't fit its schema.
  absl::StatusOr<NodeId> Add(absl::string_view op, absl::Span<const Endpoint> inputs,
                             AttrMap attrs = {}, NodeOptions options = {});
  // What Add would append, without appending it: for callers that look at the node first.
  absl::StatusOr<Node> Make(absl::string_view op, absl::Span<const Endpoint> inputs,
                            AttrMap attrs = {}, NodeOptions options = {}) const;
  // Appends a node that Make gave. Its id and, where it is taken, its name change.
  NodeId Append(Node node);
  // As Add, for ops whose first output is what matters.
  absl::StatusOr<Endpoint> Add1(absl::string_view op, absl::Span<const Endpoint> inputs,
                                AttrMap attrs = {}, NodeOptions options = {});
  // The same node of another function with other inputs. Requirement, not checked: of the same
  // types.
  NodeId Copy(const Node& node, std::vector<Endpoint> inputs, std::vector<NodeId> control_inputs);
  // A Const node.
  Endpoint Constant(const Tensor& value, NodeOptions options = {});

  // Replaces one input: how the back edge of a loop is closed. INVALID_ARGUMENT when the types
  // differ.
  absl::Status SetInput(NodeId node, int slot, Endpoint input);
  void AddControlInput(NodeId node, NodeId control);
  // Puts another node in the place of one, whose id and name it gets. Requirement, not checked: its
  // first outputs are of the types of those that it replaces.
  void Replace(NodeId id, Node node);

  // `name` is made unique among the results by a suffix "_1", "_2", …
  void Return(absl::string_view name, Endpoint value);
  void ReturnControl(absl::string_view name, NodeId node);

  const std::string& name() const { return function_.name; }
  // The function so far.
  const Function& function() const { return function_; }
  const Node& node(NodeId id) const { return function_.nodes[id]; }
  DType dtype(Endpoint e) const { return node(e.node).signature.outputs[e.slot].dtype; }

  // The function so far; the builder must not be used afterwards.
  Function Build();

 private:
  std::string UniqueName(absl::string_view wanted);
  const OpLookup& ops_;
  Function function_;
  HashMap<std::string, int> names_;  // and the last number given to each
  HashSet<std::string> result_names_;
};

}  // namespace gyre

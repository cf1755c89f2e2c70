// Scope: the main graph, or the body of a function, while nodes are added to it.
//
// A body is traced inside the scope that it stands in, its parent. Values of the parent, and of
// what is around that, may be used: each becomes an argument of the body, once ("capture"), and an
// argument of the bodies in between; constants are copied instead. A scope stays, as the place
// where Values were made, when its function has been finished.
//
// Owned by the graph (the main one), by the tracer of a construct, and by the Values made in it.
// One thread. Mistakes of the user are thrown as Errors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "front/effect_order.h"
#include "gyre/value.h"
#include "ir/builder.h"
#include "ir/shape_context.h"

namespace gyre::internal {

class GraphState;
class Scope;
using ScopePtr = std::shared_ptr<Scope>;

// A node to be added.
struct NodeRequest {
  std::string op;
  std::vector<Endpoint> inputs;
  AttrMap attrs;
  std::string name;    // empty: after the op
  std::string device;  // empty: as the graph's settings say
  std::source_location where;
  std::string source;  // the line that it came from; empty: `where`
  // Of a node that calls functions: what its outputs are, and what its functions touch.
  std::optional<std::vector<ValueInfo>> infos;
  std::optional<std::vector<Access>> accesses;
  bool has_final_name = false;     // `name` is taken already, and stays as it is
  std::vector<Operation> awaited;  // beside what the order of effects and settings ask for
  // Its effect does not belong to the course of the program: it runs when it is asked for.
  bool is_apart = false;
};

class GYRE_INTERNAL_EXPORT Scope : public std::enable_shared_from_this<Scope> {
 public:
  // What a body is, for messages: "the body of loop 'while'", and where it was written.
  struct Description {
    std::string what;
    std::string line;
  };

  // `parent` is null for the main graph.
  Scope(std::weak_ptr<GraphState> graph, ScopePtr parent, std::string function_name,
        Description description);

  // Throws FAILED_PRECONDITION when the graph is gone.
  std::shared_ptr<GraphState> graph() const;
  const ScopePtr& parent() const { return parent_; }
  bool is_main() const { return parent_ == nullptr; }
  // Another one for each scope of the process.
  uint64_t number() const { return number_; }
  bool is_finished() const { return finished_ != nullptr; }
  const Description& description() const { return description_; }
  // The function so far, or as it was finished.
  const Function& function() const { return finished_ ? *finished_ : builder_->function(); }
  const ValueInfo& info(Endpoint e) const { return infos_[e.node][e.slot]; }
  // When a node was added: see BuildClock in tape_record.h.
  uint64_t made_at(NodeId node) const { return made_at_[node]; }
  // The resources of elsewhere that it touches.
  std::vector<Access> accesses() const;
  // The nodes after which all its effects have happened.
  std::vector<NodeId> last_effects() const { return effects_.Last(); }
  // The same, and what is added from now on waits for none of them.
  std::vector<NodeId> TakeEffects();
  // Whether it runs nodes that must not be shared, moved or dropped.
  bool is_stateful() const { return function().stateful; }

  // A node, with control edges as the order of effects and the graph's settings ask for.
  NodeId Add(NodeRequest request);
  Endpoint AddConstant(const Tensor& value, const std::string& name,
                       const std::source_location& where, bool has_final_name = false);
  // Where session rules name nodes: takes the name that a node asks for now, before its constants
  // get names within it. Empty elsewhere.
  std::string ClaimName(const NodeRequest& request);
  // The same for an input of such a node.
  std::string ClaimInputName(const std::string& node, absl::string_view input);
  // Somebody knows more of a value's shape. INVALID_ARGUMENT if that contradicts what is known.
  void RefineShape(Endpoint e, const PartialShape& shape, const std::source_location& where);
  // Replaces one input, and adds a control edge: how graphs of primitives close their loops.
  void SetInput(NodeId node, int slot, Endpoint input, const std::source_location& where);
  void AddControlInput(NodeId node, NodeId before);
  // The next argument of the function; before anything is captured.
  Value AddArg(const std::string& name, DType dtype, ValueInfo info,
               const PartialShape& promised = PartialShape::Unknown());
  // Where `value` is to be had in this scope: itself, or captured. Throws if it is not to be had.
  Endpoint Use(const Value& value, const std::source_location& where);
  // The same of what is here already; nullopt: it is not.
  std::optional<Endpoint> Find(const Value& value) const;
  // Somebody knows which value it has, always.
  void NoteValue(Endpoint e, const Tensor& value);
  // A resource that is handed over from another graph, as far as that tells resources apart.
  void StandsFor(const Value& here, const Value& elsewhere);
  Value ValueAt(Endpoint e) { return Value(shared_from_this(), e.node, e.slot); }
  // What a node touches that takes these inputs as `slots` and reads, writes, or talks to the host.
  struct Effects {
    bool reads = false;
    bool writes = false;
    bool talks = false;
  };
  std::vector<Access> AccessesThrough(absl::Span<const Endpoint> inputs,
                                      absl::Span<const NodeSignature::Slot> slots, Effects effects);

  // What has been captured, as Values of the parent, in order.
  const std::vector<Value>& captures() const { return captures_; }
  // Gives the function arguments for exactly these captures, in this order, behind those that were
  // made by AddArg. Requirement: they include all of captures().
  void SetCaptures(const std::vector<Value>& captures);
  // Nodes outside of the body that the construct it belongs to must wait for.
  const std::vector<Operation>& awaited() const { return awaited_; }
  // Notes that it must wait for one, if that is of a scope around this one.
  void AwaitOutside(const Operation& operation);

  // Ends the function, with these results and the effects, and puts it into the graph's library.
  // `is_part`: of the parent, and gone if that is discarded.
  void Finish(const std::vector<std::pair<std::string, Endpoint>>& results, bool is_part);
  // Takes the functions of what was traced in it out of the library again. The scope itself must
  // not have been finished.
  void Discard();

  // The function so far as the main graph of a program with the functions that it needs: what
  // transforms such as gradients take. Its arguments promise the shapes that are known here.
  std::shared_ptr<const Program> AsProgram() const;
  // Goes on with what a transform has made of `base`, which AsProgram returned: with its main
  // graph, in which nodes and their first outputs are what they were, and its functions.
  void Replace(const Program& base, const Program& program);

 private:
  using OuterValue = std::pair<const Scope*, Endpoint>;

  // Of a node that is new.
  void NoteNode(std::vector<ValueInfo> outputs);
  Endpoint Capture(const Value& value, const std::source_location& where);
  std::vector<ValueInfo> InferOutputs(const Node& node, const NodeRequest& request) const;
  std::vector<ValueInfo> InputInfos(const Node& node) const;
  std::vector<Access> AccessesOf(const Node& node);
  ResourceKey KeyOf(Endpoint resource);
  ResourceKey KeyOfMaker(const Node& node);
  void OrderEffects(NodeId node, const std::vector<Access>& accesses);
  // Where and under which name the node is to stand, and what it waits for.
  FunctionBuilder::NodeOptions OptionsFor(NodeRequest& request);
  void Await(const Operation& operation, const std::source_location& where,
             std::vector<NodeId>& here);
  [[noreturn]] void ThrowAt(const absl::Status& status, const NodeRequest& request) const;
  [[noreturn]] void ThrowOutOfReach(const Scope& made_in, NodeId node,
                                    const std::source_location& where) const;

  const std::weak_ptr<GraphState> graph_;
  const ScopePtr parent_;
  const uint64_t number_;
  const Description description_;
  std::unique_ptr<FunctionBuilder> builder_;
  std::shared_ptr<const Function> finished_;
  std::vector<std::vector<ValueInfo>> infos_;  // by node, then by output
  std::vector<uint64_t> made_at_;              // by node
  EffectOrder effects_;
  HashMap<Endpoint, ResourceKey> resources_;
  std::set<ResourceKey> own_resources_;  // of one run of the body
  size_t num_own_args_ = 0;
  std::vector<Value> captures_;
  HashMap<OuterValue, Endpoint> imported_;
  std::vector<Operation> awaited_;
  std::vector<std::string> parts_;  // functions that bodies within it became
};

}  // namespace gyre::internal

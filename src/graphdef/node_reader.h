// NodeReader: one NodeDef becomes one Node, apart from its edges: its op, its attributes with
// defaults and bindings, and the types of its inputs and outputs.
//
// Lives through one import, on one thread.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graphdef/function_library.h"
#include "ir/program.h"
#include "wire/graph.pb.h"

namespace gyre {

// Marks a call that the file spells as a node whose op is the function's name. In memory it is a
// PartitionedCall or a StatefulPartitionedCall like any other.
inline constexpr absl::string_view kLegacyCallAttr = "_gyre_legacy_call";
// On a node of unknown op in a function's body: its outputs as the file names them ("out:0"), in
// the order of their slots.
inline constexpr absl::string_view kOutputNamesAttr = "_gyre_output_names";

struct ReadNode {
  Node node;
  // The function that a legacy call names; it knows the names of the node's outputs.
  const FunctionInstance* callee = nullptr;
};

class NodeReader {
 public:
  // All references are kept.
  NodeReader(const OpLookup& ops, FunctionLibrary& library, DecodeLimits& limits)
      : ops_(ops), library_(library), limits_(limits) {}

  // `bindings`: values of the placeholders in the body that `def` stands in; null in the main
  // graph.
  absl::StatusOr<ReadNode> Read(const wire::NodeDef& def, const AttrMap* bindings);

  // Takes room for `count` slots that no bytes of the file stand for. INVALID_ARGUMENT when there
  // is no more of it.
  absl::Status ChargeSlots(size_t count);

  const OpLookup& ops() const { return ops_; }
  DecodeLimits& limits() { return limits_; }

 private:
  absl::Status ReadOp(const OpDef& op, Node& node);
  absl::Status ReadLegacyCall(ReadNode& call);
  absl::Status ResolveFunctions(const OpDef& op, AttrMap& attrs);
  absl::Status ResolveFunction(const OpDef& op, FunctionRef& ref);

  const OpLookup& ops_;
  FunctionLibrary& library_;
  DecodeLimits& limits_;
};

}  // namespace gyre

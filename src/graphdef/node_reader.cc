#include "graphdef/node_reader.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "graphdef/wire_format.h"

namespace gyre {
namespace {

// What of `def` is neither a member of Node nor decoded into one.
std::string NodeExtra(const wire::NodeDef& def, WireAttrs kept) {
  google::protobuf::Arena arena;
  auto& extra = *google::protobuf::Arena::CreateMessage<wire::NodeDef>(&arena);
  if (def.has_experimental_debug_info()) {
    *extra.mutable_experimental_debug_info() = def.experimental_debug_info();
  }
  if (def.has_experimental_type()) *extra.mutable_experimental_type() = def.experimental_type();
  extra.mutable_attr()->swap(kept);
  CopyUnknownFields(def, &extra);
  return SerializeExtra(extra);
}

absl::Status BindAttrs(AttrMap& attrs, const AttrMap& bindings, FunctionLibrary& library) {
  AttrMap bound;
  for (const auto& [name, value] : attrs) {
    absl::StatusOr<AttrValue> result = library.Bind(value, bindings);
    if (!result.ok()) return internal::AnnotateAttr(result.status(), name);
    bound.Set(name, *std::move(result));
  }
  attrs = std::move(bound);
  return absl::OkStatus();
}

std::vector<NodeSignature::Slot> Flatten(const std::vector<FormalArg>& formals) {
  std::vector<NodeSignature::Slot> slots;
  for (const FormalArg& formal : formals) {
    slots.insert(slots.end(), formal.slots.begin(), formal.slots.end());
  }
  return slots;
}

std::vector<DType> Types(const std::vector<NodeSignature::Slot>& slots) {
  std::vector<DType> types;
  for (const NodeSignature::Slot& slot : slots) types.push_back(slot.dtype);
  return types;
}

}  // namespace

absl::StatusOr<ReadNode> NodeReader::Read(const wire::NodeDef& def, const AttrMap* bindings) {
  if (!IsValidNodeName(def.name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::Utf8SafeCHexEscape(def.name()), "' is not a valid name of a node"));
  }
  ReadNode result;
  Node& node = result.node;
  node.name = def.name();
  node.op_name = def.op();
  node.device = def.device();
  node.op = ops_.Find(def.op());
  const bool is_legacy_call = node.op == nullptr && library_.Has(def.op());
  WireAttrs kept;
  GYRE_ASSIGN_OR_RETURN(
      node.attrs, DecodeAttrs(def.attr(), limits_, &kept, [&](const std::string& name) {
        return is_legacy_call || (node.op != nullptr && node.op->FindAttr(name) != nullptr);
      }));
  if (bindings != nullptr) GYRE_RETURN_IF_ERROR(BindAttrs(node.attrs, *bindings, library_));
  node.wire_extra = NodeExtra(def, std::move(kept));
  if (is_legacy_call) {
    GYRE_RETURN_IF_ERROR(ReadLegacyCall(result));
  } else if (node.op != nullptr) {
    GYRE_RETURN_IF_ERROR(ReadOp(*node.op, node));
  } else if (def.op().empty()) {
    return absl::NotFoundError("there is no op or function named ''");
  }
  return result;
}

absl::Status NodeReader::ChargeSlots(size_t count) {
  const int64_t bytes = static_cast<int64_t>(count * sizeof(NodeSignature::Slot));
  if (bytes > limits_.expanded_bytes_left) {
    return absl::InvalidArgumentError(
        absl::StrCat("its ", count,
                     " inputs and outputs, with what nodes before it have asked for "
                     "beyond the bytes of the file, take more memory than a file may ask for"));
  }
  limits_.expanded_bytes_left -= bytes;
  return absl::OkStatus();
}

absl::Status NodeReader::ReadOp(const OpDef& op, Node& node) {
  GYRE_RETURN_IF_ERROR(ResolveFunctions(op, node.attrs));
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(op, node.attrs));
  return ChargeSlots(node.signature.inputs.size() + node.signature.outputs.size());
}

absl::Status NodeReader::ReadLegacyCall(ReadNode& call) {
  Node& node = call.node;
  const std::string function = node.op_name;
  AttrMap attrs;
  for (const auto& [name, value] : node.attrs) {
    if (library_.DeclaresAttr(function, name)) continue;
    if (name.empty() || name[0] != '_') {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", function, " does not declare attribute ", name));
    }
    attrs.Set(name, value);
  }
  GYRE_ASSIGN_OR_RETURN(call.callee, library_.Instantiate(function, node.attrs));
  node.op_name = call.callee->stateful ? "StatefulPartitionedCall" : "PartitionedCall";
  node.op = ops_.Find(node.op_name);
  if (node.op == nullptr) return BugError(absl::StrCat("there is no op ", node.op_name));
  node.signature = {Flatten(call.callee->inputs), Flatten(call.callee->outputs)};
  GYRE_RETURN_IF_ERROR(ChargeSlots(node.signature.inputs.size() + node.signature.outputs.size()));
  attrs.Set("Tin", Types(node.signature.inputs));
  attrs.Set("Tout", Types(node.signature.outputs));
  attrs.Set("f", FunctionRef{call.callee->name, nullptr});
  attrs.Set(kLegacyCallAttr, true);
  node.attrs = std::move(attrs);
  // Fills in the call op's defaults. The types stay the function's own: only they tell a Ref.
  return ResolveSignature(*node.op, node.attrs).status();
}

absl::Status NodeReader::ResolveFunctions(const OpDef& op, AttrMap& attrs) {
  for (const AttrDef& def : op.attrs) {
    if (def.kind != AttrKind::kFunc) continue;
    const AttrValue* value = attrs.Find(def.name);
    if (value == nullptr) continue;
    AttrValue resolved = *value;
    absl::Status status;
    if (auto* ref = std::get_if<FunctionRef>(&resolved)) status.Update(ResolveFunction(op, *ref));
    if (auto* refs = std::get_if<std::vector<FunctionRef>>(&resolved)) {
      for (FunctionRef& ref : *refs) status.Update(ResolveFunction(op, ref));
    }
    if (!status.ok()) return internal::AnnotateAttr(status, def.name);
    attrs.Set(def.name, std::move(resolved));
  }
  return absl::OkStatus();
}

absl::Status NodeReader::ResolveFunction(const OpDef& op, FunctionRef& ref) {
  if (!library_.Has(ref.name)) {
    // The gradient of a single op may be asked for by the op's name.
    if (op.kind == OpKind::kSymbolicGradient && ops_.Find(ref.name) != nullptr)
      return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(
        "there is no function named '", absl::Utf8SafeCHexEscape(ref.name), "' in the library"));
  }
  static const AttrMap kNone;
  GYRE_ASSIGN_OR_RETURN(const FunctionInstance* instance,
                        library_.Instantiate(ref.name, ref.attrs == nullptr ? kNone : *ref.attrs));
  if (instance->is_generic()) ref = {instance->name, nullptr};
  return absl::OkStatus();
}

}  // namespace gyre

#include "graphdef/canonical.h"

#include <algorithm>
#include <limits>

#include "google/protobuf/util/field_comparator.h"
#include "google/protobuf/util/message_differencer.h"
#include "graphdef/attr_proto.h"

namespace gyre::test {
namespace {

void CanonicalizeTensor(wire::TensorProto& proto) {
  DecodeLimits limits{std::numeric_limits<int64_t>::max()};
  const absl::StatusOr<Tensor> tensor = DecodeTensor(proto, limits);
  if (!tensor.ok()) return;
  wire::TensorProto again;
  if (EncodeTensor(*tensor, &again).ok()) proto = again;
}

void CanonicalizeNode(const OpLookup& ops, wire::NodeDef& node) {
  for (auto& [name, value] : *node.mutable_attr()) {
    if (value.has_tensor()) CanonicalizeTensor(*value.mutable_tensor());
    if (!value.has_list()) continue;
    for (wire::TensorProto& tensor : *value.mutable_list()->mutable_tensor())
      CanonicalizeTensor(tensor);
  }
  const OpDef* op = ops.Find(node.op());
  for (const AttrDef& attr : op == nullptr ? std::vector<AttrDef>() : op->attrs) {
    if (!attr.default_value || node.attr().contains(attr.name)) continue;
    EncodeAttr(*attr.default_value, &(*node.mutable_attr())[attr.name]).IgnoreError();
  }
  auto* inputs = node.mutable_input();
  const auto first_control = std::find_if(inputs->begin(), inputs->end(),
                                          [](const std::string& s) { return s[0] == '^'; });
  std::sort(first_control, inputs->end());
  inputs->erase(std::unique(first_control, inputs->end()), inputs->end());
}

void CanonicalizeFunction(const OpLookup& ops, wire::FunctionDef& function) {
  function.mutable_signature()->clear_is_stateful();
  for (wire::NodeDef& node : *function.mutable_node_def()) CanonicalizeNode(ops, node);
  for (auto it = function.mutable_arg_attr()->begin(); it != function.mutable_arg_attr()->end();) {
    it = it->second.attr().empty() ? function.mutable_arg_attr()->erase(it) : std::next(it);
  }
}

}  // namespace

wire::GraphDef ParseBinary(const std::string& bytes) {
  wire::GraphDef graph;
  graph.ParseFromString(bytes);
  return graph;
}

void Canonicalize(const OpLookup& ops, wire::GraphDef& graph) {
  for (wire::NodeDef& node : *graph.mutable_node()) CanonicalizeNode(ops, node);
  auto* functions = graph.mutable_library()->mutable_function();
  for (wire::FunctionDef& function : *functions) CanonicalizeFunction(ops, function);
  std::sort(functions->begin(), functions->end(), [](const auto& a, const auto& b) {
    return a.signature().name() < b.signature().name();
  });
  if (graph.library().ByteSizeLong() == 0) graph.clear_library();
}

std::string Differences(const wire::GraphDef& a, const wire::GraphDef& b) {
  std::string report;
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  differencer.ReportDifferencesToString(&report);
  return differencer.Compare(a, b) ? "" : report;
}

}  // namespace gyre::test

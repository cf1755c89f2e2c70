// What is left when a model has been written: names that are not needed.
#include <string>

#include "base/hash_map.h"
#include "base/work.h"
#include "onnx/write/model_writer.h"

namespace gyre::onnx {
namespace {

using Names = HashSet<std::string>;

// Nodes from which nothing leads to an output go; the names that the rest uses, inner graphs
// included, are added to `used`.
void DropUnused(wire::GraphProto* graph, Names* used) {
  CheckStack();
  for (const auto& output : graph->output()) used->insert(output.name());
  std::vector<wire::NodeProto> kept;
  for (int i = graph->node_size() - 1; i >= 0; --i) {
    SpendWork();
    wire::NodeProto& node = *graph->mutable_node(i);
    bool is_used = false;
    for (const std::string& output : node.output()) is_used = is_used || used->count(output) > 0;
    if (!is_used) continue;
    for (const std::string& input : node.input()) used->insert(input);
    for (wire::AttributeProto& attr : *node.mutable_attribute()) {
      if (attr.has_g()) DropUnused(attr.mutable_g(), used);
    }
    kept.emplace_back().Swap(&node);
  }
  graph->clear_node();
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) graph->add_node()->Swap(&*it);
}

using Renamed = HashMap<std::string, std::string>;

// Where an output is a copy of what a node of its own graph makes, that node makes the output.
void FindCopies(wire::GraphProto* graph, Renamed* renamed) {
  CheckStack();
  Names made, outputs;
  for (const auto& output : graph->output()) outputs.insert(output.name());
  for (const auto& node : graph->node()) {
    for (const std::string& output : node.output()) made.insert(output);
  }
  std::vector<wire::NodeProto> kept;
  for (wire::NodeProto& node : *graph->mutable_node()) {
    for (wire::AttributeProto& attr : *node.mutable_attribute()) {
      if (attr.has_g()) FindCopies(attr.mutable_g(), renamed);
    }
    const bool is_copy = node.op_type() == "Identity" && outputs.count(node.output(0)) > 0 &&
                         made.count(node.input(0)) > 0 && outputs.count(node.input(0)) == 0 &&
                         renamed->count(node.input(0)) == 0;
    if (is_copy) {
      (*renamed)[node.input(0)] = node.output(0);
    } else {
      kept.emplace_back().Swap(&node);
    }
  }
  graph->clear_node();
  for (wire::NodeProto& node : kept) graph->add_node()->Swap(&node);
}

// Then what is said of values that are no more, or of outputs, goes.
void Rename(const Renamed& renamed, wire::GraphProto* graph) {
  CheckStack();
  Names made;
  const auto rename = [&](std::string* name) {
    if (const auto it = renamed.find(*name); it != renamed.end()) *name = it->second;
  };
  for (wire::NodeProto& node : *graph->mutable_node()) {
    for (std::string& input : *node.mutable_input()) rename(&input);
    for (std::string& output : *node.mutable_output()) {
      if (renamed.count(output) == 0) made.insert(output);
      rename(&output);
    }
    for (wire::AttributeProto& attr : *node.mutable_attribute()) {
      if (attr.has_g()) Rename(renamed, attr.mutable_g());
    }
  }
  google::protobuf::RepeatedPtrField<wire::ValueInfoProto> kept;
  for (wire::ValueInfoProto& info : *graph->mutable_value_info()) {
    if (made.count(info.name()) > 0) kept.Add()->Swap(&info);
  }
  graph->mutable_value_info()->Swap(&kept);
}

}  // namespace

void Tidy(wire::GraphProto* graph) {
  Names used;
  DropUnused(graph, &used);
  Renamed renamed;
  FindCopies(graph, &renamed);
  Rename(renamed, graph);
  google::protobuf::RepeatedPtrField<wire::TensorProto> kept;
  for (wire::TensorProto& initializer : *graph->mutable_initializer()) {
    if (used.count(initializer.name()) > 0) kept.Add()->Swap(&initializer);
  }
  graph->mutable_initializer()->Swap(&kept);
}

}  // namespace gyre::onnx

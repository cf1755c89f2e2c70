// Nodes of ONNX models, as tests write them.
#pragma once

#include <string>
#include <vector>

#include "onnx/onnx.pb.h"

namespace gyre::test {

inline onnx::wire::NodeProto& AddNode(onnx::wire::GraphProto& graph, const std::string& op,
                                      const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs) {
  onnx::wire::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name("the_" + op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

inline onnx::wire::AttributeProto& AddAttribute(onnx::wire::NodeProto& node,
                                                const std::string& name,
                                                onnx::wire::AttributeProto::AttributeType type) {
  onnx::wire::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace gyre::test

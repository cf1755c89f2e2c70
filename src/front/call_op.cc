// Ops that gyre/ops.h has no function for: those of plug-ins.
#include "front/error.h"
#include "front/op_call.h"
#include "gyre/graph.h"
#include "ops/plugin.h"

namespace gyre {

std::vector<Value> call_op(const std::string& op, const std::vector<OpInput>& inputs,
                           std::source_location where) {
  return call_op(op, inputs, AttrMap(), where);
}

std::vector<Value> call_op(const std::string& op, const std::vector<OpInput>& inputs,
                           const AttrMap& attrs, std::source_location where) {
  internal::OpCall call(op, where);
  for (const OpInput& input : inputs) call.In(input.list());
  for (const auto& [name, value] : attrs) call.Attr(name, value);
  return call.All();
}

void load_plugin(const std::string& path) {
  if (absl::Status status = LoadPlugin(path); !status.ok()) internal::Throw(std::move(status));
}

}  // namespace gyre

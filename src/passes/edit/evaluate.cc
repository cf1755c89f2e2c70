#include "passes/edit/evaluate.h"

#include <algorithm>
#include <utility>

#include "base/work.h"
#include "ops/evaluate.h"
#include "passes/edit/body.h"
#include "passes/edit/rewrite.h"

namespace gyre::passes {
namespace {

constexpr size_t kMaxNodes = 1000;             // of a function that is evaluated
constexpr int64_t kBudget = int64_t{1} << 26;  // bytes that one op may use on its way

bool IsPlainType(DType dtype) {
  return dtype != DType::kInvalid && dtype != DType::kResource && dtype != DType::kVariant;
}

bool CanEvaluate(const Node& node) {
  if (node.op == nullptr || !IsPlain(node.kind()) || node.op->stateful()) return false;
  if (node.signature.outputs.empty() || !Ops().HasKernel(node.op_name)) return false;
  const auto is_plain = [](const NodeSignature::Slot& slot) {
    return IsPlainType(slot.dtype) && !slot.is_ref;
  };
  return std::all_of(node.signature.outputs.begin(), node.signature.outputs.end(), is_plain);
}

size_t Bytes(const std::vector<Tensor>& tensors) {
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

}  // namespace

std::optional<std::vector<Tensor>> EvaluatePure(const Node& node, std::vector<Tensor> inputs) {
  if (!CanEvaluate(node)) return std::nullopt;
  // A function that does not fit its callers, which nothing calls: kernels rely on types.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != node.signature.inputs[i].dtype) return std::nullopt;
  }
  const size_t limit = std::max(kMaxBytes, Bytes(inputs));
  const auto budget = MakeRef<MemoryBudget>(std::max<int64_t>(kBudget, 2 * limit));
  Cancellation cancellation;
  ResourceStore resources;
  RunEnv env;
  env.cancellation = &cancellation;
  env.budget = budget.get();
  env.resources = &resources;
  absl::StatusOr<std::vector<Tensor>> outputs = EvaluateNode(Ops(), node, std::move(inputs), env);
  if (!outputs.ok() || Bytes(*outputs) > limit) return std::nullopt;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const Tensor& output = (*outputs)[i];
    if (!output.has_value() || output.dtype() != node.signature.outputs[i].dtype)
      return std::nullopt;
  }
  return *std::move(outputs);
}

std::vector<Tensor> EvaluateCall(const Effects& effects, const Function& function,
                                 const std::vector<Tensor>& arguments) {
  std::vector<Tensor> results(function.results.size());
  if (function.nodes.size() > kMaxNodes || IsOpaque(function)) return results;
  const BodyFacts body = ReadBody(function, effects);
  std::vector<std::vector<Tensor>> values(function.nodes.size());
  for (const NodeId id : body.order) {
    SpendWork();
    const Node& node = function.node(id);
    if (node.kind() == OpKind::kArg) {
      values[id] = {arguments[node.attrs.GetOr<int64_t>("index", 0)]};
      continue;
    }
    if (const Tensor* constant = ConstantValue(node)) {
      values[id] = {*constant};
      continue;
    }
    std::vector<Tensor> inputs;
    for (const Endpoint& e : node.inputs) {
      const std::vector<Tensor>& made = values[e.node];
      if (static_cast<size_t>(e.slot) >= made.size() || !made[e.slot].has_value()) break;
      inputs.push_back(made[e.slot]);
    }
    if (!body.IsPure(id) || inputs.size() < node.inputs.size()) continue;
    if (auto outputs = EvaluatePure(node, std::move(inputs))) values[id] = *std::move(outputs);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Endpoint e = function.results[i].value;
    if (static_cast<size_t>(e.slot) < values[e.node].size()) results[i] = values[e.node][e.slot];
  }
  return results;
}

}  // namespace gyre::passes

#include "ops/evaluate.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "base/attention.h"
#include "ir/type_attrs.h"

namespace gyre {

absl::StatusOr<Node> MakeNode(const OpRegistry& ops, absl::string_view op_name,
                              const std::vector<Tensor>& inputs, AttrMap attrs) {
  const OpDef* op = ops.Find(op_name);
  if (op == nullptr) return absl::NotFoundError(absl::StrCat("there is no op called ", op_name));
  std::vector<NodeSignature::Slot> slots;
  for (const Tensor& input : inputs) slots.push_back({input.dtype(), input.is_ref()});
  for (const auto& [name, value] : DeduceTypeAttrs(*op, slots, {})) {
    if (!attrs.Has(name)) attrs.Set(name, value);
  }
  Node node;
  node.id = 0;
  node.name = absl::StrCat("the_", op_name);
  node.op_name = std::string(op_name);
  node.op = op;
  node.attrs = std::move(attrs);
  GYRE_ASSIGN_OR_RETURN(node.signature, ResolveSignature(*op, node.attrs));
  if (node.signature.inputs.size() != slots.size()) {
    return absl::InvalidArgumentError(absl::StrCat(op_name, " takes ", node.signature.inputs.size(),
                                                   " inputs, not ", slots.size()));
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    const NodeSignature::Slot& want = node.signature.inputs[i];
    if (slots[i] == want) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " of ", op_name, " must be ", want.is_ref ? "a reference to " : "",
        DTypeName(want.dtype), ", not ", DTypeName(slots[i].dtype)));
  }
  return node;
}

absl::Status RunAndWait(const Kernel& kernel, KernelContext& ctx, Cancellation* cancellation) {
  if (kernel.run != nullptr) return kernel.run(ctx, kernel.attrs.get());
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  absl::Status status;
  kernel.run_async(ctx, kernel.attrs.get(), [&](absl::Status result) {
    const std::lock_guard lock(mutex);
    status = std::move(result);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(5), [&] { return done; })) {
    lock.unlock();
    Attention::Attend();
    if (cancellation != nullptr) cancellation->Poll().IgnoreError();  // a deadline ends the wait
    lock.lock();
  }
  return status;
}

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const OpRegistry& ops, const Node& node,
                                                 std::vector<Tensor> inputs, RunEnv& env, Tag tag) {
  GYRE_ASSIGN_OR_RETURN(const Kernel kernel, ops.MakeKernel(node));
  std::vector<Tensor> outputs(node.signature.outputs.size());
  KernelContext ctx(node, env, tag, absl::MakeSpan(inputs), absl::MakeSpan(outputs));
  GYRE_RETURN_IF_ERROR(RunAndWait(kernel, ctx, env.cancellation));
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> EvaluateOp(absl::string_view op_name,
                                               std::vector<Tensor> inputs, AttrMap attrs) {
  GYRE_ASSIGN_OR_RETURN(const Node node, MakeNode(Ops(), op_name, inputs, std::move(attrs)));
  Cancellation cancellation;
  ResourceStore resources;
  LocalRendezvous rendezvous;
  RunEnv env;
  env.cancellation = &cancellation;
  env.resources = &resources;
  env.rendezvous = &rendezvous;
  return EvaluateNode(Ops(), node, std::move(inputs), env);
}

}  // namespace gyre

// What the tests of stateful ops and of lists share: ops run one after another in one session.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ir/shape_context.h"
#include "ops/evaluate.h"
#include "ops/math_values.h"

namespace gyre::test {

// Tensors moved into a vector, so that the op holds the only reference to what was moved.
template <typename... T>
std::vector<Tensor> Inputs(T&&... tensors) {
  std::vector<Tensor> inputs;
  (inputs.push_back(std::forward<T>(tensors)), ...);
  return inputs;
}

// A session and one run in it.
class ResourceRun {
 public:
  explicit ResourceRun(int64_t budget = std::numeric_limits<int64_t>::max())
      : budget_(MakeRef<MemoryBudget>(budget)) {
    env_.cancellation = &cancellation_;
    env_.budget = budget_.get();
    env_.resources = &resources_;
    env_.rendezvous = &rendezvous_;
  }

  RunEnv& env() { return env_; }
  Cancellation& cancellation() { return cancellation_; }
  MemoryBudget& budget() { return *budget_; }

  absl::StatusOr<std::vector<Tensor>> Try(absl::string_view op, std::vector<Tensor> inputs,
                                          AttrMap attrs = {}) {
    GYRE_ASSIGN_OR_RETURN(const Node node, MakeNode(Ops(), op, inputs, std::move(attrs)));
    return EvaluateNode(Ops(), node, std::move(inputs), env_);
  }
  // All outputs; a failed test if the op fails.
  std::vector<Tensor> All(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> outputs = Try(op, std::move(inputs), std::move(attrs));
    if (outputs.ok()) return *std::move(outputs);
    ADD_FAILURE() << std::string(op) << ": " << outputs.status();
    return std::vector<Tensor>(4);
  }
  // Output 0.
  Tensor Run(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    std::vector<Tensor> outputs = All(op, std::move(inputs), std::move(attrs));
    return outputs.empty() ? Tensor() : std::move(outputs[0]);
  }
  absl::Status Error(absl::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
    absl::StatusOr<std::vector<Tensor>> outputs = Try(op, std::move(inputs), std::move(attrs));
    EXPECT_FALSE(outputs.ok()) << std::string(op) << " succeeded";
    return outputs.status();
  }

 private:
  RefPtr<MemoryBudget> budget_;
  Cancellation cancellation_;
  ResourceStore resources_;
  LocalRendezvous rendezvous_;
  RunEnv env_;
};

// A call of an asynchronous op that may still be waiting.
class PendingCall {
 public:
  PendingCall(ResourceRun& run, absl::string_view op, std::vector<Tensor> inputs,
              AttrMap attrs = {})
      : node_(*MakeNode(Ops(), op, inputs, std::move(attrs))),
        kernel_(*Ops().MakeKernel(node_)),
        inputs_(std::move(inputs)),
        outputs_(node_.signature.outputs.size()),
        ctx_(node_, run.env(), {}, absl::MakeSpan(inputs_), absl::MakeSpan(outputs_)) {
    kernel_.run_async(ctx_, kernel_.attrs.get(), [this](absl::Status status) {
      EXPECT_FALSE(status_.has_value()) << "done was called twice";
      status_ = std::move(status);
    });
  }
  PendingCall(const PendingCall&) = delete;

  bool done() const { return status_.has_value(); }
  absl::Status status() const { return status_.value_or(absl::UnknownError("still waiting")); }
  const Tensor& output(int i) const { return outputs_[static_cast<size_t>(i)]; }

 private:
  const Node node_;
  const Kernel kernel_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  KernelContext ctx_;
  std::optional<absl::Status> status_;
};

// What the shape rule of an op makes of these inputs, of which the first may have handle info.
inline absl::StatusOr<std::vector<ValueInfo>> InferShapes(
    absl::string_view op, const std::vector<Tensor>& inputs, AttrMap attrs,
    std::optional<HandleInfo> handle = std::nullopt) {
  GYRE_ASSIGN_OR_RETURN(const Node node, MakeNode(Ops(), op, inputs, std::move(attrs)));
  std::vector<ValueInfo> infos;
  for (const Tensor& input : inputs) {
    ValueInfo info;
    info.shape = input.shape();
    if (IsTrivial(input.dtype())) info.constant = input;
    infos.push_back(std::move(info));
  }
  if (handle) infos[0].handle = *std::move(handle);
  ShapeContext context(node, std::move(infos));
  GYRE_RETURN_IF_ERROR(node.op->shape(context));
  return context.outputs();
}

inline PartialShape Partial(std::vector<int64_t> dims) {
  return PartialShape(Dims(dims.begin(), dims.end()));
}

// Whether the message of `status` contains `text`; prints it if not.
inline testing::AssertionResult Says(const absl::Status& status, absl::StatusCode code,
                                     const std::string& text) {
  if (status.code() == code && Message(status).find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << status << "\nshould contain: " << text;
}
inline testing::AssertionResult IsInvalid(const absl::Status& status, const std::string& text) {
  return Says(status, absl::StatusCode::kInvalidArgument, text);
}

}  // namespace gyre::test

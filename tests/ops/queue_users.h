// What the tests of queues share: making one, and its users, who may have to wait.
#pragma once

#include "ops/resource_run.h"

namespace gyre::test {

inline AttrMap QueueAttrs(const std::string& name, int64_t capacity,
                          const std::vector<DType>& types = {DType::kInt32},
                          const std::vector<PartialShape>& shapes = {}) {
  return Attrs({{"shared_name", name},
                {"capacity", capacity},
                {"component_types", types},
                {"shapes", shapes}});
}

inline Tensor MakeQueue(ResourceRun& run, int64_t capacity,
                        const std::vector<DType>& types = {DType::kInt32},
                        const std::vector<PartialShape>& shapes = {}) {
  return run.Run("FIFOQueueV2", {}, QueueAttrs("q", capacity, types, shapes));
}

inline int32_t Size(ResourceRun& run, const Tensor& queue) {
  return run.Run("QueueSizeV2", {queue}).scalar<int32_t>();
}

inline absl::Status Close(ResourceRun& run, const Tensor& queue, bool cancel_pending = false) {
  return run.Try("QueueCloseV2", {queue}, Attrs({{"cancel_pending_enqueues", cancel_pending}}))
      .status();
}

// A user who adds or takes scalars, and may have to wait.
struct Add : PendingCall {
  Add(ResourceRun& run, const Tensor& queue, int32_t value)
      : PendingCall(run, "QueueEnqueueV2", {queue, Tensor::Scalar(value)}) {}
};
struct AddMany : PendingCall {
  AddMany(ResourceRun& run, const Tensor& queue, std::initializer_list<int32_t> values)
      : PendingCall(run, "QueueEnqueueManyV2", {queue, Tensor::Vector<int32_t>(values)}) {}
};
struct Take : PendingCall {
  Take(ResourceRun& run, const Tensor& queue)
      : PendingCall(run, "QueueDequeueV2", {queue},
                    Attrs({{"component_types", std::vector<DType>{DType::kInt32}}})) {}
  // What it took; -1 when it waits or has failed.
  int32_t value() const { return status().ok() ? output(0).scalar<int32_t>() : -1; }
};

}  // namespace gyre::test

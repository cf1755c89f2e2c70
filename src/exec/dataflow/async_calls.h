// Asynchronous kernels that have not called back yet, with all that they may touch.
//
// A call belongs to the list that it is in. The calls are linked through themselves, so that one
// can end without any memory. Lists are not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/dataflow/frame.h"
#include "ops/kernel.h"

namespace gyre::dataflow {

struct AsyncCall {
  // Who is first of the two, the worker that started the kernel and has taken note of it, or the
  // kernel that calls back, leaves the rest to the other.
  enum class State : uint8_t { kStarted, kNoted, kDone };
  std::atomic<State> state{State::kStarted};  // acq_rel: who sees kDone sees status and outputs
  Ready ready;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::optional<KernelContext> context;
  absl::Status status;
  int64_t started = 0;  // if somebody watches
  AsyncCall* previous = nullptr;
  AsyncCall* next = nullptr;
};

// A list of calls, oldest first, which owns them.
class AsyncCalls {
 public:
  AsyncCalls() = default;
  AsyncCalls(AsyncCalls&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  ~AsyncCalls() {
    while (TakeFirst() != nullptr) {
    }
  }

  const AsyncCall* first() const { return first_; }
  int64_t size() const { return size_; }

  void Add(AsyncCall* call) {
    call->previous = last_;
    call->next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = call;
    last_ = call;
    ++size_;
  }
  // The call is its caller's then.
  void Remove(AsyncCall* call) {
    (call->previous == nullptr ? first_ : call->previous->next) = call->next;
    (call->next == nullptr ? last_ : call->next->previous) = call->previous;
    --size_;
  }
  // Null when there is none.
  std::unique_ptr<AsyncCall> TakeFirst() {
    AsyncCall* const call = first_;
    if (call != nullptr) Remove(call);
    return std::unique_ptr<AsyncCall>(call);
  }

 private:
  AsyncCall* first_ = nullptr;
  AsyncCall* last_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace gyre::dataflow

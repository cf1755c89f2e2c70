// Kernels: the functions that compute ops, and what they may ask of the run they are part of.
//
// A kernel is an ordinary function `absl::Status Fn(KernelContext&)`, or `Fn(KernelContext&, const
// Attrs&)` where Attrs is a struct built once per node from its attributes (`explicit Attrs(const
// Node&)`). It reads its inputs, allocates through the context, and sets its outputs; it blocks no
// thread. A kernel that has to wait (for a queue, a peer) is asynchronous: `void Fn(KernelContext&,
// const Attrs&, KernelDone)`; its context stays valid until `done` is called.
//
// One Kernel object is shared by every execution of its node, from any thread, and is immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "gyre/core/export.h"
#include "gyre/core/options.h"
#include "gyre/core/tensor.h"
#include "ir/program.h"
#include "ops/rendezvous.h"
#include "ops/resource_store.h"
#include "ops/row_code.h"
#include "ops/scalar_code.h"

namespace gyre {

struct ObjectCode;  // ops/object_code.h
struct DenseCode;   // ops/dense_code.h
struct DenseOperand;

// The tag's frame id of a frame or call called `name`, opened from `parent`.
GYRE_EXPORT uint64_t ChildFrameId(Tag parent, absl::string_view name);

// Splits [0, n) into pieces by size alone (never by the number of threads) and runs them, perhaps
// in parallel.
class GYRE_EXPORT ParallelFor {
 public:
  virtual ~ParallelFor() = default;
  virtual void Run(int64_t n, int64_t grain,
                   const std::function<void(int64_t begin, int64_t end)>& body) = 0;
};

// What one run offers to its kernels. Owned by the run; all members thread-safe. Pointers may be
// null where said.
struct RunEnv {
  Cancellation* cancellation = nullptr;
  MemoryBudget* budget = nullptr;      // null: unlimited
  Allocator* allocator = nullptr;      // null: the host's heap
  ResourceStore* resources = nullptr;  // of the session
  Rendezvous* rendezvous = nullptr;
  ParallelFor* parallel = nullptr;  // null: run on the calling thread
  uint64_t run_id = 0;              // counts the session's runs
  uint64_t seed = 0;                // of the session
  // Receives what Print and its kin write: stream "stderr" or "stdout" (or a path), text.
  std::function<void(absl::string_view stream, absl::string_view text)> print;
  // Not empty: kernels read files below this folder only, links followed, and write none.
  std::string sandbox;
};

class GYRE_EXPORT KernelContext {
 public:
  // `inputs` may be consumed (moved from) by the kernel; `outputs` starts with no values.
  KernelContext(const Node& node, RunEnv& env, Tag tag, absl::Span<Tensor> inputs,
                absl::Span<Tensor> outputs)
      : node_(node), env_(env), tag_(tag), inputs_(inputs), outputs_(outputs) {}

  const Node& node() const { return node_; }
  RunEnv& env() const { return env_; }
  Tag tag() const { return tag_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const Tensor& input(int i) const { return inputs_[i]; }
  // Moves input i out, so that its buffer may be unique and reused. input(i) has no value
  // afterwards.
  Tensor TakeInput(int i) { return std::move(inputs_[i]); }
  void set_output(int i, Tensor value) { outputs_[i] = std::move(value); }
  const Tensor& output(int i) const { return outputs_[i]; }

  DType input_dtype(int i) const { return node_.signature.inputs[i].dtype; }
  DType output_dtype(int i) const { return node_.signature.outputs[i].dtype; }

  Tensor::Alloc alloc() const { return {env_.allocator, env_.budget}; }
  // A fresh tensor charged to the run's budget.
  absl::StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) const {
    return Tensor::Make(dtype, shape, alloc());
  }
  // As Allocate, with elements that are zero, false or empty. Polls for cancellation on the way.
  absl::StatusOr<Tensor> AllocateZeros(DType dtype, const Shape& shape) const;
  // Input i itself if nobody else can see its buffer and it has this type and shape, else a fresh
  // tensor. input(i) stays readable but may alias the result: only for kernels that write element j
  // after their last read of element j.
  absl::StatusOr<Tensor> ReuseOrAllocate(int i, DType dtype, const Shape& shape);

  // Input i as an integer scalar (int32 or int64; INVALID_ARGUMENT naming `what` otherwise).
  absl::StatusOr<int64_t> IntScalar(int i, absl::string_view what) const;
  // Input i (rank 0 or 1, int32 or int64) as a list of integers.
  absl::StatusOr<std::vector<int64_t>> IntVector(int i, absl::string_view what) const;
  // Input i (a list of dimensions) as a shape.
  absl::StatusOr<Shape> ShapeInput(int i, absl::string_view what) const;

  // OK, or why the run must stop. Long kernels call it between chunks of some 10 µs to 1 ms of
  // work.
  absl::Status Poll() const {
    return env_.cancellation == nullptr ? absl::OkStatus() : env_.cancellation->Poll();
  }
  // Runs body over [0, n) in pieces of about `grain`, in parallel where the run allows. Stops early
  // when cancelled.
  absl::Status ParallelRun(int64_t n, int64_t grain,
                           const std::function<void(int64_t begin, int64_t end)>& body) const;

  // A 128-bit key for random numbers that depends on (seed, seed2, session, node, frame, iteration,
  // run) alone.
  std::pair<uint64_t, uint64_t> RandomKey(int64_t seed, int64_t seed2) const;

 private:
  const Node& node_;
  RunEnv& env_;
  const Tag tag_;
  absl::Span<Tensor> inputs_;
  absl::Span<Tensor> outputs_;
};

using KernelDone = std::function<void(absl::Status)>;

// A kernel bound to one node's attributes. Exactly one of run and run_async is set.
struct Kernel {
  absl::Status (*run)(KernelContext&, const void* attrs) = nullptr;
  void (*run_async)(KernelContext&, const void* attrs, KernelDone done) = nullptr;
  std::shared_ptr<const void> attrs;
  // Beside run_async, or null: does the same if it need not wait for anything. None: it would have
  // to, and nothing has been done.
  std::optional<absl::Status> (*try_run)(KernelContext&, const void* attrs) = nullptr;
  // What `run` does where all inputs are scalars, or null: nothing else that is known. Requirement:
  // the result is a scalar then.
  const ScalarCode* scalar = nullptr;
  // What `run` does to elements in a row, or null: nothing that is known.
  const RowCode* rows = nullptr;
  // What `run` does to objects of scalars, or null: nothing that is known.
  const ObjectCode* object = nullptr;
  // What `run` does where shapes are known beforehand; null, or nullopt: that is not said.
  std::optional<DenseCode> (*dense)(const Node& node, absl::Span<const DenseOperand> inputs,
                                    absl::Span<const Shape> outputs) = nullptr;
};

// Makes the kernel of one node. UNIMPLEMENTED when there is none for its types.
using KernelFactory = std::function<absl::StatusOr<Kernel>(const Node&)>;

namespace internal {

template <typename A>
absl::StatusOr<std::shared_ptr<const void>> BindAttrs(const Node& node) {
  if constexpr (requires {
                  { A::Make(node) } -> std::same_as<absl::StatusOr<A>>;
                }) {
    GYRE_ASSIGN_OR_RETURN(A attrs, A::Make(node));
    return std::shared_ptr<const void>(std::make_shared<const A>(std::move(attrs)));
  } else {
    return std::shared_ptr<const void>(std::make_shared<const A>(node));
  }
}

template <auto Fn>
struct KernelBinder;

template <absl::Status (*Fn)(KernelContext&)>
struct KernelBinder<Fn> {
  static absl::StatusOr<Kernel> Bind(const Node&) {
    return Kernel{[](KernelContext& ctx, const void*) { return Fn(ctx); }, nullptr, nullptr};
  }
};

template <typename A, absl::Status (*Fn)(KernelContext&, const A&)>
struct KernelBinder<Fn> {
  static absl::StatusOr<Kernel> Bind(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const void> attrs, BindAttrs<A>(node));
    return Kernel{
        [](KernelContext& ctx, const void* a) { return Fn(ctx, *static_cast<const A*>(a)); },
        nullptr, std::move(attrs)};
  }
};

template <void (*Fn)(KernelContext&, KernelDone)>
struct KernelBinder<Fn> {
  static absl::StatusOr<Kernel> Bind(const Node&) {
    return Kernel{
        nullptr, [](KernelContext& ctx, const void*, KernelDone done) { Fn(ctx, std::move(done)); },
        nullptr};
  }
};

template <typename A, void (*Fn)(KernelContext&, const A&, KernelDone)>
struct KernelBinder<Fn> {
  static absl::StatusOr<Kernel> Bind(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(std::shared_ptr<const void> attrs, BindAttrs<A>(node));
    return Kernel{nullptr,
                  [](KernelContext& ctx, const void* a, KernelDone done) {
                    Fn(ctx, *static_cast<const A*>(a), std::move(done));
                  },
                  std::move(attrs)};
  }
};

template <auto Fn, auto TryFn>
struct TryingKernelBinder;

template <typename A, void (*Fn)(KernelContext&, const A&, KernelDone),
          std::optional<absl::Status> (*TryFn)(KernelContext&, const A&)>
struct TryingKernelBinder<Fn, TryFn> {
  static absl::StatusOr<Kernel> Bind(const Node& node) {
    GYRE_ASSIGN_OR_RETURN(Kernel kernel, KernelBinder<Fn>::Bind(node));
    kernel.try_run = [](KernelContext& ctx, const void* a) {
      return TryFn(ctx, *static_cast<const A*>(a));
    };
    return kernel;
  }
};

}  // namespace internal

// `.kernel = Compute<MatMul>()`: a kernel that is one function for all types.
template <auto Fn>
KernelFactory Compute() {
  return &internal::KernelBinder<Fn>::Bind;
}

namespace internal {
template <typename K>
absl::StatusOr<Kernel> BindWithScalarCode(const Node& node) {
  absl::StatusOr<Kernel> kernel = KernelBinder<&K::Run>::Bind(node);
  if constexpr (HasScalarCode<K>) {
    if (kernel.ok()) kernel->scalar = &kScalarCode<K>;
  }
  if constexpr (HasRowCode<K>) {
    if (kernel.ok()) kernel->rows = &kRowCode<K>;
  }
  if constexpr (requires { &K::Dense; }) {
    if (kernel.ok()) kernel->dense = &K::Dense;
  }
  return kernel;
}
}  // namespace internal

// `.kernel = ComputeBy<Unary<NotFn, uint8_t>>()`: K::Run, and K::Scalar and K::Rows if there are
// any.
template <typename K>
KernelFactory ComputeBy() {
  return &internal::BindWithScalarCode<K>;
}

// `.kernel = Compute<Recv, TryRecv>()`: one that waits, and what does the same where it need not.
template <auto Fn, auto TryFn>
KernelFactory Compute() {
  return &internal::TryingKernelBinder<Fn, TryFn>::Bind;
}

// The value of a declared attribute. Requirement: the schema declares it with this kind (T), so it
// is there.
template <typename T>
const T& NodeAttr(const Node& node, absl::string_view name) {
  return *node.attrs.Get<T>(name);
}

}  // namespace gyre

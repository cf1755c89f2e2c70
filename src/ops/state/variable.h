// Variable: a mutable cell that holds one tensor, behind a Ref (VariableV2) or a handle
// (VarHandleOp).
//
// Owned by the session's ResourceStore and by the handles to it. Thread-safe: its value is read and
// changed under its lock. Reading shares the buffer; an update in place copies the buffer first if
// somebody else still reads it (MakeWritable), so a value once read never changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fork.h"
#include "base/internal_export.h"
#include "ops/state/resource.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT VariableObject final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Variable";

  // Uninitialised. Every value it will hold is of type `dtype`.
  VariableObject(std::string name, DType dtype, PartialShape shape);
  ~VariableObject() override;

  absl::string_view type_name() const override { return kTypeName; }
  DType dtype() const { return dtype_; }
  // What the program promised about the value's shape.
  const PartialShape& shape() const { return shape_; }

  // The current value; none while uninitialised.
  Tensor Read() const;
  // The bytes of the current value, 0 behind them, if it is a scalar of at most eight; takes no
  // lock. None, too, where the value is just being changed.
  std::optional<uint64_t> ReadScalar() const;
  // Requirement, not checked: value.dtype() == dtype().
  void Assign(Tensor value);
  // Makes the variable uninitialised. False when it already was.
  bool Destroy() override;

 private:
  friend class VariableLock;

  // Before the value changes, and behind that. Requirement: the lock is held.
  void BeginChange() { version_.fetch_add(kChanges, std::memory_order_acquire); }
  void EndChange();

  const DType dtype_;
  const PartialShape shape_;
  mutable std::mutex mutex_;  // of writing all below
  Tensor value_;
  // For ReadScalar: the version grows with every change, and its last two bits say whether
  // `scalar_` is the value and whether that is being changed.
  static constexpr uint64_t kChanges = 1, kIsScalar = 2, kNextVersion = 4;
  std::atomic<uint64_t> version_{0};
  std::atomic<uint64_t> scalar_{0};
};

// Holds the locks of some variables, which may be given more than once, so that they can be changed
// together. Locks are taken in one order everywhere: two such locks never wait for each other.
class VariableLock {
 public:
  explicit VariableLock(absl::Span<VariableObject* const> variables) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  explicit VariableLock(VariableObject& variable) : VariableLock({&variable}) {}
  VariableLock(std::initializer_list<VariableObject*> variables)
      : VariableLock(absl::MakeConstSpan(variables.begin(), variables.size())) {}
  ~VariableLock() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  VariableLock(const VariableLock&) = delete;
  VariableLock& operator=(const VariableLock&) = delete;

  // The value of a variable that this lock holds; no value while uninitialised.
  Tensor& value(VariableObject& variable) const { return variable.value_; }

 private:
  const NoFork no_fork_;
  absl::InlinedVector<VariableObject*, 4> variables_;
};

// The session's variable of this name, made if need be. INVALID_ARGUMENT if it is of another type,
// or was made with another shape: programs rest on what each node that names it says of its values.
absl::StatusOr<RefPtr<VariableObject>> NamedVariable(const KernelContext& ctx,
                                                     const ResourceName& where, DType dtype,
                                                     const PartialShape& shape);

// The value of the variable that `ref` (Tensor::is_ref) refers to: what a node that takes plain
// values sees. FAILED_PRECONDITION when it is uninitialised; `name` is what the message calls it,
// by default the variable's own name.
absl::StatusOr<Tensor> ReadRef(const Tensor& ref, absl::string_view name = "");

// The error for reading a variable before it was initialised, in the words for Refs.
absl::Status UninitializedRef(absl::string_view name);
// The same in the words for handles.
absl::Status UninitializedResource(absl::string_view name);

// Makes `value`'s buffer the caller's own, copying it if it is shared.
absl::Status MakeWritable(const KernelContext& ctx, Tensor& value);

// The variable behind input i, a Ref or a handle. INVALID_ARGUMENT when there is none or when it
// holds another type than `dtype`.
absl::StatusOr<VariableObject*> VariableInput(const KernelContext& ctx, int i, DType dtype);

// OK, or the error for input i whose variable, locked by the caller, has `value`.
absl::Status RequireInitialized(const KernelContext& ctx, int i, const VariableObject& variable,
                                const Tensor& value);

}  // namespace gyre

#include "ops/state/variable.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/fork.h"
#include "ops/dispatch.h"
#include "ops/memory.h"
#include "ops/mover.h"

namespace gyre {

VariableObject::VariableObject(std::string name, DType dtype, PartialShape shape)
    : Resource(std::move(name)), dtype_(dtype), shape_(std::move(shape)) {}

VariableObject::~VariableObject() { DropIteratively(std::move(value_)); }

Tensor VariableObject::Read() const {
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  return value_;
}

void VariableObject::Assign(Tensor value) {
  // The old value is dropped after the lock: dropping may destroy other variables.
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  BeginChange();
  std::swap(value_, value);
  EndChange();
}

bool VariableObject::Destroy() {
  Tensor old;
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  BeginChange();
  std::swap(value_, old);
  EndChange();
  return old.has_value();
}

std::optional<uint64_t> VariableObject::ReadScalar() const {
  const uint64_t version = version_.load(std::memory_order_acquire);
  const uint64_t bytes = scalar_.load(std::memory_order_acquire);
  if ((version & (kIsScalar | kChanges)) != kIsScalar ||
      version_.load(std::memory_order_relaxed) != version)
    return std::nullopt;
  return bytes;
}

void VariableObject::EndChange() {
  const bool is_scalar = value_.has_value() && value_.rank() == 0 && IsTrivial(dtype_) &&
                         value_.bytes() <= sizeof(uint64_t);
  uint64_t bytes = 0;
  if (is_scalar) std::memcpy(&bytes, value_.raw_data(), value_.bytes());
  scalar_.store(bytes, std::memory_order_release);
  const uint64_t version = version_.load(std::memory_order_relaxed) / kNextVersion;
  version_.store((version + 1) * kNextVersion + (is_scalar ? kIsScalar : 0),
                 std::memory_order_release);
}

VariableLock::VariableLock(absl::Span<VariableObject* const> variables)
    : variables_(variables.begin(), variables.end()) {
  std::sort(variables_.begin(), variables_.end(), std::less<>());
  variables_.erase(std::unique(variables_.begin(), variables_.end()), variables_.end());
  for (VariableObject* variable : variables_) {
    variable->mutex_.lock();
    variable->BeginChange();
  }
}

VariableLock::~VariableLock() {
  for (VariableObject* variable : variables_) {
    variable->EndChange();
    variable->mutex_.unlock();
  }
}

absl::StatusOr<RefPtr<VariableObject>> NamedVariable(const KernelContext& ctx,
                                                     const ResourceName& where, DType dtype,
                                                     const PartialShape& shape) {
  RefPtr<VariableObject> variable = FindOrCreate<VariableObject>(
      ctx, where, [&] { return MakeRef<VariableObject>(where.name, dtype, shape); });
  if (variable->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", where.name, " is of type ",
                                                   DTypeName(variable->dtype()),
                                                   " in this session, not ", DTypeName(dtype)));
  }
  if (variable->shape() == shape) return variable;
  // A node may say less than the one that made the variable.
  const absl::StatusOr<PartialShape> both = shape.Intersect(variable->shape());
  if (both.ok() && *both == variable->shape()) return variable;
  return absl::InvalidArgumentError(
      absl::StrCat("variable ", where.name, " was made with shape ", variable->shape().ToString(),
                   " in this session, not ", shape.ToString(),
                   "; all nodes that name a variable must give it the same shape"));
}

absl::Status UninitializedRef(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("Attempting to use uninitialized value ", name));
}

absl::Status UninitializedResource(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("Could not find variable ", name,
                   ". Either it has not been initialized yet (run its initializer, or restore a "
                   "checkpoint), or it was destroyed."));
}

absl::StatusOr<Tensor> ReadRef(const Tensor& ref, absl::string_view name) {
  const auto* variable = ref.object_as<VariableObject>();
  if (variable == nullptr) {
    if (const auto* resource = dynamic_cast<const Resource*>(ref.object()))
      return Tensor::Vector<std::string>({std::string(resource->type_name()), resource->name()});
    return absl::InvalidArgumentError(
        absl::StrCat(ref.object() == nullptr ? absl::string_view("an empty reference")
                                             : ref.object()->type_name(),
                     " was given where the value of a variable is needed"));
  }
  Tensor value = variable->Read();
  if (!value.has_value()) return UninitializedRef(name.empty() ? variable->name() : name);
  return value;
}

absl::Status MakeWritable(const KernelContext& ctx, Tensor& value) {
  if (value.IsUnique()) return absl::OkStatus();
  GYRE_ASSIGN_OR_RETURN(Tensor copy, ctx.Allocate(value.dtype(), value.shape()));
  GYRE_RETURN_IF_ERROR(VisitElement(value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    Mover<T> mover(ctx, copy);
    mover.Copy(value.values<T>().data(), value.num_elements(), copy.mutable_values<T>().data());
    return mover.status();
  }));
  value = std::move(copy);
  return absl::OkStatus();
}

absl::StatusOr<VariableObject*> VariableInput(const KernelContext& ctx, int i, DType dtype) {
  GYRE_ASSIGN_OR_RETURN(VariableObject * variable, ResourceInput<VariableObject>(ctx, i));
  if (variable->dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("variable ", variable->name(),
                                                   " has wrong dtype. Expected ", DTypeName(dtype),
                                                   " got ", DTypeName(variable->dtype())));
  }
  return variable;
}

absl::Status RequireInitialized(const KernelContext& ctx, int i, const VariableObject& variable,
                                const Tensor& value) {
  if (value.has_value()) return absl::OkStatus();
  return ctx.input(i).is_ref() ? UninitializedRef(variable.name())
                               : UninitializedResource(variable.name());
}

}  // namespace gyre

// What all resources have in common, and how kernels get at the resource behind a handle.
//
// A handle is a scalar tensor that holds the object itself: it lives as long as a handle does.
// Resources of a session (variables, queues, mutexes) are found by (container, name) in the run's
// ResourceStore as well; resources of a run (stacks, TensorArrays) have no other owner.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"
#include "ops/kernel.h"

namespace gyre {

// Subclasses state their own locking.
class Resource : public Object {
 public:
  explicit Resource(std::string name) : name_(std::move(name)) {}

  // For messages; not unique.
  const std::string& name() const { return name_; }
  // Lets go of what the resource holds. False when there was nothing to let go of. Thread-safe.
  virtual bool Destroy() = 0;

 private:
  const std::string name_;
};

// "input 0 (handle) must be …": the error for a handle that leads nowhere.
absl::Status NotAHandle(const KernelContext& ctx, int i, absl::string_view type);

// The T behind handle i (a resource or a Ref); INVALID_ARGUMENT when there is none, or an object of
// another type. The input keeps it alive.
template <typename T>
absl::StatusOr<T*> ResourceInput(const KernelContext& ctx, int i) {
  T* object = ctx.input(i).object_as<T>();
  if (object == nullptr) return NotAHandle(ctx, i, T::kTypeName);
  return object;
}

// Where the session keeps the resource of a node: its attribute `container`, and its attribute
// `shared_name` or else the node's own name.
struct ResourceName {
  explicit ResourceName(const Node& node);

  std::string container;
  std::string name;
  // Every execution makes a resource of its own, which nobody can find by name.
  bool anonymous = false;
};

// The session's T of this name, made by `create()` if need be.
template <typename T, typename F>
RefPtr<T> FindOrCreate(const KernelContext& ctx, const ResourceName& where, F create) {
  if (where.anonymous) return create();
  return ctx.env().resources->LookupOrCreate<T>(where.container, where.name, create);
}

}  // namespace gyre

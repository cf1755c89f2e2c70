#include "ops/memory.h"

#include <algorithm>
#include <new>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

class TensorBox final : public RefCounted {
 public:
  explicit TensorBox(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

 private:
  std::vector<Tensor> tensors_;
};

bool HoldsObjects(const Tensor& t) {
  return t.has_value() && (t.dtype() == DType::kVariant || t.dtype() == DType::kResource);
}

// What waits to be dropped by the outermost DropIteratively of this thread; null when there is
// none. It points into that call's frame: no thread-local destructor has to outlive static ones.
using Drops = absl::InlinedVector<RefPtr<RefCounted>, 16>;
thread_local Drops* pending_drops = nullptr;

}  // namespace

absl::Status MemoryCharge::Set(int64_t bytes) {
  if (budget_) {
    if (bytes > bytes_ && !budget_->Charge(bytes - bytes_)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          bytes - bytes_, " more bytes for a container do not fit the run's memory budget of ",
          budget_->limit(), " bytes, of which ", budget_->used(), " are in use"));
    }
    if (bytes < bytes_) budget_->Release(bytes_ - bytes);
  }
  bytes_ = bytes;
  return absl::OkStatus();
}

absl::Status CallsDoNotFit(const MemoryBudget& budget) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the run's memory budget of ", budget.limit(),
                   " bytes is used up by calls and iterations in flight: is a recursion or a loop "
                   "without end?"));
}

void DropIteratively(RefPtr<RefCounted> object) noexcept {
  if (!object) return;
  if (pending_drops != nullptr) {
    try {
      pending_drops->push_back(std::move(object));
    } catch (const std::bad_alloc&) {
      // No memory to put it off: it goes here and now.
    }
    return;
  }
  Drops pending;
  pending_drops = &pending;
  pending.push_back(std::move(object));
  while (!pending.empty()) {
    const RefPtr<RefCounted> next = std::move(pending.back());
    pending.pop_back();
  }
  pending_drops = nullptr;
}

void DropIteratively(Tensor tensor) noexcept {
  if (!HoldsObjects(tensor)) return;
  try {
    std::vector<Tensor> one;  // an initializer list would hold a second reference
    one.push_back(std::move(tensor));
    DropIteratively(std::move(one));
  } catch (const std::bad_alloc&) {
    // As below.
  }
}

void DropIteratively(std::vector<Tensor> tensors) noexcept {
  if (!std::any_of(tensors.begin(), tensors.end(), HoldsObjects)) return;
  try {
    DropIteratively(MakeRef<TensorBox>(std::move(tensors)));
  } catch (const std::bad_alloc&) {
    // No memory to put them off: they go here and now.
  }
}

}  // namespace gyre

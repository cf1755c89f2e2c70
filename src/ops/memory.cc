#include "ops/memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gyre {
namespace {

class TensorBox final : public RefCounted {
 public:
  explicit TensorBox(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

 private:
  std::vector<Tensor> tensors_;
};

// What waits to be dropped by the outermost DropIteratively of this thread; null when there is
// none. It points into that call's frame: no thread-local destructor has to outlive static ones.
thread_local std::vector<RefPtr<RefCounted>>* pending_drops = nullptr;

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

void DropIteratively(RefPtr<RefCounted> object) {
  if (!object) return;
  if (pending_drops != nullptr) {
    pending_drops->push_back(std::move(object));
    return;
  }
  std::vector<RefPtr<RefCounted>> pending;
  pending_drops = &pending;
  pending.push_back(std::move(object));
  while (!pending.empty()) {
    const RefPtr<RefCounted> next = std::move(pending.back());
    pending.pop_back();
  }
  pending_drops = nullptr;
}

void DropIteratively(std::vector<Tensor> tensors) {
  const bool holds_objects = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
    return t.has_value() && (t.dtype() == DType::kVariant || t.dtype() == DType::kResource);
  });
  if (holds_objects) DropIteratively(MakeRef<TensorBox>(std::move(tensors)));
}

}  // namespace gyre

// TensorArray: an array of tensors that is written once per element, for one run.
//
// Owned by its handles; a gradient array also by the array whose gradient it is. Thread-safe: one
// lock guards everything. An array of any size costs memory only where it has been written.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/memory.h"
#include "ops/state/resource.h"

namespace gyre {

class TensorArrayObject final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "TensorArray";

  struct Options {
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool dynamic_size = false;              // grows when written beyond its end
    bool clear_after_read = true;           // an element can be read once
    bool identical_element_shapes = false;  // the first write decides the shape of all
  };

  // The array's own bytes are charged to `budget`, which may be null: those of the object by
  // Charge, those of its structure as it grows.
  TensorArrayObject(std::string name, const Options& options, int64_t size, MemoryBudget* budget);
  ~TensorArrayObject() override;

  // Before anything else; RESOURCE_EXHAUSTED when the object does not fit.
  absl::Status Charge();

  absl::string_view type_name() const override { return kTypeName; }
  DType dtype() const { return options_.dtype; }

  // Fails for an index out of range, another dtype, a shape that does not fit, an element that has
  // been read, or (save in a gradient array, where values add up) written before.
  absl::Status Write(KernelContext& ctx, int64_t index, Tensor value);
  // Elements that were never written read as zeros if their shape is known.
  absl::StatusOr<Tensor> Read(const KernelContext& ctx, int64_t index);
  absl::StatusOr<int64_t> Size() const;
  bool dynamic_size() const;
  // The shape that every element has, as far as it is known, once it is narrowed to `shape` too.
  absl::StatusOr<PartialShape> NarrowElementShape(const PartialShape& shape);

  // The array that collects the gradient of this one in the differentiation called `source`: made
  // by the first call, with the shapes of this array's elements after `prefix`. From then on this
  // array does not grow.
  absl::StatusOr<RefPtr<TensorArrayObject>> Gradient(absl::string_view source,
                                                     absl::Span<const int64_t> prefix);

  // Drops the elements: the array is closed. False when it was already.
  bool Destroy() override;

 private:
  struct Element {
    Tensor value;
    // Of a value that is no longer there, or (in a gradient array) of one that is zero so far.
    std::shared_ptr<const Shape> shape;
    bool written = false;
    bool read = false;
    bool cleared = false;
  };
  static constexpr int64_t kChunkSize = 32;
  using Chunk = std::array<Element, kChunkSize>;

  absl::Status Error(absl::string_view what) const;
  absl::Status CheckOpen() const;                                     // holds mutex_
  absl::Status CheckValue(int64_t index, const Tensor& value) const;  // holds mutex_
  absl::Status Aggregate(KernelContext& ctx, int64_t index, Element& element,
                         Tensor value);  // holds mutex_
  absl::StatusOr<Tensor> ZeroElement(const KernelContext& ctx, int64_t index,
                                     const Element& element) const;  // holds mutex_
  // The element's place, made if need be.
  absl::StatusOr<Element*> At(int64_t index);                   // holds mutex_
  std::shared_ptr<const Shape> ShareShape(const Shape& shape);  // holds mutex_
  // In a gradient array: the element is zeros of shape prefix + shape until something is written.
  absl::Status ExpectShape(int64_t index, const Shape& shape, absl::Span<const int64_t> prefix);

  const Options options_;
  bool is_gradient_ = false;  // set before the array is shared
  mutable std::mutex mutex_;  // of all below
  bool closed_ = false;
  bool may_grow_;
  bool aggregated_ = false;  // some element is the sum of several writes
  int64_t size_;
  PartialShape element_shape_;
  std::vector<std::unique_ptr<Chunk>> chunks_;  // null: never touched
  std::shared_ptr<const Shape> last_shape_;
  MemoryCharge charge_;
  std::map<std::string, RefPtr<TensorArrayObject>, std::less<>> gradients_;
};

}  // namespace gyre

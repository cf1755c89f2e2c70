// TensorList: the value behind a variant that lists tensors of one dtype.
//
// Lists have value semantics: what a kernel was given never changes under another reader. A kernel
// that changes a list gets one of its own from TakeList, which is the input itself if nobody else
// refers to it and otherwise a copy that shares all elements (see ChunkedVector). A shared list is
// read-only and may be read from many threads.
#pragma once

#include "absl/status/statusor.h"
#include "ops/list/chunked_vector.h"
#include "ops/variant_ops.h"

namespace gyre {

class TensorList final : public AddableObject {
 public:
  static constexpr absl::string_view kTypeName = "TensorList";
  // Lengths and indices travel as int32.
  static constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

  // Empty. Every element is of type `dtype` and has a shape that `element_shape` allows; there are
  // never more than `max_size` (< 0: any number). Users of `elements` keep these promises.
  TensorList(DType dtype, PartialShape element_shape, int64_t max_size = -1)
      : elements(dtype), element_shape(std::move(element_shape)), max_size(max_size) {}

  absl::string_view type_name() const override { return kTypeName; }
  DType dtype() const { return elements.dtype(); }
  int64_t size() const { return elements.size(); }

  // Shares all elements; its own to change.
  RefPtr<TensorList> Copy() const;

  // What every TensorList, and nothing else, begins with.
  static const void* FirstWord();

  // Elements that one of the two lacks are those of the other.
  absl::StatusOr<RefPtr<Object>> Add(KernelContext& ctx, const Object& other) const override;
  absl::StatusOr<RefPtr<Object>> ZerosLike(KernelContext& ctx) const override;
  int64_t PayloadBytes() const override;
  absl::StatusOr<VariantParts> TakeApart() const override;

  ChunkedVector elements;  // one that is not stored is uninitialised
  const PartialShape element_shape;
  const int64_t max_size;

 private:
  TensorList(const TensorList& other, PartialShape shape)
      : elements(other.elements), element_shape(std::move(shape)), max_size(other.max_size) {}
};

// Of TensorList::TakeApart, and of an optional's.
absl::StatusOr<RefPtr<Object>> MakeList(VariantParts parts, Tensor::Alloc alloc);
absl::StatusOr<RefPtr<Object>> MakeOptional(VariantParts parts, Tensor::Alloc alloc);

// A tensor of the same dtype and shape as `t` whose elements are zero: numbers, strings (empty),
// and variants that are Addable. INVALID_ARGUMENT for others.
absl::StatusOr<Tensor> ZerosLikeTensor(KernelContext& ctx, const Tensor& t);

// Stands in the frame of a function that follows nested objects by recursion. ok() turns false at a
// depth that no sensible program has, long before the C++ stack ends.
class NestingGuard {
 public:
  NestingGuard() { ++depth_; }
  ~NestingGuard() { --depth_; }
  NestingGuard(const NestingGuard&) = delete;
  NestingGuard& operator=(const NestingGuard&) = delete;

  // Whether there is another one further out.
  bool IsNested() const { return depth_ > 1; }
  // INVALID_ARGUMENT when nested too deeply.
  absl::Status Check() const;

 private:
  static thread_local int depth_;
};

}  // namespace gyre

// Slices of tensors: which part of a tensor a checkpoint's entry holds, or a reader asks for.
// Plain values; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/shape.h"

namespace gyre {

// A box: one extent for each axis.
struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = -1;  // -1: the whole axis
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  std::vector<Extent> extents;

  static TensorSlice Whole(int rank) { return {std::vector<Extent>(rank)}; }
  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;

  // The slice of a tensor of this shape, with the extents of whole axes written out.
  // INVALID_ARGUMENT unless it lies within the tensor.
  absl::StatusOr<TensorSlice> Resolve(const Shape& shape) const;
  // Requirement: resolved.
  Shape shape() const;
  // "0,2:-": start and length by axis; a whole axis is "-".
  std::string ToString() const;
};

// What RestoreV2 and SaveV2 take beside a name: a tensor's full shape, and the slice of it.
struct SliceSpec {
  Shape full_shape;
  TensorSlice slice;  // as it was written; lies within the shape
};

// "7 4 3,2:0,4": the dimensions, then the slice; nothing for an empty text, which means the whole
// tensor. INVALID_ARGUMENT for anything else.
absl::StatusOr<std::optional<SliceSpec>> ParseSliceSpec(absl::string_view text);

// The key under which a bundle's index has the slice of the tensor `name`. It depends on how the
// slice is written: whole axes stay so.
std::string SliceKey(absl::string_view name, const TensorSlice& slice);
// Whether an index's key is one of a slice.
inline bool IsSliceKey(absl::string_view key) { return !key.empty() && key[0] == '\0'; }

}  // namespace gyre

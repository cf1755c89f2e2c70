// Shapes of tensors: `Shape` when every dimension is known, `PartialShape` while a program is being
// built.
//
// Both are small values; copying one of rank <= 4 does not allocate. A Shape's number of elements
// always fits int64: the only ways to make one check the product of its dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gyre/core/export.h"

namespace gyre {

using Dims = absl::InlinedVector<int64_t, 4>;

// A fully known shape: up to 254 dimensions, each >= 0.
class GYRE_EXPORT Shape {
 public:
  static constexpr int kMaxRank = 254;

  Shape() = default;  // scalar

  // INVALID_ARGUMENT for a negative dimension, more than kMaxRank dimensions, or a product beyond
  // int64.
  static absl::StatusOr<Shape> Make(absl::Span<const int64_t> dims);
  // For dimensions known to be sound (taken from existing tensors, products checked by the caller).
  // Requirement, not checked: as Make.
  static Shape Trusted(Dims dims);
  static Shape Vector(int64_t n) { return Trusted({n}); }

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  bool IsScalar() const { return dims_.empty(); }

  // "[2,3]"; "[]" for a scalar.
  std::string ToString() const;

  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  Dims dims_;
  int64_t num_elements_ = 1;
};
inline std::string to_string(const Shape& shape) { return shape.ToString(); }

// A shape of which some, or all, may be unknown. A dimension of -1 is unknown; so may be the rank.
class GYRE_EXPORT PartialShape {
 public:
  PartialShape() = default;  // unknown rank
  PartialShape(const Shape& shape)
      : known_rank_(true), dims_(shape.dims().begin(), shape.dims().end()) {}
  // Requirement, not checked: each dimension >= -1.
  explicit PartialShape(Dims dims) : known_rank_(true), dims_(std::move(dims)) {}

  static PartialShape Unknown() { return PartialShape(); }
  static PartialShape Scalar() { return PartialShape(Dims{}); }
  static PartialShape UnknownOfRank(int rank) { return PartialShape(Dims(rank, -1)); }

  bool has_rank() const { return known_rank_; }
  // Requirement: has_rank().
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int i) const { return dims_[i]; }  // -1: unknown
  absl::Span<const int64_t> dims() const { return dims_; }
  void set_dim(int i, int64_t d) { dims_[i] = d; }

  bool IsFullyKnown() const;
  // The known shape; nullopt unless fully known and sound.
  std::optional<Shape> ToShape() const;
  // Every shape that both allow; INVALID_ARGUMENT when there is none.
  absl::StatusOr<PartialShape> Intersect(const PartialShape& other) const;
  // The narrowest shape that allows what either allows: used where paths join.
  PartialShape Widen(const PartialShape& other) const;
  bool Allows(const Shape& shape) const;

  // "[2,?]"; "?" for an unknown rank.
  std::string ToString() const;

  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }
  friend bool operator!=(const PartialShape& a, const PartialShape& b) { return !(a == b); }

 private:
  bool known_rank_ = false;
  Dims dims_;
};
inline std::string to_string(const PartialShape& shape) { return shape.ToString(); }

}  // namespace gyre

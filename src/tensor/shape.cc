#include "gyre/core/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status.h"

namespace gyre {

absl::StatusOr<Shape> Shape::Make(absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shape has at most ", kMaxRank, " dimensions, this one has ", dims.size()));
  }
  int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (const int64_t d : dims) {
    if (d < 0) {
      return absl::InvalidArgumentError(absl::StrCat("a dimension must be >= 0, but the shape is [",
                                                     absl::StrJoin(dims, ","), "]"));
    }
    empty |= d == 0;
    const std::optional<int64_t> next = CheckedMul(product, std::max<int64_t>(d, 1));
    overflow |= !next;
    product = next.value_or(1);
  }
  if (overflow) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the number of elements of shape [", absl::StrJoin(dims, ","), "] does not fit 64 bits"));
  }
  Shape shape;
  shape.dims_.assign(dims.begin(), dims.end());
  shape.num_elements_ = empty ? 0 : product;
  return shape;
}

Shape Shape::Trusted(Dims dims) {
  Shape shape;
  shape.dims_ = std::move(dims);
  shape.num_elements_ = 1;
  for (const int64_t d : shape.dims_) shape.num_elements_ *= d;
  return shape;
}

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims_, ","), "]"); }

bool PartialShape::IsFullyKnown() const {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

std::optional<Shape> PartialShape::ToShape() const {
  if (!IsFullyKnown()) return std::nullopt;
  absl::StatusOr<Shape> shape = Shape::Make(dims_);
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

absl::StatusOr<PartialShape> PartialShape::Intersect(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (rank() != other.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("Shapes must be equal rank, but are ", rank(),
                                                   " and ", other.rank(), ". Shapes are ",
                                                   ToString(), " and ", other.ToString(), "."));
  }
  PartialShape result = *this;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] >= 0 && other.dims_[i] >= 0 && dims_[i] != other.dims_[i]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Dimension ", i, " in both shapes must be equal, but are ", dims_[i], " and ",
          other.dims_[i], ". Shapes are ", ToString(), " and ", other.ToString(), "."));
    }
    result.dims_[i] = std::max(dims_[i], other.dims_[i]);
  }
  return result;
}

PartialShape PartialShape::Widen(const PartialShape& other) const {
  if (!known_rank_ || !other.known_rank_ || rank() != other.rank()) return Unknown();
  PartialShape result = *this;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] != other.dims_[i]) result.dims_[i] = -1;
  }
  return result;
}

bool PartialShape::Allows(const Shape& shape) const {
  if (!known_rank_) return true;
  if (rank() != shape.rank()) return false;
  for (int i = 0; i < rank(); ++i) {
    if (dims_[i] >= 0 && dims_[i] != shape.dim(i)) return false;
  }
  return true;
}

std::string PartialShape::ToString() const {
  if (!known_rank_) return "?";
  return absl::StrCat("[",
                      absl::StrJoin(dims_, ",",
                                    [](std::string* out, int64_t d) {
                                      absl::StrAppend(out,
                                                      d < 0 ? std::string("?") : absl::StrCat(d));
                                    }),
                      "]");
}

}  // namespace gyre

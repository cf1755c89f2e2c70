#include "ops/reduction/axes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre {

absl::StatusOr<ReducedDims> MakeReducedDims(absl::Span<const int64_t> axes, int rank) {
  ReducedDims reduced(rank, false);
  for (const int64_t axis : axes) {
    const absl::StatusOr<int> dim = shape::Axis(axis, rank);
    if (!dim.ok()) return Annotate(dim.status(), "reduction axes");
    if (reduced[*dim]) {
      return absl::InvalidArgumentError(
          absl::StrCat("reduction axes: dimension ", *dim, " is named twice"));
    }
    reduced[*dim] = true;
  }
  return reduced;
}

Shape ReducedShape(const Shape& shape, const ReducedDims& reduced, bool keep_dims) {
  Dims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!reduced[i]) {
      dims.push_back(shape.dim(i));
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return Shape::Trusted(std::move(dims));
}

bool ReducesNothing(const Shape& shape, const ReducedDims& reduced) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (reduced[i] && shape.dim(i) != 1) return false;
  }
  return true;
}

absl::Status ReductionShape(ShapeContext& c) {
  const bool keep_dims = c.attrs().GetOr<bool>("keep_dims", false);
  const PartialShape& input = c.input(0);
  const std::optional<std::vector<int64_t>> axes = c.input_ints(1);
  if (!input.has_rank()) return absl::OkStatus();
  if (!axes) {
    if (keep_dims) c.set_output(0, PartialShape::UnknownOfRank(input.rank()));
    return absl::OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const ReducedDims reduced, MakeReducedDims(*axes, input.rank()));
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    if (!reduced[i]) {
      dims.push_back(input.dim(i));
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

ReductionPlan::ReductionPlan(const Shape& shape, const ReducedDims& reduced_dims) {
  bool innermost = true;
  bool last_reduced = false;
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int64_t size = shape.dim(i);
    if (size == 1) continue;  // belongs to any run
    const bool is_reduced = reduced_dims[i];
    if (innermost) {
      inner_reduced = is_reduced;
      inner = size;
      innermost = false;
    } else if (is_reduced == last_reduced && kept.empty() && reduced.empty()) {
      inner *= size;
    } else if (Runs& runs = is_reduced ? reduced : kept; is_reduced == last_reduced) {
      runs.back().size *= size;
    } else {
      runs.push_back({size, stride});
    }
    last_reduced = is_reduced;
    stride *= size;
  }
  for (const Run& run : kept) rows *= run.size;
  for (const Run& run : reduced) steps *= run.size;
}

int64_t ReductionPlan::Offset(const Runs& runs, int64_t index) {
  int64_t offset = 0;
  for (const Run& run : runs) {  // the first run varies fastest
    offset += index % run.size * run.stride;
    index /= run.size;
  }
  return offset;
}

}  // namespace gyre

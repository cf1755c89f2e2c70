// A tensor seen from one of its dimensions: [outer, size, inner], row-major.
#pragma once

#include <cstdint>

#include "gyre/core/shape.h"

namespace gyre {

struct AxisView {
  // Requirement, not checked: 0 <= axis < shape.rank().
  AxisView(const Shape& shape, int axis) : size(shape.dim(axis)) {
    for (int i = 0; i < axis; ++i) outer *= shape.dim(i);
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape.dim(i);
  }

  int64_t outer = 1;
  int64_t size;
  int64_t inner = 1;
};

}  // namespace gyre

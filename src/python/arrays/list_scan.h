// Looks through nested lists before a tensor is made of them: their dimensions and what they hold.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"
#include "python/python.h"

namespace gyre::python {

enum class LeafKind : uint8_t { kBool, kInt, kFloat, kComplex, kText, kOther };

struct ListScan {
  Dims dims;
  std::vector<nb::object> leaves;  // row-major
  std::vector<LeafKind> kinds;     // of the leaves
  bool has_other = false;          // arrays, tensors, …: what is neither number nor text

  // "[2][0]".
  std::string PlaceOf(size_t leaf) const;
  // Of numbers or texts alone. TypeError when they have no type in common.
  DType DefaultType() const;
};

// Whether `value` is a list or a tuple.
bool IsList(nb::handle value);

// ValueError for a list that `depth` others contain, where no shape has so many dimensions. What
// looks into lists asks first: a list may contain itself.
void CheckDepth(size_t depth);

// ValueError, with the place, for ragged lists.
ListScan ScanList(nb::handle list);

// int32, int64, or uint64, whichever first holds it; ValueError when none does.
DType SmallestIntegerType(nb::handle integer);

}  // namespace gyre::python

// Tensors and numbers as text, in the two forms that graphs have always printed: the flat one of
// Print and Assert, and the indented one of StringFormat (which tf.print uses).
//
// Pure functions; any thread. The text does not depend on the locale.
#pragma once

#include <cstdint>
#include <string>

#include "base/internal_export.h"
#include "gyre/core/tensor.h"

namespace gyre {

enum class TensorFormat {
  // The first `summarize` elements in row-major order: "1 2 3...", "[1 2 3][4...]...".
  kFlat,
  // The first and last `summarize` entries of every dimension, one row a line: "[[0 1]\n [2 3]]";
  // strings in quotes.
  kNested,
};

// The elements of `tensor`, abridged; all of them when `summarize` is negative. Booleans are 1 and
// 0, complex numbers "(1,2)", objects "<TensorList>"; quantised elements are "?".
GYRE_INTERNAL_EXPORT std::string FormatTensor(const Tensor& tensor, int64_t summarize,
                                              TensorFormat format = TensorFormat::kFlat);

// The shortest of 6 or 9 (double: 15 or 17) significant digits that reads back as the same number;
// "nan", "-nan", "inf", "-inf".
std::string FormatFloat(float value);
std::string FormatDouble(double value);

}  // namespace gyre

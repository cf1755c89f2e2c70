// Numbers, dimensions and tensors in the text form of programs: see text/literal.h for how they
// look.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/dtype.h"
#include "gyre/core/shape.h"
#include "gyre/core/tensor.h"
#include "ir/text/reader.h"

namespace gyre {

struct LiteralOptions {
  // Longer tensors, and strings of more than eight times as many bytes, are cut short, which cannot
  // be read back. Negative: nothing is.
  int64_t max_elements = -1;
};

// The fewest digits that read back as the same bits.
std::string WriteFloat(float value);
absl::StatusOr<float> ReadFloat(TextReader& reader);
absl::StatusOr<int64_t> ReadInt(TextReader& reader);
// A word that may hold the sign of an exponent, as in 1e+20.
std::string ReadNumberWord(TextReader& reader);

// `2,?` between the brackets of a shape.
std::string WriteDims(const PartialShape& shape);
// Dimensions up to `close`, which is consumed; the opening bracket has been.
absl::StatusOr<PartialShape> ReadDims(TextReader& reader, absl::string_view close);

std::string WriteTensor(const Tensor& tensor, const LiteralOptions& options);
// What stands after the type: dimensions, if any, and the elements in braces.
absl::StatusOr<Tensor> ReadTensor(TextReader& reader, DType dtype);

}  // namespace gyre

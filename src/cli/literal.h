// Tensors as people type them: 3, -1.5, true, [1,2,3], [[1,2],[3,4]], "text", ["a","b"], 1+2j, each
// with an optional element type behind it: [1,2]:int64. Stateless; any thread.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre::cli {

// Reads `text` as a tensor that fits `dtype` and `shape`, as far as these are known (kInvalid: any
// type). Without a type, whole numbers are int32 (int64 where they don't fit), others float32.
//
// A single number fills a fully known shape, and a flat list of the right length is folded into it.
// Where strings are wanted, text without quotes or brackets stands for itself. INVALID_ARGUMENT
// says what does not fit.
absl::StatusOr<Tensor> ParseLiteral(absl::string_view text, DType dtype, const PartialShape& shape);

}  // namespace gyre::cli

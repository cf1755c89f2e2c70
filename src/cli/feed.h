// The values of --feed: typed in, or read from a file. Stateless; any thread.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre::cli {

// The tensor that `spec` stands for: a literal (literal.h), "@file.npy", "@file.safetensors" (if it
// holds just one) or
// "@file.safetensors:name". `dtype` (kInvalid: any) and `shape` are what the graph wants;
// INVALID_ARGUMENT or NOT_FOUND say what does not fit or is not there.
absl::StatusOr<Tensor> ReadFeed(absl::string_view spec, DType dtype, const PartialShape& shape);

}  // namespace gyre::cli

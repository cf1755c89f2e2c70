// Tensors as golden cases write them in JSON: {"dtype", "shape", "data" or "ref"}. Stateless; any
// thread.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "golden/json.h"
#include "gyre/core/tensor.h"

namespace gyre::golden {

// Finds the tensor that a "ref" names.
using RefLookup = std::function<absl::StatusOr<Tensor>(const std::string& key)>;

// INVALID_ARGUMENT, beginning with `where`, for anything that is not exactly one tensor. Integers
// are read as such, up to the last bit of int64 and uint64.
absl::StatusOr<Tensor> ReadValue(const Json& json, const std::string& where,
                                 const RefLookup& find_ref);

}  // namespace gyre::golden

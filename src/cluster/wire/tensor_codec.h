// Tensors as bytes: any dtype, and the values that a variant may hold (lists, optionals), nested as
// they are. What exists in one process only (resources, references, stacks) is refused.
//
//   tensor:  dtype u8, rank u8, dimensions i64 each, then
//     plain     elements as they lie in memory
//     string    of each its length u64, then all their bytes
//     variant   of each a kind u8 (none, list, optional) and what it holds
//
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre::cluster {

// The type of this number; kInvalid where there is none.
DType DTypeOfByte(uint8_t number);

// C++'s bool has two values: makes of bytes that came from elsewhere what they mean to C.
void NormalizeBools(Tensor& tensor);

// Appends to `out`. INVALID_ARGUMENT for what cannot leave its process, and for a tensor without a
// value.
absl::Status EncodeTensor(const Tensor& tensor, std::string& out);

// Takes a tensor off the front of `in`. INVALID_ARGUMENT for bytes that are none,
// RESOURCE_EXHAUSTED where the budget (may be null) is used up. Bytes cannot make it take more
// memory than they justify.
absl::StatusOr<Tensor> DecodeTensor(absl::string_view& in, MemoryBudget* budget);

}  // namespace gyre::cluster

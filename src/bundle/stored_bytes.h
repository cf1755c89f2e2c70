// Tensors as the data files of bundles hold them: plain numbers, little-endian; strings as their
// lengths (varints), a checksum of the lengths, and their bytes. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Fills the strings of `tensor` from what a data file holds, and returns the checksum that their
// entry must have. INVALID_ARGUMENT for bytes that are not these strings.
absl::StatusOr<uint32_t> DecodeStrings(absl::string_view bytes, Tensor& tensor);

// The reverse: appends to `bytes` and returns the checksum.
uint32_t EncodeStrings(const Tensor& tensor, std::string& bytes);

}  // namespace gyre

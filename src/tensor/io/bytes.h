// What the file formats of this folder share in handling a tensor's elements as bytes. Stateless;
// any thread.
#pragma once

#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre {

// The elements as they lie in memory. Requirement: a dtype of plain bytes. Valid while `tensor`
// lives.
inline absl::string_view ElementBytes(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()),
          DTypeSize(tensor.dtype()) * static_cast<size_t>(tensor.num_elements())};
}

// Makes every byte of a bool tensor 0 or 1: a file may hold others, which would not be valid bools.
inline void NormalizeBools(Tensor& tensor) {
  if (tensor.dtype() != DType::kBool) return;
  unsigned char* bytes = static_cast<unsigned char*>(tensor.mutable_raw_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace gyre

// The manifest of a checkpoint: which file of its folder counts, and what is in it.
//
//   {"checkpoint": {"format": 1, "file": "variables-3.safetensors", "bytes": 120,
//                   "tensors": {"w": {"dtype": "float32", "shape": [2], "crc32c": 123}}},
//    "crc32c": 456}
//
// The outer checksum is that of the text of "checkpoint", printed without spaces, names in order.
// Stateless; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre {

struct Manifest {
  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;
    uint32_t crc32c = 0;  // of the elements' bytes
    bool operator==(const Entry&) const = default;
  };
  std::string file;
  int64_t bytes = 0;  // in the file
  std::map<std::string, Entry> tensors;
  bool operator==(const Manifest&) const = default;
};

// INVALID_ARGUMENT for anything that PrintManifest did not write; so the file's name is one that
// ValuesFile makes, and leads nowhere else.
absl::StatusOr<Manifest> ParseManifest(absl::string_view text);
// INVALID_ARGUMENT when a name is not UTF-8, or the text is longer than ParseManifest reads.
absl::StatusOr<std::string> PrintManifest(const Manifest& manifest);

// "variables-3.safetensors".
std::string ValuesFile(int64_t number);
// Its number; -1 for other names.
int64_t NumberOfValuesFile(absl::string_view name);

}  // namespace gyre

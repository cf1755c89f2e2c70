// The safetensors format: named tensors in one file, with no code in it
// (https://github.com/huggingface/safetensors).
//
// A SafetensorsFile owns its descriptor and the parsed header; elements are read when they are
// asked for. It may be read from many threads.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gyre/tensor.h"
#include "tensor/io/file.h"

namespace gyre {

class SafetensorsFile {
 public:
  // INVALID_ARGUMENT, saying what is wrong, unless header and tensors fill the file exactly, as the
  // format demands.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  // In order of name.
  std::vector<std::string> Names() const;
  // NOT_FOUND when there is no such tensor; RESOURCE_EXHAUSTED when it does not fit.
  absl::StatusOr<Tensor> Read(absl::string_view name, Tensor::Alloc alloc = {}) const;

 private:
  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;
    int64_t begin = 0;  // in the file
    int64_t bytes = 0;
  };

  explicit SafetensorsFile(InputFile file) : file_(std::move(file)) {}
  absl::Status ReadHeader();

  InputFile file_;
  std::map<std::string, Entry> entries_;
};

// INVALID_ARGUMENT for a dtype that the format does not know (string, complex128), a name that is
// no UTF-8, or a name given twice.
absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors);

}  // namespace gyre

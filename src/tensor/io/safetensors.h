// The safetensors format: named tensors in one file, with no code in it
// (https://github.com/huggingface/safetensors): the length of a header in 8 bytes, little-endian;
// the header, a JSON object that gives each tensor a dtype, a shape and a range of bytes; and the
// tensors' bytes, without holes.
//
// Types that the format does not know are carried by others, as an entry "gyre.dtype.NAME" of the
// header's __metadata__ says: complex128 by F64 with one more axis, of length 2; the quantised
// types by integers of their size.
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
#include "gyre/core/tensor.h"
#include "tensor/io/file.h"
#include "tensor/io/output_file.h"

namespace gyre {

class SafetensorsFile {
 public:
  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;
    int64_t begin = 0;  // in the file
    int64_t bytes = 0;
  };

  // INVALID_ARGUMENT, saying what is wrong, unless header and tensors fill the file exactly, as the
  // format demands. Allocates no more for elements than the file has, and none before Read.
  static absl::StatusOr<SafetensorsFile> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // Bytes in the file.
  int64_t size() const { return file_.size(); }
  // By name.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  std::vector<std::string> Names() const;
  // NOT_FOUND when there is no such tensor; RESOURCE_EXHAUSTED when it does not fit.
  absl::StatusOr<Tensor> Read(absl::string_view name, Tensor::Alloc alloc = {}) const;

 private:
  explicit SafetensorsFile(InputFile file) : file_(std::move(file)) {}
  absl::Status ReadHeader();
  absl::Status CheckRanges(int64_t data) const;

  InputFile file_;
  std::map<std::string, Entry> entries_;
};

// Whether a file can hold elements of this type, by itself or carried by another: all but string,
// resource and variant.
bool IsSafetensorsType(DType dtype);

// INVALID_ARGUMENT for a dtype that a file cannot hold, a name that is no UTF-8, a name given
// twice, or more names than a header has room for. Larger elements come first, so that all are
// aligned.
absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors);
// The same into a file that was made at `path`, which is left to be committed.
absl::Status WriteSafetensors(OutputFile& file, const std::string& path,
                              absl::Span<const std::pair<std::string, Tensor>> tensors);

}  // namespace gyre

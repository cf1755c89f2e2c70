// CodeCache: native code on disk, for the next process that needs the same.
//
// There is one where the environment variable GYRE_COMPILE_CACHE names a folder, which is made if
// need be. A file's name is a hash of all that its code was made of: the loop, the kernels'
// functions, options, the kind of processor, LLVM. Processes may share a folder. What is damaged,
// or is no such file, or one that others may write to, counts as not there, and so does what cannot
// be read; what cannot be written
// is compiled again next time. When files take more than 64 MiB, the oldest go.
//
// Code is run as it is found, so the folder must be one that nobody else may write to.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiled/region.h"

namespace gyre::compiled {

class CodeCache final : public CodeStore {
 public:
  // Of this process; null: there is none. INVALID_ARGUMENT, PERMISSION_DENIED and errors of the
  // file system where the folder cannot serve. Thread-safe.
  static absl::StatusOr<const CodeCache*> Get();

  // In `folder`, which is made and looked at.
  static absl::StatusOr<CodeCache> Open(std::string folder, int64_t most_bytes = 64 << 20);

  // Empty where there is nothing. Both throw std::bad_alloc.
  std::string Find(absl::string_view key) const;
  void Keep(absl::string_view key, absl::string_view code) const;

 private:
  CodeCache(std::string folder, int64_t most_bytes);
  std::string PathOf(absl::string_view key) const;
  void RemoveOldest() const;

  std::string folder_;
  int64_t most_bytes_;
};

}  // namespace gyre::compiled

// Calls of the system that fail, for tests of what reads and writes files. While one of these is at
// work, no other thread may touch files.
#pragma once

#include <functional>
#include <ostream>

#include "absl/status/status.h"
#include "tensor/io/file_calls.h"

namespace gyre::test {

// While it lives, all calls of one kind fail.
class FileFault {
 public:
  FileFault(file_calls::Call call, int error);
  FileFault(const FileFault&) = delete;
  FileFault& operator=(const FileFault&) = delete;
  ~FileFault();

 private:
  const file_calls::FaultHook hook_;
};

// The one call that failed.
struct FaultCase {
  int number = 0;  // among the calls of the operation
  file_calls::Call call{};
  int error = 0;  // or file_calls::kShort

  // What is left over is found by such calls, and removed by the next writer if they fail.
  bool MayLeaveFiles() const;
};
std::ostream& operator<<(std::ostream& out, const FaultCase& fault);

// Runs `operation` once, and then again and again with one of its calls failing: each in turn, by
// EIO, ENOSPC, EMFILE, EINTR, and short reads and writes. Expects success of the last two, no more
// descriptors than before, and of the others success or an error that is none of Gyre's own; then
// calls `check`. Returns how many calls there are.
int FailEachCall(const std::function<absl::Status()>& operation,
                 const std::function<void(const FaultCase&, const absl::Status&)>& check);

}  // namespace gyre::test

#include "support/file_faults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/kill.h"

namespace gyre::test {

using file_calls::Call;

FileFault::FileFault(Call call, int error)
    : hook_([call, error](Call made) { return made == call ? error : 0; }) {
  file_calls::SetFaultHook(&hook_);
}

FileFault::~FileFault() { file_calls::SetFaultHook(nullptr); }

bool FaultCase::MayLeaveFiles() const {
  return call == Call::kRemove || call == Call::kOpen || call == Call::kList ||
         call == Call::kLock || call == Call::kRead || call == Call::kAttributes;
}

std::ostream& operator<<(std::ostream& out, const FaultCase& fault) {
  constexpr const char* kNames[] = {"open", "read", "write",  "sync", "close",  "lock",
                                    "stat", "list", "rename", "link", "remove", "mkdir"};
  return out << kNames[static_cast<int>(fault.call)] << ", call " << fault.number << ": "
             << (fault.error == file_calls::kShort ? "short" : std::strerror(fault.error)) << "; ";
}

int FailEachCall(const std::function<absl::Status()>& operation,
                 const std::function<void(const FaultCase&, const absl::Status&)>& check) {
  constexpr int kErrors[] = {EIO, ENOSPC, EMFILE, EINTR, file_calls::kShort};
  int most = 0;
  for (const int error : kErrors) {
    bool was_reached = true;
    for (int number = 0; was_reached; ++number) {
      FaultCase fault{number, {}, error};
      int calls = 0;
      const file_calls::FaultHook hook = [&](Call call) {
        if (calls++ != number) return 0;
        fault.call = call;
        return error;
      };
      const int descriptors = OpenDescriptors();
      file_calls::SetFaultHook(&hook);
      const absl::Status status = operation();
      file_calls::SetFaultHook(nullptr);
      was_reached = calls > number;
      most = std::max(most, calls);
      const bool must_succeed = error == EINTR || error == file_calls::kShort || !was_reached;
      EXPECT_TRUE(status.ok() || !must_succeed) << fault << status;
      EXPECT_FALSE(absl::IsInternal(status)) << fault << status;
      EXPECT_EQ(OpenDescriptors(), descriptors) << fault;
      check(fault, status);
    }
  }
  return most;
}

}  // namespace gyre::test

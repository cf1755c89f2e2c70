// CUDA devices, of the machine's driver or else of the fake one.
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "devices/conformance/conformance.h"
#include "fake_cuda/load.h"

namespace gyre::testing {

// Before any test asks how many there are.
const bool driver_is_loaded = (LoadFakeCudaIfNeeded(), true);

GYRE_TEST_DEVICE(Cuda, "CUDA");

// Whether `check` holds in a child of fork().
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

// The driver is of no use there; what has come back before is.
TEST(CudaDevice, ChildrenOfForkAreTold) {
  if (FindDeviceType("CUDA")->count() == 0) GTEST_SKIP() << "this machine has no CUDA";
  Device* const device = *LocalDevice(DeviceName::Local("CUDA", 0));
  const Tensor value = Noise(DType::kFloat, 1000, 4);
  Tensor there = Copied(value, device);
  Tensor back = Copied(there, nullptr);
  EXPECT_TRUE(HoldsInChild([&] { return SameBytes(value, back); }));
  EXPECT_TRUE(HoldsInChild([&] {
    const auto copy = CopyTensor(there, nullptr, nullptr);
    const absl::Status status = copy.ok() ? copy->done->Wait() : copy.status();
    there = back = Tensor();
    return absl::IsFailedPrecondition(status) &&
           absl::StrContains(status.message(), "child of fork()");
  }));
}

}  // namespace gyre::testing

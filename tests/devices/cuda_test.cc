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

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (FindDeviceType("CUDA")->count() == 0) GTEST_SKIP() << "this machine has no CUDA devices";
  }
};

// More than any GPU has.
TEST_F(CudaDevice, SaysThatItsMemoryIsUsedUp) {
  const auto device = *FindDeviceType("CUDA")->make(0, {});
  const auto most =
      Tensor::Make(DType::kUint8, Shape::Vector(int64_t{1} << 39), {&device->allocator()});
  EXPECT_EQ(most.status().code(), absl::StatusCode::kResourceExhausted) << most.status();
  EXPECT_THAT(std::string(most.status().message()),
              ::testing::HasSubstr("does not fit the memory of CUDA:0 (CUDA:0: "
                                   "cuMemAllocFromPoolAsync failed with CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(device->memory().bytes_in_use, 0);
  const Tensor value = Noise(DType::kFloat, 1000, 4);
  EXPECT_TRUE(SameBytes(value, Copied(Copied(value, device.get()), nullptr)));
}

// With copies of all kinds under way.
TEST_F(CudaDevice, ProcessesMayEndMeanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto work_and_end = [] {
    Device* const device = *LocalDevice(DeviceName::Local("CUDA", 0));
    const Tensor large = Noise(DType::kFloat, 3'000'000, 4);
    const Tensor there = Copied(large, device);
    for (int i = 0; i < 100; ++i) {
      CopyTensor(Noise(DType::kFloat, 1000, 4), device, nullptr).status().IgnoreError();
      if (i % 20 == 0) CopyTensor(large, device, nullptr).status().IgnoreError();
      CopyTensor(there, nullptr, nullptr).status().IgnoreError();
    }
    std::exit(0);
  };
  EXPECT_EXIT(work_and_end(), ::testing::ExitedWithCode(0), "");
}

// The driver is of no use there; what has come back before is.
TEST_F(CudaDevice, ChildrenOfForkAreTold) {
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

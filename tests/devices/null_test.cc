#include "devices/conformance/conformance.h"

namespace gyre::testing {

GYRE_TEST_DEVICE(Null, "NULL");

// What the host cannot read, it had better not.
TEST(NullDeviceDeathTest, ItsMemoryIsNotTheHosts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto device = FindDeviceType("NULL")->make(0, {});
  const Tensor there = Copied(Noise(DType::kFloat, 10, 1), device->get());
  EXPECT_DEATH(
      {
        const volatile float read = there.values<float>()[3];
        (void)read;
      },
      "");
}

}  // namespace gyre::testing

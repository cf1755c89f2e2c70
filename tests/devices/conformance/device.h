// What a device must do: memory.cc, copies.cc and streams.cc test its interface (devices/device.h).
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "devices/copy.h"
#include "devices/device_type.h"
#include "gmock/gmock.h"

namespace gyre::testing {

// The parameter is the name of the type.
class DeviceConformance : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    type_ = FindDeviceType(GetParam());
    ASSERT_NE(type_, nullptr) << "there are no devices " << GetParam();
    if (type_->count() == 0) GTEST_SKIP() << "this machine has no " << GetParam();
  }

  // A device of the test's own.
  std::unique_ptr<Device> Make(int id = 0, const DeviceOptions& options = {}) const {
    absl::StatusOr<std::unique_ptr<Device>> device = type_->make(id, options);
    EXPECT_TRUE(device.ok()) << device.status();
    return *std::move(device);
  }

  const DeviceType* type_ = nullptr;
};

// `n` elements on the host whose bytes are drawn from `seed`.
inline Tensor Noise(DType dtype, int64_t n, uint32_t seed) {
  Tensor value = *Tensor::Make(dtype, Shape::Vector(n));
  auto* const bytes = static_cast<unsigned char*>(value.mutable_raw_data());
  for (size_t i = 0; i < value.bytes(); ++i) {
    seed = seed * 1664525 + 1013904223;  // Numerical Recipes' quick generator
    bytes[i] = static_cast<unsigned char>(seed >> 24);
  }
  return value;
}

inline bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.bytes()) == 0);
}

// A copy that has arrived; null: on the host. A failed test and no value for errors.
inline Tensor Copied(const Tensor& value, Device* to) {
  const absl::StatusOr<TensorCopy> copy = CopyTensor(value, to, nullptr);
  EXPECT_TRUE(copy.ok()) << copy.status();
  if (!copy.ok()) return Tensor();
  const absl::Status status = copy->done->Wait();
  EXPECT_TRUE(status.ok()) << status;
  return copy->value;
}

}  // namespace gyre::testing

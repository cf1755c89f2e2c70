// A device's allocator.
#include <set>
#include <thread>

#include "devices/conformance/device.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

TEST_P(DeviceConformance, BlocksAreAlignedAndApart) {
  const auto device = Make();
  std::vector<std::pair<void*, size_t>> blocks;
  std::set<void*> seen;
  for (const size_t bytes : {0, 1, 63, 64, 65, 4096, 100'000, 1 << 20}) {
    for (int i = 0; i < 3; ++i) {
      void* const block = device->allocator().Allocate(bytes);
      ASSERT_NE(block, nullptr) << bytes;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u) << bytes;
      EXPECT_TRUE(seen.insert(block).second) << bytes;
      blocks.emplace_back(block, bytes);
    }
  }
  for (const auto& [block, bytes] : blocks) device->allocator().Deallocate(block, bytes);
}

TEST_P(DeviceConformance, CountsWhatItGivesOut) {
  const auto device = Make();
  {
    const Tensor a = *Tensor::Make(DType::kFloat, Shape::Vector(1000), {&device->allocator()});
    EXPECT_GE(device->memory().bytes_in_use, 4000);
    const Tensor b = *Tensor::Make(DType::kFloat, Shape::Vector(500), {&device->allocator()});
    EXPECT_GE(device->memory().bytes_in_use, 6000);
    EXPECT_EQ(device->memory().num_allocations, 2);
  }
  EXPECT_EQ(device->memory().bytes_in_use, 0);
  EXPECT_GE(device->memory().peak_bytes, 6000);
  EXPECT_LT(device->memory().peak_bytes, 7000);
  EXPECT_EQ(device->memory().num_allocations, 2);
}

TEST_P(DeviceConformance, SaysWhenItsMemoryIsUsedUp) {
  const auto device = Make(0, {.memory_limit = 10'000});
  const auto make = [&](int64_t n) {
    return Tensor::Make(DType::kUint8, Shape::Vector(n), {&device->allocator()});
  };
  const auto most = make(8000);
  ASSERT_TRUE(most.ok()) << most.status();
  const auto more = make(8000);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted) << more.status();
  EXPECT_THAT(std::string(more.status().message()),
              AllOf(HasSubstr("[8000]"), HasSubstr(device->name()), HasSubstr("10000 bytes")));
  EXPECT_EQ(make(int64_t{1} << 62).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(make(1000).ok());
  // So does a copy.
  const auto copy = CopyTensor(Noise(DType::kUint8, 8000, 1), device.get(), nullptr);
  if (device->is_discrete()) {
    EXPECT_EQ(copy.status().code(), absl::StatusCode::kResourceExhausted) << copy.status();
  }
  EXPECT_EQ(device->memory().limit, 10'000);
}

// The budget of a run counts beside the device.
TEST_P(DeviceConformance, ChargesTheBudget) {
  const auto device = Make();
  const auto budget = MakeRef<MemoryBudget>(1000);
  const Tensor::Alloc alloc = {&device->allocator(), budget.get()};
  {
    const auto made = Tensor::Make(DType::kUint8, Shape::Vector(900), alloc);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(budget->used(), 900);
    const auto more = Tensor::Make(DType::kUint8, Shape::Vector(900), alloc);
    EXPECT_THAT(std::string(more.status().message()), HasSubstr("budget of 1000 bytes"));
  }
  EXPECT_EQ(budget->used(), 0);
  EXPECT_EQ(device->memory().bytes_in_use, 0);
}

TEST_P(DeviceConformance, AllocatesForManyThreads) {
  const auto device = Make();
  constexpr int kThreads = 4, kTimes = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Tensor> kept;
      for (int i = 0; i < kTimes; ++i) {
        kept.push_back(*Tensor::Make(DType::kUint8, Shape::Vector(1 + (i * 37 + t) % 3000),
                                     {&device->allocator()}));
        if (kept.size() > 10) kept.erase(kept.begin());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->memory().bytes_in_use, 0);
  EXPECT_EQ(device->memory().num_allocations, kThreads * kTimes);
}

TEST_P(DeviceConformance, HoldsPlainBytesAlone) {
  const auto device = Make();
  const Tensor::Alloc alloc = {&device->allocator()};
  const Tensor plain = *Tensor::Make(DType::kFloat, Shape::Vector(3), alloc);
  const auto text = Tensor::Make(DType::kString, Shape::Vector(3), alloc);
  EXPECT_EQ(device->is_discrete(), type_->is_discrete);
  EXPECT_EQ(plain.device(), type_->is_discrete ? device.get() : nullptr);
  EXPECT_EQ(text.ok(), !type_->is_discrete) << text.status();
  // Scalars are part of the tensor.
  EXPECT_EQ(Tensor::Make(DType::kFloat, Shape(), alloc)->device(), nullptr);
}

}  // namespace
}  // namespace gyre::testing

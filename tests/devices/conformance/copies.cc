// A device's copier.
#include <thread>

#include "devices/conformance/device.h"

namespace gyre::testing {
namespace {

TEST_P(DeviceConformance, CopiesEveryTypeThereAndBack) {
  const auto device = Make();
  for (int d = 1; d <= static_cast<int>(DType::kUint64); ++d) {
    const auto dtype = static_cast<DType>(d);
    if (!IsTrivial(dtype)) continue;
    for (const int64_t n : {1, 2, 3, 7, 63, 64, 65, 1001, 70'001}) {
      const Tensor value = Noise(dtype, n, static_cast<uint32_t>(d + n));
      const Tensor there = Copied(value, device.get());
      ASSERT_TRUE(there.has_value());
      EXPECT_EQ(there.device(), type_->is_discrete ? device.get() : nullptr);
      const Tensor back = Copied(there, nullptr);
      EXPECT_EQ(back.device(), nullptr);
      EXPECT_TRUE(SameBytes(value, back)) << DTypeName(dtype) << " times " << n;
    }
  }
  EXPECT_EQ(device->memory().bytes_in_use, 0);
}

// Rows of a tensor begin anywhere.
TEST_P(DeviceConformance, CopiesFromOddAddresses) {
  const auto device = Make();
  const Tensor value = Noise(DType::kUint8, 1000, 5);
  const Tensor there = Copied(value, device.get());
  for (const int64_t begin : {1, 13, 63, 65, 500}) {
    const Tensor rows = value.SliceRows(begin, 111);
    EXPECT_TRUE(SameBytes(rows, Copied(Copied(rows, device.get()), nullptr))) << begin;
    EXPECT_TRUE(SameBytes(rows, Copied(there.SliceRows(begin, 111), nullptr))) << begin;
  }
}

TEST_P(DeviceConformance, KnowsWhatNeedsNoCopy) {
  const auto device = Make();
  const Tensor value = Noise(DType::kFloat, 8, 1);
  EXPECT_EQ(NeedsCopy(value, device.get()), type_->is_discrete);
  const Tensor there = Copied(value, device.get());
  EXPECT_FALSE(NeedsCopy(there, device.get()));
  EXPECT_EQ(NeedsCopy(there, nullptr), type_->is_discrete);
  for (const Tensor& anywhere :
       {Tensor(), Tensor::Scalar(1.5), Noise(DType::kInt32, 0, 1),
        *Tensor::Make(DType::kInt32, Shape::Vector(0), {&device->allocator()})}) {
    EXPECT_FALSE(NeedsCopy(anywhere, device.get()));
    EXPECT_FALSE(NeedsCopy(anywhere, nullptr));
  }
}

TEST_P(DeviceConformance, CopiesNothingAndScalars) {
  const auto device = Make();
  EXPECT_TRUE(Copied(Noise(DType::kInt32, 0, 1), device.get()).shape() == Shape::Vector(0));
  EXPECT_EQ(Copied(Tensor::Scalar(2.5), device.get()).scalar<double>(), 2.5);
  // Of a scalar in somebody else's memory, too.
  float number = 7;
  const Tensor lent = Tensor::External(DType::kFloat, Shape(), &number, nullptr);
  EXPECT_EQ(Copied(lent, device.get()).scalar<float>(), 7);
  for (const size_t none : {0, 0}) {
    Stream& stream = device->stream(StreamUse::kToHost);
    EXPECT_TRUE(device->copier().ToHost(stream, nullptr, nullptr, none)->Wait().ok());
  }
  const auto text = CopyTensor(Tensor::Vector<std::string>({"a"}), device.get(), nullptr);
  EXPECT_EQ(text.status().code(), absl::StatusCode::kInternal) << text.status();
}

// To and from memory that the device knows nothing of, of sizes that may take several turns.
TEST_P(DeviceConformance, CopiesLargeBlocksOfAnyMemory) {
  const auto device = Make();
  Stream& stream = device->stream(StreamUse::kToHost);
  for (const size_t bytes : {size_t{300'001}, size_t{4} << 20, size_t{33'333'333}}) {
    const Tensor value = Noise(DType::kUint8, static_cast<int64_t>(bytes), 9);
    const Tensor there = *Tensor::Make(DType::kUint8, value.shape(), {&device->allocator()});
    void* const block = const_cast<void*>(there.raw_data());
    std::vector<char> out(bytes);
    device->copier().ToDevice(stream, value.raw_data(), block, bytes);
    ASSERT_TRUE(device->copier().ToHost(stream, block, out.data(), bytes)->Wait().ok());
    EXPECT_EQ(std::memcmp(out.data(), value.raw_data(), bytes), 0) << bytes;
  }
}

TEST_P(DeviceConformance, CopiesWithinAndBetweenDevices) {
  const auto device = Make();
  const auto other = Make(type_->count() > 1 ? 1 : 0);
  const Tensor value = Noise(DType::kInt16, 777, 3);
  const Tensor here = Copied(value, device.get());
  const Tensor there = Copied(here, other.get());
  EXPECT_TRUE(SameBytes(value, Copied(there, nullptr)));
  Tensor again = *Tensor::Make(DType::kInt16, value.shape(), {&device->allocator()});
  const EventPtr done = device->copier().Within(
      device->stream(StreamUse::kCompute), here.raw_data(), again.mutable_raw_data(), here.bytes());
  ASSERT_TRUE(done->Wait().ok());
  EXPECT_TRUE(SameBytes(value, Copied(again, nullptr)));
}

// Nobody else need keep what is being copied.
TEST_P(DeviceConformance, KeepsWhatItCopies) {
  const auto device = Make();
  std::vector<EventPtr> events;
  for (uint32_t i = 0; i < 50; ++i) {
    const auto copy = CopyTensor(Noise(DType::kDouble, 5000, i), device.get(), nullptr);
    ASSERT_TRUE(copy.ok());
    events.push_back(copy->done);
  }
  for (const EventPtr& event : events) EXPECT_TRUE(event->Wait().ok());
}

TEST_P(DeviceConformance, CopiesForManyThreads) {
  const auto device = Make();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 100; ++i) {
        const Tensor value = Noise(DType::kFloat, 1 + (i * 53) % 2000, t * 1000 + i);
        EXPECT_TRUE(SameBytes(value, Copied(Copied(value, device.get()), nullptr)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace gyre::testing

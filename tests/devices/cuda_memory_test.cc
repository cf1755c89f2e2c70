// The memory of CUDA devices: blocks that come back are given out again, without a call of the
// driver, and never too early. With the fake driver alone.
#include <map>

#include "devices/conformance/device.h"
#include "fake_cuda/load.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::HasSubstr;

class CudaMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    LoadFakeCudaIfNeeded();
    calls_ = FakeCudaFunction<int(const char*)>("FakeCudaCalls");
    stall_ = FakeCudaFunction<void(int)>("FakeCudaStall");
    limit_ = FakeCudaFunction<void(long)>("FakeCudaLimitMemory");
    used_ = FakeCudaFunction<long()>("FakeCudaUsedMemory");
    reset_ = FakeCudaFunction<void()>("FakeCudaReset");
    if (reset_ == nullptr) GTEST_SKIP() << "this machine's driver is a real one";
  }
  void TearDown() override {
    if (reset_ != nullptr) reset_();
  }
  int Allocations() const { return calls_("cuMemAllocFromPoolAsync"); }
  static std::unique_ptr<Device> MakeDevice(const DeviceOptions& options = {}) {
    return *FindDeviceType("CUDA")->make(0, options);
  }
  static absl::StatusOr<Tensor> Bytes(Allocator& allocator, int64_t n) {
    return Tensor::Make(DType::kUint8, Shape::Vector(n), {&allocator});
  }

  int (*calls_)(const char*) = nullptr;
  void (*stall_)(int) = nullptr;
  void (*limit_)(long) = nullptr;
  long (*used_)() = nullptr;
  void (*reset_)() = nullptr;
};

TEST_F(CudaMemory, IsGivenOutAgainWithoutTheDriver) {
  const auto device = MakeDevice();
  const auto round = [&](Allocator& allocator) {
    std::vector<Tensor> kept;
    for (const int64_t n : {1, 100, 512, 513, 5000, 100'000}) {
      kept.push_back(*Bytes(allocator, n));
      kept.push_back(*Bytes(allocator, n));
    }
  };
  round(device->allocator());
  const int before = Allocations(), waits = calls_("cuStreamSynchronize");
  for (int i = 0; i < 100; ++i) {
    round(device->allocator());
    round(device->kernel_allocator());
  }
  EXPECT_EQ(Allocations(), before);
  EXPECT_EQ(calls_("cuStreamSynchronize"), waits);
  EXPECT_EQ(device->memory().bytes_in_use, 0);
}

// What a kernel may still use goes to kernels behind it, and to no copy.
TEST_F(CudaMemory, IsNoCopysBeforeKernelsAreDoneWithIt) {
  const auto device = MakeDevice();
  const auto session = SessionFor(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Neg(%x)
  %b = Neg(%a)
})",
                                  {.devices = "cuda:1,cpu:1"});
  const Tensor x = Noise(DType::kFloat, 1000, 4);
  Device& used = **LocalDevice(DeviceName::Local("CUDA", 0));
  for (int i = 0; i < 20; ++i) {
    const auto got = session->Run({{"x", x}}, {"b"});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(SameBytes((*got)[0], x));
    // Into memory that kernels have just given back.
    const Tensor other = Noise(DType::kFloat, 1000, static_cast<uint32_t>(i));
    EXPECT_TRUE(SameBytes(Copied(Copied(other, &used), nullptr), other));
  }
}

TEST_F(CudaMemory, GoesBackWhereOtherSizesNeedTheRoom) {
  const auto device = MakeDevice();
  for (const int64_t n : {60'000, 61'000, 90'000}) (void)Bytes(device->allocator(), n);
  limit_(used_() + 50'000);
  const auto other = Bytes(device->allocator(), 150'000);
  EXPECT_TRUE(other.ok()) << other.status();
  const auto more = Bytes(device->allocator(), 150'000);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted) << more.status();
  EXPECT_THAT(std::string(more.status().message()), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
}

// What is kept and what is in use are within the limit together.
TEST_F(CudaMemory, KeepsWithinTheLimit) {
  const long before = used_();
  const auto device = MakeDevice({.memory_limit = 300'000});
  for (int64_t n = 10'000; n < 150'000; n += 7'000) {
    const auto bytes = Bytes(device->allocator(), n);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    device->stream(StreamUse::kCompute).Record()->Wait().IgnoreError();
    EXPECT_LE(used_() - before, 330'000) << n;
  }
}

TEST_F(CudaMemory, GoesBackWithItsDevice) {
  const long before = used_();
  auto device = MakeDevice();
  for (const int64_t n : {1000, 100'000}) (void)Bytes(device->allocator(), n);
  EXPECT_GT(used_(), before);
  device.reset();
  EXPECT_EQ(used_(), before);
}

// A loop with two kernels whose condition is the host's: an iteration is two launches, and nothing
// else of the driver's.
TEST_F(CudaMemory, LoopsNeedNoneInTheSteadyState) {
  const auto session = SessionFor(R"(
graph {
  %n = Placeholder() dtype=int32 shape=() : int32
  %x = Placeholder() dtype=float32 : float32
  %zero = Const() value=int32{0} : int32
  %loop = StatelessWhile(%zero, %n, %x) cond=@more body=@step : (int32, int32, float32)
}
func @more(%i: int32, %n: int32, %x: float32) -> (p: bool) {
  %less = Less(%i, %n) : bool
  return %less
}
func @step(%i: int32, %n: int32, %x: float32) -> (i: int32, n: int32, x: float32) {
  %k = Const() value=int32{1} : int32
  %half = Const() value=float32{0.5} : float32
  %next = AddV2(%i, %k) : int32
  %product = Mul(%x, %half) : float32
  %sum = AddV2(%product, %half) : float32
  return %next, %n, %sum
}
)",
                                  {.devices = "cuda:1,cpu:1"});
  ASSERT_NE(session, nullptr);
  Tensor x = *Tensor::Make(DType::kFloat, Shape::Vector(1000));
  for (float& value : x.mutable_values<float>()) value = 1;
  const std::vector<const char*> calls = {
      "cuLaunchKernel", "cuMemAllocFromPoolAsync", "cuMemFreeAsync",    "cuStreamSynchronize",
      "cuEventRecord",  "cuStreamWaitEvent",       "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
      "cuEventCreate",  "cuModuleLoadData",        "cuMemsetD8Async"};
  const auto counts = [&](int n) {
    std::map<std::string, int> before, made;
    for (const char* call : calls) before[call] = calls_(call);
    const auto got = session->Run({{"n", Tensor::Scalar(int32_t{n})}, {"x", x}}, {"loop:2"});
    EXPECT_TRUE(got.ok()) << got.status();
    if (got.ok()) {
      EXPECT_EQ((*got)[0].values<float>()[7], 1.0f);
    }
    for (const char* call : calls) made[call] = calls_(call) - before[call];
    return made;
  };
  // Events come back a moment after a run, on a thread of their own: until then the next run may
  // need another one, once. What 100 iterations need would be there each time.
  std::map<std::string, int> more, expected;
  for (const char* call : calls) expected[call] = call == std::string("cuLaunchKernel") ? 200 : 0;
  for (int tries = 0; tries < 20 && more != expected; ++tries) {
    counts(10);
    const auto few = counts(10), many = counts(110);
    for (const char* call : calls) more[call] = many.at(call) - few.at(call);
  }
  EXPECT_EQ(more, expected);
}

}  // namespace
}  // namespace gyre::testing

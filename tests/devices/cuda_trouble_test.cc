// CUDA devices whose driver fails, stands still or loses its GPU when it is told to: what runs then
// comes to an end, with an error that says which call of which device failed, and how. With the
// fake driver alone.
#include <thread>

#include "devices/conformance/device.h"
#include "fake_cuda/load.h"
#include "gyre/core/options.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kEcc = 214, kUnknown = 999;

class CudaTrouble : public ::testing::Test {
 protected:
  void SetUp() override {
    fail_ = FakeCudaFunction<void(const char*, int, int, int)>("FakeCudaFail");
    stall_ = FakeCudaFunction<void(int)>("FakeCudaStall");
    reset_ = FakeCudaFunction<void()>("FakeCudaReset");
    calls_ = FakeCudaFunction<int(const char*)>("FakeCudaCalls");
    pageable_ = FakeCudaFunction<int()>("FakeCudaPageableCopies");
    if (reset_ == nullptr) GTEST_SKIP() << "this machine's driver is a real one";
    reset_();
    device_ = *LocalDevice(DeviceName::Local("CUDA", 0));
  }
  // Whatever happened, nothing is left.
  void TearDown() override {
    if (reset_ == nullptr) return;
    reset_();
    for (const StreamUse use : {StreamUse::kCompute, StreamUse::kToDevice, StreamUse::kToHost})
      EXPECT_TRUE(device_->stream(use).Record()->Wait().ok());
    EXPECT_EQ(device_->memory().bytes_in_use, 0);
  }

  // x goes to the device and comes back.
  static std::unique_ptr<Session> There() {
    return SessionFor(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Neg(%x)
  %b = Identity(%a) on "/cuda:0"
  %c = Neg(%b)
})",
                      {.devices = "cpu:1,cuda:1"});
  }
  static absl::StatusOr<std::vector<Tensor>> Run(Session& session, int64_t n = 1000,
                                                 const RunOptions& options = {}) {
    return session.Run({{"x", Noise(DType::kFloat, n, 4)}}, {"c"}, {}, options);
  }
  static void ExpectWell(Session& session) {
    const auto got = Run(session);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(SameBytes((*got)[0], Noise(DType::kFloat, 1000, 4)));
  }

  void (*fail_)(const char*, int, int, int) = nullptr;
  void (*stall_)(int) = nullptr;
  void (*reset_)() = nullptr;
  int (*calls_)(const char*) = nullptr;
  int (*pageable_)() = nullptr;
  Device* device_ = nullptr;
};

TEST_F(CudaTrouble, ErrorsSayWhichCallOfWhichDeviceFailed) {
  const auto session = There();
  ExpectWell(*session);
  for (const char* call : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuEventRecord"}) {
    fail_(call, 0, kUnknown, 0);
    const auto got = Run(*session);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kUnavailable) << got.status();
    EXPECT_THAT(std::string(got.status().message()),
                AllOf(HasSubstr("CUDA:0"), HasSubstr(call), HasSubstr("(999")));
    ExpectWell(*session);
  }
  fail_("cuMemcpyHtoDAsync", 0, 1, 0);
  EXPECT_THAT(Run(*session).status().ToString(),
              AllOf(HasSubstr("INTERNAL: "), HasSubstr("this is a bug in Gyre: CUDA:0: "),
                    HasSubstr("CUDA_ERROR_INVALID_VALUE")));
  ExpectWell(*session);
}

TEST_F(CudaTrouble, MemoryCanBeUsedUp) {
  const auto session = There();
  ExpectWell(*session);
  // What is kept for the next run goes back first, and is not enough.
  FakeCudaFunction<void(long)>("FakeCudaLimitMemory")(1000);
  const auto got = Run(*session, 100'000);
  reset_();
  EXPECT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
  EXPECT_THAT(std::string(got.status().message()),
              AllOf(HasSubstr("[100000]"), HasSubstr("the memory of CUDA:0"),
                    HasSubstr("cuMemAllocFromPoolAsync"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  ExpectWell(*session);
}

TEST_F(CudaTrouble, LostGpusFailWhatRunsAndWhatFollows) {
  const auto session = There();
  ExpectWell(*session);
  fail_("work", 1, kEcc, 1);  // on the way back
  for (int i = 0; i < 3; ++i) {
    const auto got = Run(*session);
    EXPECT_THAT(got.status().code(),
                AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted))
        << got.status();
    EXPECT_THAT(std::string(got.status().message()),
                AllOf(HasSubstr("CUDA:0"), HasSubstr("CUDA_ERROR_ECC_UNCORRECTABLE")));
  }
  // A device that is made then, too; it takes work, and fails it.
  EXPECT_THAT(std::string(FindDeviceType("CUDA")->make(0, {}).status().message()),
              HasSubstr("cuStreamCreate"));
  const auto stream = device_->MakeStream();
  int number = 0;
  EXPECT_FALSE(device_->copier().ToHost(*stream, &number, &number, 4)->Wait().ok());
  stream->WaitFor(device_->stream(StreamUse::kToHost).Record());
}

// Wherever it fails, once or for good: there is an end, and a right one where there is none of it.
TEST_F(CudaTrouble, AllCallsMayFail) {
  const auto session = There();
  ExpectWell(*session);
  int failed = 0;
  const auto run = [&](const char* call, int after, bool is_lost, const Tensor& x) {
    fail_(call, after, kUnknown, is_lost ? 1 : 0);
    const auto got = session->Run({{"x", x}}, {"c"});
    reset_();
    if (got.ok()) {
      EXPECT_TRUE(SameBytes((*got)[0], x)) << call;
    } else {
      ++failed;
      EXPECT_THAT(std::string(got.status().message()), HasSubstr("CUDA:0")) << call;
    }
  };
  const Tensor small = Noise(DType::kFloat, 1000, 4), in_pieces = Noise(DType::kFloat, 700'000, 4);
  for (const char* call :
       {"cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemHostAlloc", "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuStreamWaitEvent", "cuEventCreate",
        "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "work"}) {
    for (const int after : {0, 1, 2, 3}) run(call, after, after % 2 == 1, small);
    run(call, 1, false, in_pieces);
  }
  EXPECT_GT(failed, 10);
  // More than is ever pinned at once.
  const Tensor large = Noise(DType::kFloat, 17'000'000, 4);
  for (const char* call : {"cuMemHostAlloc", "cuMemcpyDtoHAsync", "cuEventSynchronize"})
    run(call, 0, false, large);
  ExpectWell(*session);
}

TEST_F(CudaTrouble, RunsOnGpusThatStandStillEndAtTheDeadlineAndWhenCancelled) {
  const auto session = There();
  ExpectWell(*session);
  for (const int64_t n : {1000, 3'000'000}) {
    stall_(1);
    const auto late = Run(*session, n, {.timeout_ms = 20});
    EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded) << late.status();
    Cancellation cancellation;
    std::thread canceller([&] { cancellation.Cancel(absl::CancelledError("enough")); });
    const auto stopped = Run(*session, n, {.cancellation = &cancellation});
    canceller.join();
    EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled) << stopped.status();
    stall_(0);
    ExpectWell(*session);
  }
}

TEST_F(CudaTrouble, WhatIsNotPinnedIsNoMatterOfTheDriver) {
  const int before = pageable_();
  for (const int64_t n : {1000, 3'000'000}) {
    const Tensor value = Noise(DType::kFloat, n, 4);
    const Tensor back = Copied(Copied(value, device_), nullptr);
    EXPECT_TRUE(SameBytes(value, back));
    // What has come back is pinned, and goes there again as it is.
    EXPECT_TRUE(SameBytes(value, Copied(Copied(back, device_), nullptr)));
  }
  EXPECT_EQ(pageable_(), before);
}

TEST_F(CudaTrouble, CopiesBetweenGpus) {
  ASSERT_EQ(FindDeviceType("CUDA")->count(), 2);
  Device* const other = *LocalDevice(DeviceName::Local("CUDA", 1));
  EXPECT_GE(calls_("cuMemPoolSetAccess"), 2);
  const int to_host = calls_("cuMemcpyDtoHAsync");
  const Tensor value = Noise(DType::kInt16, 12345, 1);
  const Tensor there = Copied(Copied(value, device_), other);
  EXPECT_EQ(there.device(), other);
  EXPECT_EQ(calls_("cuMemcpyDtoHAsync"), to_host);
  EXPECT_TRUE(SameBytes(value, Copied(there, nullptr)));
}

TEST_F(CudaTrouble, DevicesThatCannotBeMadeSayWhy) {
  for (const char* call : {"cuStreamCreate", "cuMemPoolCreate", "cuMemPoolSetAttribute"}) {
    fail_(call, call[2] == 'S' ? 3 : 0, kUnknown, 0);
    const auto made = FindDeviceType("CUDA")->make(1, {});
    EXPECT_THAT(std::string(made.status().message()),
                AllOf(HasSubstr("CUDA:1"), HasSubstr(call), HasSubstr("999")));
    reset_();
  }
  EXPECT_TRUE(FindDeviceType("CUDA")->make(1, {}).ok());
}

}  // namespace
}  // namespace gyre::testing

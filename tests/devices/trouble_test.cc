// A device that fails, hangs or is full when it is told to: what runs then comes to an end, and the
// next run is none the worse. It joins as a type that comes later (AddDeviceType).
#include <cstring>
#include <mutex>
#include <thread>

#include "devices/counting_allocator.h"
#include "devices/device_set.h"
#include "devices/device_type.h"
#include "devices/host_stream_device.h"
#include "gmock/gmock.h"
#include "gyre/core/options.h"
#include "support/run_text.h"

namespace gyre::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Trouble { kNone, kFails, kHangs, kIsFull };

// What the test tells the device. Thread-safe.
class Orders {
 public:
  void Set(Trouble to_device, Trouble to_host) {
    const std::lock_guard lock(mutex_);
    to_device_ = to_device;
    to_host_ = to_host;
  }
  bool is_full() {
    const std::lock_guard lock(mutex_);
    return to_device_ == Trouble::kIsFull;
  }
  EventPtr Copy(bool to_device, std::function<void()> copy) {
    const std::lock_guard lock(mutex_);
    const Trouble trouble = to_device ? to_device_ : to_host_;
    if (trouble == Trouble::kFails) return HappenedEvent(absl::InternalError("the wire is cut"));
    if (trouble == Trouble::kHangs) {
      hanging_.emplace_back(std::make_shared<HostEvent>(), std::move(copy));
      return hanging_.back().first;
    }
    copy();
    return HappenedEvent();
  }
  // Goes on with what hangs.
  void Release() {
    std::vector<std::pair<std::shared_ptr<HostEvent>, std::function<void()>>> hanging;
    {
      const std::lock_guard lock(mutex_);
      to_device_ = to_host_ = Trouble::kNone;
      hanging.swap(hanging_);
    }
    for (const auto& [event, copy] : hanging) {
      copy();
      event->Happen(absl::OkStatus());
    }
  }

 private:
  std::mutex mutex_;
  Trouble to_device_ = Trouble::kNone, to_host_ = Trouble::kNone;
  std::vector<std::pair<std::shared_ptr<HostEvent>, std::function<void()>>> hanging_;
};

Orders& TheOrders() {
  static auto* const orders = new Orders;
  return *orders;
}

class TroubleAllocator final : public CountingAllocator {
 public:
  using CountingAllocator::CountingAllocator;

 private:
  void* AllocateBlock(size_t bytes) override {
    return TheOrders().is_full() ? nullptr : HostAllocator().Allocate(bytes);
  }
  void DeallocateBlock(void* block, size_t bytes) override {
    HostAllocator().Deallocate(block, bytes);
  }
};

class TroubleCopier final : public Copier {
 public:
  EventPtr ToDevice(Stream&, const void* host, void* device, size_t bytes) override {
    return TheOrders().Copy(true, [=] { std::memcpy(device, host, bytes); });
  }
  EventPtr ToHost(Stream&, const void* device, void* host, size_t bytes) override {
    return TheOrders().Copy(false, [=] { std::memcpy(host, device, bytes); });
  }
  EventPtr Within(Stream&, const void* from, void* to, size_t bytes) override {
    return TheOrders().Copy(true, [=] { std::memcpy(to, from, bytes); });
  }
};

using TroubleDevice = HostStreamDevice<TroubleAllocator, TroubleCopier, true>;

class TroubledDevices : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const absl::Status added = AddDeviceType(
        {.name = "TROUBLE",
         .doc = "a device of a test",
         .is_discrete = true,
         .count = [] { return 2; },
         .make = [](int id,
                    const DeviceOptions& options) -> absl::StatusOr<std::unique_ptr<Device>> {
           return std::make_unique<TroubleDevice>("TROUBLE", id, options);
         },
         .kernel = FindDeviceType("NULL")->kernel});
    EXPECT_TRUE(added.ok() || absl::IsAlreadyExists(added)) << added;
  }
  // Whatever happened, nothing is left.
  void TearDown() override {
    TheOrders().Release();
    for (int id = 0; id < 2; ++id) {
      Device* const device = *LocalDevice(DeviceName::Local("TROUBLE", id));
      EXPECT_TRUE(device->stream(StreamUse::kToHost).Record()->Wait().ok());
      EXPECT_EQ(device->memory().bytes_in_use, 0);
    }
  }

  // x goes to the device and comes back, from and to nodes if these are fetched beside.
  static std::unique_ptr<Session> There() {
    return SessionFor(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Neg(%x)
  %b = Identity(%a) on "/trouble:0"
  %c = Neg(%b)
  %fed = Identity(%x) on "/trouble:0"
})",
                      {.devices = "cpu:1,trouble:1"});
  }
  static absl::StatusOr<std::vector<Tensor>> Run(Session& session, const std::string& fetch,
                                                 const RunOptions& options = {}) {
    return session.Run({{"x", Tensor::Vector<float>({1, 2, 3})}}, {fetch}, {}, options);
  }
  static void ExpectWell(Session& session) {
    const auto got = Run(session, "c");
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ((*got)[0].values<float>()[2], 3);
  }
};

TEST_F(TroubledDevices, FailingCopiesFailTheRun) {
  const auto session = There();
  for (const bool to_device : {true, false}) {
    TheOrders().Set(to_device ? Trouble::kFails : Trouble::kNone,
                    to_device ? Trouble::kNone : Trouble::kFails);
    for (const char* fetch : {"c", "fed"}) {  // between nodes; fed or fetched
      const auto got = Run(*session, fetch);
      EXPECT_EQ(got.status().code(), absl::StatusCode::kInternal) << got.status();
      EXPECT_THAT(std::string(got.status().message()),
                  AllOf(HasSubstr("the wire is cut"), HasSubstr("TROUBLE:0")));
    }
  }
  TheOrders().Release();
  ExpectWell(*session);
}

TEST_F(TroubledDevices, FullDevicesFailTheRun) {
  const auto session = There();
  TheOrders().Set(Trouble::kIsFull, Trouble::kNone);
  for (const char* fetch : {"c", "fed"}) {
    const auto got = Run(*session, fetch);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kResourceExhausted) << got.status();
    EXPECT_THAT(std::string(got.status().message()), HasSubstr("the memory of TROUBLE:0"));
  }
  TheOrders().Release();
  ExpectWell(*session);
}

TEST_F(TroubledDevices, HangingCopiesEndAtTheDeadline) {
  const auto session = There();
  for (const bool to_device : {true, false}) {
    for (const char* fetch : {"c", "fed"}) {
      TheOrders().Set(to_device ? Trouble::kHangs : Trouble::kNone,
                      to_device ? Trouble::kNone : Trouble::kHangs);
      const auto got = Run(*session, fetch, {.timeout_ms = 20});
      EXPECT_EQ(got.status().code(), absl::StatusCode::kDeadlineExceeded) << got.status();
      TheOrders().Release();  // long after
    }
  }
  ExpectWell(*session);
}

TEST_F(TroubledDevices, HangingCopiesEndWhenCancelled) {
  auto session = There();
  TheOrders().Set(Trouble::kHangs, Trouble::kHangs);
  for (const char* fetch : {"c", "fed"}) {
    Cancellation cancellation;
    std::thread canceller([&] { cancellation.Cancel(absl::CancelledError("enough")); });
    const auto got = Run(*session, fetch, {.cancellation = &cancellation});
    canceller.join();
    EXPECT_EQ(got.status().code(), absl::StatusCode::kCancelled) << got.status();
  }
  session.reset();  // copies outlive it
  TheOrders().Release();
}

// Another part fails while a copy hangs.
TEST_F(TroubledDevices, HangingCopiesEndWithTheRun) {
  const auto session = SessionFor(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Neg(%x)
  %b = Identity(%a) on "/trouble:0"
  %c = Neg(%b)
  %zero = Sub(%x, %x)
  %nan = Div(%x, %zero)
  %bad = CheckNumerics(%nan) message="not a number"
  %y = AddV2(%c, %bad)
})",
                                  {.devices = "cpu:1,trouble:1"});
  TheOrders().Set(Trouble::kHangs, Trouble::kHangs);
  const auto got = Run(*session, "y");
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("not a number"));
}

TEST_F(TroubledDevices, ValuesGoFromDeviceToDevice) {
  const auto session = SessionFor(R"(
graph {
  %x = Placeholder() dtype=float32
  %a = Identity(%x) on "/null:0"
  %b = Identity(%a) on "/trouble:0"
  %c = Identity(%b) on "/trouble:1"
  %d = Identity(%c) on "/null:1"
  %y = Neg(%d)
})",
                                  {.devices = "cpu:1,null:2,trouble:2"});
  const auto got = Run(*session, "y");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].values<float>()[2], -3);
  TheOrders().Set(Trouble::kNone, Trouble::kFails);
  EXPECT_THAT(std::string(Run(*session, "y").status().message()), HasSubstr("the wire is cut"));
}

TEST_F(TroubledDevices, TypesHaveNamesOfTheirOwn) {
  EXPECT_TRUE(absl::IsAlreadyExists(AddDeviceType({.name = "CPU"})));
  EXPECT_THAT(std::string(LocalDevice(DeviceName::Local("GPU", 0)).status().message()),
              HasSubstr("types of devices are CPU, CUDA, NULL, TROUBLE"));
}

TEST(DeviceSet, HoldsSeveralTypes) {
  const auto set = ParseDeviceSet("cpu:2,null:1");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 3u);
  EXPECT_EQ((*set)[1].ToString(), "/job:localhost/replica:0/task:0/device:CPU:1");
  EXPECT_EQ((*set)[2].ToString(), "/job:localhost/replica:0/task:0/device:NULL:0");
}

TEST(DeviceSet, SaysWhatThereIs) {
  const auto error = [](const char* text) {
    return std::string(ParseDeviceSet(text).status().message());
  };
  EXPECT_THAT(error("cpu:1,gpu:2"),
              AllOf(HasSubstr("\"gpu:2\" is no set"), HasSubstr("cpu:N, with N from 1 to 1024"),
                    HasSubstr("null:N")));
  EXPECT_THAT(error("cpu:1,null:9999"), HasSubstr("\"null:9999\""));
  EXPECT_THAT(error("cpu:1,cpu:2"), HasSubstr("names a type of devices again"));
  EXPECT_THAT(error("null:2"), HasSubstr("has no cpu"));
  EXPECT_NE(error("cpu:1,"), "");
}

}  // namespace
}  // namespace gyre::testing

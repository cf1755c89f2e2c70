// A device's streams and events.
#include <atomic>
#include <mutex>
#include <thread>

#include "devices/conformance/device.h"
#include "devices/host_stream.h"

namespace gyre::testing {
namespace {

// A block of a device's, for raw copies.
class Block {
 public:
  Block(Device& device, size_t bytes)
      : allocator_(device.allocator()), bytes_(bytes), data_(allocator_.Allocate(bytes)) {}
  ~Block() { allocator_.Deallocate(data_, bytes_); }
  void* data() const { return data_; }

 private:
  Allocator& allocator_;
  const size_t bytes_;
  void* const data_;
};

TEST_P(DeviceConformance, StreamsKeepTheirOrder) {
  const auto device = Make();
  const auto stream = device->MakeStream();
  const Block block(*device, sizeof(int));
  std::vector<int> in(300), out(300);
  EventPtr last;
  for (int i = 0; i < 300; ++i) {
    in[i] = i * i;
    device->copier().ToDevice(*stream, &in[i], block.data(), sizeof(int));
    last = device->copier().ToHost(*stream, block.data(), &out[i], sizeof(int));
  }
  ASSERT_TRUE(last->Wait().ok());
  EXPECT_EQ(in, out);
}

TEST_P(DeviceConformance, EventsOrderStreams) {
  const auto device = Make();
  const auto first = device->MakeStream();
  const auto second = device->MakeStream();
  constexpr size_t kBytes = 1 << 16;
  const Block block(*device, kBytes);
  std::vector<std::string> in, out(40, std::string(kBytes, '?'));
  for (int i = 0; i < 40; ++i) in.emplace_back(kBytes, static_cast<char>('0' + i));
  // Each writes once the other has read.
  for (size_t i = 0; i < in.size(); ++i) {
    device->copier().ToDevice(*first, in[i].data(), block.data(), kBytes);
    second->WaitFor(first->Record());
    device->copier().ToHost(*second, block.data(), out[i].data(), kBytes);
    first->WaitFor(second->Record());
  }
  ASSERT_TRUE(second->Record()->Wait().ok());
  EXPECT_TRUE(in == out);
}

// Events of other types of devices order streams as their own do.
TEST_P(DeviceConformance, StreamsWaitForEventsOfTheHost) {
  const auto device = Make();
  const auto stream = device->MakeStream();
  const Block block(*device, sizeof(int));
  const auto first = std::make_shared<HostEvent>();
  const auto second = std::make_shared<HostEvent>();
  int in = 1, out = 0;
  stream->WaitFor(first);
  const EventPtr there = device->copier().ToDevice(*stream, &in, block.data(), sizeof(int));
  stream->WaitFor(second);
  const EventPtr back = device->copier().ToHost(*stream, block.data(), &out, sizeof(int));
  const auto other = device->MakeStream();
  other->WaitFor(back);  // which is not in the stream yet
  const EventPtr after = other->Record();
  EXPECT_FALSE(there->HasHappened());
  in = 2;
  first->Happen(absl::OkStatus());
  ASSERT_TRUE(there->Wait().ok());
  EXPECT_FALSE(back->HasHappened());
  EXPECT_FALSE(after->HasHappened());
  second->Happen(absl::InternalError("who needs it asks the event"));
  ASSERT_TRUE(after->Wait().ok());
  EXPECT_TRUE(back->HasHappened());
  EXPECT_EQ(out, 2);
}

TEST_P(DeviceConformance, EventsHappenOnceAllBeforeThemIsDone) {
  const auto device = Make();
  const auto stream = device->MakeStream();
  EXPECT_TRUE(stream->Record()->Wait().ok());  // there is nothing to be done
  const Tensor value = Noise(DType::kUint8, 1 << 20, 1);
  const Block block(*device, value.bytes());
  const EventPtr copied =
      device->copier().ToDevice(*stream, value.raw_data(), block.data(), value.bytes());
  const EventPtr recorded = stream->Record();
  EXPECT_TRUE(recorded->Wait().ok());
  EXPECT_TRUE(recorded->HasHappened());
  EXPECT_TRUE(copied->HasHappened());
  stream->WaitFor(recorded);  // has long happened
  EXPECT_TRUE(stream->Record()->Wait().ok());
}

TEST_P(DeviceConformance, EventsCallBackOnceAndInOrder) {
  const auto device = Make();
  const auto stream = device->MakeStream();
  const Tensor value = Noise(DType::kUint8, 1 << 20, 1);
  const Block block(*device, value.bytes());
  const EventPtr event =
      device->copier().ToDevice(*stream, value.raw_data(), block.data(), value.bytes());
  std::mutex mutex;
  std::vector<int> called;
  for (int i = 0; i < 20; ++i) {
    event->Then([&, i](const absl::Status& status) {
      EXPECT_TRUE(status.ok());
      EXPECT_TRUE(event->HasHappened());  // no lock is held
      const std::lock_guard lock(mutex);
      called.push_back(i);
    });
  }
  ASSERT_TRUE(event->Wait().ok());
  ASSERT_TRUE(stream->Record()->Wait().ok());  // those of the copy come before what follows it
  const std::lock_guard lock(mutex);
  ASSERT_EQ(called.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(called[i], i);
}

TEST_P(DeviceConformance, EventsThatHaveHappenedCallBackAtOnce) {
  const auto device = Make();
  const EventPtr event = device->stream(StreamUse::kCompute).Record();
  ASSERT_TRUE(event->Wait().ok());
  std::atomic<bool> called = false;
  event->Then(
      [&](const absl::Status&) { event->Then([&](const absl::Status&) { called = true; }); });
  EXPECT_TRUE(called);
}

TEST_P(DeviceConformance, StreamsTakeWorkFromManyThreads) {
  const auto device = Make();
  Stream& shared = device->stream(StreamUse::kToDevice);
  std::atomic<int> called = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto own = device->MakeStream();
      const Block block(*device, sizeof(int));
      for (int i = 0; i < 200; ++i) {
        int out = -1;
        device->copier().ToDevice(shared, &i, block.data(), sizeof(int));
        own->WaitFor(shared.Record());
        const EventPtr done = device->copier().ToHost(*own, block.data(), &out, sizeof(int));
        done->Then([&](const absl::Status&) { ++called; });
        EXPECT_TRUE(done->Wait().ok());
        EXPECT_EQ(out, i);
      }
      EXPECT_TRUE(own->Record()->Wait().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(called, 800);
}

TEST_P(DeviceConformance, StreamsEndTheirWorkBeforeTheyGo) {
  const auto device = Make();
  const Tensor value = Noise(DType::kUint8, 1 << 18, 1);
  const Block block(*device, value.bytes());
  std::vector<EventPtr> events;
  {
    const auto stream = device->MakeStream();
    for (int i = 0; i < 20; ++i) {
      events.push_back(
          device->copier().ToDevice(*stream, value.raw_data(), block.data(), value.bytes()));
    }
  }
  for (const EventPtr& event : events) EXPECT_TRUE(event->HasHappened());
}

TEST_P(DeviceConformance, DevicesEndTheirWorkBeforeTheyGo) {
  auto device = Make();
  EventPtr last;
  for (uint32_t i = 0; i < 20; ++i) {
    const auto copy = CopyTensor(Noise(DType::kUint8, 100'000, i), device.get(), nullptr);
    ASSERT_TRUE(copy.ok());
    last = copy->done;
  }
  device.reset();
  EXPECT_TRUE(last->HasHappened());
}

}  // namespace
}  // namespace gyre::testing

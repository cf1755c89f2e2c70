// What copies between the host and a device cost, by sizes and by kinds of the host's memory.
//
//   copies_bench TYPE      e.g. copies_bench CUDA
//
// For devices whose memory the host cannot read. Times are medians of rounds; a copy's is from the
// call to Event::Wait's return.
#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/env.h"
#include "devices/copy.h"
#include "devices/device_type.h"

namespace gyre::bench {
namespace {

constexpr int kRounds = 21;

double Seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const int64_t begin = SystemClock().NowNanos();
    work();
    times.push_back(static_cast<double>(SystemClock().NowNanos() - begin) * 1e-9);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

Tensor Made(Allocator& allocator, size_t bytes) {
  Tensor made =
      *Tensor::Make(DType::kUint8, Shape::Vector(static_cast<int64_t>(bytes)), {&allocator});
  if (allocator.device() == nullptr) {
    uint32_t seed = 1;
    for (uint8_t& byte : made.mutable_values<uint8_t>())
      byte = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  }
  return made;
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}

// Both ways between `device` and memory of `allocator`.
void BothWays(Device& device, Allocator& allocator, const char* memory) {
  Stream& stream = device.stream(StreamUse::kToDevice);
  Copier& copier = device.copier();
  for (const size_t bytes : {size_t{4}, size_t{4} << 10, size_t{64} << 10, size_t{1} << 20,
                             size_t{16} << 20, size_t{60} << 20, size_t{256} << 20}) {
    Tensor host = Made(allocator, bytes);
    Tensor there = Made(device.allocator(), bytes);
    const int rounds = bytes > (size_t{16} << 20) ? 7 : kRounds;
    const double to = Seconds(rounds, [&] {
      Check(copier.ToDevice(stream, host.raw_data(), there.mutable_raw_data(), bytes)->Wait());
    });
    const double from = Seconds(rounds, [&] {
      Check(copier.ToHost(stream, there.raw_data(), host.mutable_raw_data(), bytes)->Wait());
    });
    char* const half = static_cast<char*>(there.mutable_raw_data()) + bytes / 2;
    const double within = Seconds(
        rounds, [&] { Check(copier.Within(stream, there.raw_data(), half, bytes / 2)->Wait()); });
    const auto speed = [bytes](double s) { return static_cast<double>(bytes) / s * 1e-9; };
    std::cout << absl::StrFormat(
        "%-7s %10d bytes: to %10.1f us %6.2f GB/s, from %10.1f us %6.2f GB/s, within %8.1f us\n",
        memory, bytes, to * 1e6, speed(to), from * 1e6, speed(from), within * 1e6);
  }
}

void Memory(Device& device) {
  constexpr int kTimes = 200;
  for (const size_t bytes : {size_t{1} << 10, size_t{1} << 20, size_t{256} << 20}) {
    const double one = Seconds(kRounds, [&] {
      for (int i = 0; i < kTimes; ++i) {
        void* const block = device.allocator().Allocate(bytes);
        if (block == nullptr) Check(absl::ResourceExhaustedError(device.allocator().name()));
        device.allocator().Deallocate(block, bytes);
      }
    });
    std::cout << absl::StrFormat("a block of %d bytes and its return: %.2f us\n", bytes,
                                 one / kTimes * 1e6);
  }
}

void Streams(Device& device) {
  constexpr int kTimes = 1000;
  Stream& stream = device.stream(StreamUse::kCompute);
  const Tensor value = Made(device.host_allocator(), 64);
  Tensor there = Made(device.allocator(), 64);
  const double idle = Seconds(kRounds, [&] {
    for (int i = 0; i < kTimes; ++i) stream.Record();
  });
  const double busy = Seconds(kRounds, [&] {
    EventPtr last;
    for (int i = 0; i < kTimes; ++i)
      last = device.copier().ToDevice(stream, value.raw_data(), there.mutable_raw_data(), 64);
    Check(last->Wait());
  });
  std::cout << absl::StrFormat(
      "Record of an idle stream: %.3f us; small copies in a row: %.2f us each\n",
      idle / kTimes * 1e6, busy / kTimes * 1e6);
}

int Main(const std::string& name) {
  const DeviceType* const type = FindDeviceType(name);
  if (type == nullptr || type->count() == 0) {
    std::cerr << "there are no devices " << name << "\n";
    return 1;
  }
  for (const char* what : {"first", "another"}) {
    absl::StatusOr<std::unique_ptr<Device>> device = absl::UnknownError("");
    const double made = Seconds(1, [&] { device = type->make(0, {}); });
    Check(device.status());
    std::cout << absl::StrFormat("the %s device: %.2f ms\n", what, made * 1e3);
  }
  const auto device = *type->make(0, {});
  Memory(*device);
  Streams(*device);
  BothWays(*device, device->host_allocator(), "pinned");
  BothWays(*device, HostAllocator(), "heap");
  return 0;
}

}  // namespace
}  // namespace gyre::bench

int main(int argc, char** argv) { return gyre::bench::Main(argc > 1 ? argv[1] : "CUDA"); }

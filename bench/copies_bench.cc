// What copies between the host and a device cost, by sizes and by kinds of the host's memory; its
// allocator, streams and elementwise kernels.
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
#include "ops/evaluate.h"

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

// Elementwise kernels, where the device has them: one after the other, and large.
void Kernels(Device& device, const DeviceType& type) {
  const auto floats = [&](Shape shape) {
    return *Tensor::Make(DType::kFloat, shape, {&device.allocator()});
  };
  RunEnv env;
  env.allocator = &device.allocator();
  const auto measure = [&](const char* what, const std::vector<Tensor>& inputs, int times) {
    const auto node = MakeNode(Ops(), "AddV2", inputs);
    Check(node.status());
    const absl::StatusOr<Kernel> kernel = type.kernel(*node);
    if (!kernel.ok()) {
      std::cout << what << ": " << kernel.status() << "\n";
      return;
    }
    int64_t bytes = 0;
    const double took = Seconds(kRounds, [&] {
      for (int i = 0; i < times; ++i) {
        std::vector<Tensor> operands = inputs, outputs(1);
        KernelContext ctx(*node, env, {}, absl::MakeSpan(operands), absl::MakeSpan(outputs));
        Check(kernel->run(ctx, kernel->attrs.get()));
        bytes = static_cast<int64_t>(outputs[0].bytes());
      }
      Check(device.stream(StreamUse::kCompute).Record()->Wait());
    });
    for (const Tensor& input : inputs) bytes += static_cast<int64_t>(input.bytes());
    std::cout << absl::StrFormat("%s: %.2f us each, %.0f GB/s\n", what, took / times * 1e6,
                                 static_cast<double>(bytes) * times / took * 1e-9);
  };
  const Tensor small = floats(Shape::Vector(64)), large = floats(Shape::Vector(1 << 26)),
               other = floats(Shape::Vector(1 << 26));
  const Tensor matrix = floats(Shape::Trusted(Dims{1 << 14, 1 << 12}));
  measure("AddV2 of 64 numbers", {small, small}, 1000);
  measure("AddV2 of 2^26 numbers", {large, other}, 10);
  measure("AddV2 of 2^26 numbers and one", {large, Tensor::Scalar(1.0f)}, 10);
  measure("AddV2 of 2^14 rows of 2^12 numbers and a row", {matrix, floats(Shape::Vector(1 << 12))},
          10);
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
  Kernels(*device, *type);
  BothWays(*device, device->host_allocator(), "pinned");
  BothWays(*device, HostAllocator(), "heap");
  return 0;
}

}  // namespace
}  // namespace gyre::bench

int main(int argc, char** argv) { return gyre::bench::Main(argc > 1 ? argv[1] : "CUDA"); }

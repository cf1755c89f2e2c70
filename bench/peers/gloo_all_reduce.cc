// All-reduce by Gloo, for all_reduce.py: on each line of standard input, ELEMENTS REPEATS, it sums
// so many floats so often with the other rank, and prints how many seconds that took.
//
//   gloo_all_reduce RANK SIZE FOLDER
//
// FOLDER is empty at first: ranks find each other through it. Built by all_reduce.py, with Debian's
// libgloo-dev.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  gloo::rendezvous::FileStore store(argv[3]);
  const auto context =
      std::make_shared<gloo::rendezvous::Context>(std::atoi(argv[1]), std::atoi(argv[2]));
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  context->connectFullMesh(store, device);
  size_t elements = 0;
  uint32_t repeats = 0, tag = 0;
  while (std::cin >> elements >> repeats) {
    std::vector<float> values(elements);
    const auto begin = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < repeats; ++i) {
      gloo::AllreduceOptions options(context);
      options.setOutput(values.data(), values.size());
      options.setTag(tag++);
      options.setReduceFunction([](void* sum, const void* a, const void* b, size_t n) {
        gloo::sum<float>(sum, a, b, n);
      });
      gloo::allreduce(options);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << took.count() << std::endl;
  }
  return 0;
}

// The host's heap as tensors use it: small blocks are handed out again.
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "gyre/core/tensor.h"

namespace gyre {
namespace {

TEST(HostAllocator, BlocksAreAlignedAndOneOwnersAlone) {
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes = 0; bytes < 40'000; bytes = bytes * 5 / 4 + 1) {
      auto* const block = static_cast<unsigned char*>(HostAllocator().Allocate(bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
      std::memset(block, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(block, bytes);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto& [block, bytes] = blocks[i];
      for (size_t at = 0; at < bytes; ++at) ASSERT_EQ(block[at], static_cast<unsigned char>(i));
      HostAllocator().Deallocate(block, bytes);
    }
    blocks.clear();
  }
}

TEST(HostAllocator, AThreadMayFreeWhatAnotherHasAllocated) {
  std::vector<Tensor> tensors;
  for (int64_t n = 1; n < 1000; ++n)
    tensors.push_back(*Tensor::Zeros(DType::kFloat, Shape::Vector(n), {}));
  std::thread([&tensors] {
    tensors.clear();
    for (int64_t n = 1; n < 1000; ++n)
      tensors.push_back(*Tensor::Zeros(DType::kFloat, Shape::Vector(n), {}));
  }).join();
  for (const Tensor& tensor : tensors) EXPECT_EQ(tensor.values<float>().back(), 0);
}

}  // namespace
}  // namespace gyre

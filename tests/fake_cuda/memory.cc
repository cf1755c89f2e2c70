#include "fake_cuda/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace fake_cuda {
namespace {

// Set in no address that a process has: see devices/null.
constexpr uint64_t kMark = uint64_t{1} << 55;
constexpr size_t kAlignment = 512;  // of blocks of a real driver

void* Unmarked(uint64_t address) { return reinterpret_cast<void*>(address & ~kMark); }

size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

uint64_t Memory::Allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (used_ > limit_ || bytes > limit_ - used_) return 0;
  void* const block = std::aligned_alloc(kAlignment, Rounded(bytes));
  if (block == nullptr) return 0;
  used_ += bytes;
  const uint64_t address = reinterpret_cast<uint64_t>(block) | kMark;
  blocks_[address] = {bytes, false};
  return address;
}

void Memory::Begin(uint64_t address) {
  const std::lock_guard lock(mutex_);
  blocks_[address].has_begun = true;
}

bool Memory::Free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(address);
  if (it == blocks_.end()) return false;
  used_ -= it->second.bytes;
  std::memset(Unmarked(address), 0xDD, it->second.bytes);
  std::free(Unmarked(address));
  blocks_.erase(it);
  return true;
}

void* Memory::Host(uint64_t address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& [begin, block] = *std::prev(after);
  const size_t offset = address - begin;
  if (!block.has_begun || offset > block.bytes || bytes > block.bytes - offset) return nullptr;
  return Unmarked(address);
}

Memory::Part Memory::PartAt(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return {};
  const auto& [begin, block] = *std::prev(after);
  if (!block.has_begun || address - begin >= block.bytes) return {};
  return {begin, begin + block.bytes, static_cast<char*>(Unmarked(begin))};
}

void Memory::Limit(size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

size_t Memory::used() {
  const std::lock_guard lock(mutex_);
  return used_;
}

void* Memory::Pin(size_t bytes) {
  void* const block = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (block == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  pinned_[reinterpret_cast<uint64_t>(block)] = bytes;
  return block;
}

bool Memory::IsPinned(const void* data, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(data);
  const std::lock_guard lock(mutex_);
  const auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin()) return false;
  const auto& [begin, length] = *std::prev(after);
  return address - begin <= length && bytes <= length - (address - begin);
}

Memory& TheMemory() {
  static auto* const memory = new Memory;
  return *memory;
}

}  // namespace fake_cuda

// Memory of the fake driver's GPUs: some of the host's, under addresses that are none, so that who
// reads it without the driver crashes at once. Copies that touch what has not been allocated yet,
// or has been given back, are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace fake_cuda {

// Thread-safe.
class Memory {
 public:
  // 0: there is no room. Not to be used before Begin.
  uint64_t Allocate(size_t bytes);
  void Begin(uint64_t address);
  // False for what is no block.
  bool Free(uint64_t address);

  // An address of the host for that part of one block of a GPU; null where it is none.
  void* Host(uint64_t address, size_t bytes);

  // How much there may be.
  void Limit(size_t bytes);
  size_t used();
  static constexpr size_t kMost = size_t{4} << 30;

  // The block that holds this address; empty if none does.
  struct Part {
    uint64_t begin = 1, end = 0;
    char* host = nullptr;  // of `begin`
  };
  Part PartAt(uint64_t address);

  void* Pin(size_t bytes);
  bool IsPinned(const void* data, size_t bytes);

 private:
  struct Block {
    size_t bytes = 0;
    bool has_begun = false;
  };

  std::mutex mutex_;  // guards what follows
  size_t limit_ = kMost;
  size_t used_ = 0;
  std::map<uint64_t, Block> blocks_;
  std::map<uint64_t, size_t> pinned_;
};

Memory& TheMemory();

}  // namespace fake_cuda

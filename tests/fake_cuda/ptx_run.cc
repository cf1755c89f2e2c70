// Kernels of the fake driver, run: one block after the other, and in it one thread after the other,
// each up to the next barrier.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fake_cuda/memory.h"
#include "fake_cuda/ptx.h"

namespace fake_cuda {
namespace {

// Where parts of the GPU's memory lie, as far as they have been looked up.
class MemoryCache {
 public:
  char* Find(Word address, size_t bytes) {
    for (const Memory::Part& part : parts_)
      if (address >= part.begin && address + bytes <= part.end)
        return part.host + (address - part.begin);
    Memory::Part& part = parts_[next_++ % parts_.size()];
    part = TheMemory().PartAt(address);
    return address >= part.begin && address + bytes <= part.end ? part.host + (address - part.begin)
                                                                : nullptr;
  }

 private:
  std::array<Memory::Part, 4> parts_;
  size_t next_ = 0;
};

class BlockRunner {
 public:
  BlockRunner(const PtxKernel& kernel, uint32_t threads, size_t shared,
              const std::string& parameters)
      : kernel_(kernel), parameters_(parameters), shared_(shared), threads_(threads) {}

  bool Run(uint32_t block, uint32_t blocks) {
    std::fill(shared_.begin(), shared_.end(), 0x77);
    for (uint32_t t = 0; t < threads_.size(); ++t) {
      Thread& thread = threads_[t];
      thread.at = 0;
      thread.is_done = false;
      thread.registers.assign(kernel_.registers, 0);
      thread.local.assign(kernel_.local_bytes, 0);
      // The parser has given these the first numbers.
      const Word special[] = {t, threads_.size(), block, blocks};
      std::copy(std::begin(special), std::end(special), thread.registers.begin());
    }
    for (bool waits = true; waits;) {
      waits = false;
      for (Thread& thread : threads_) {
        if (thread.is_done) continue;
        if (!Run(thread)) return false;
        waits |= !thread.is_done;
      }
    }
    return true;
  }

 private:
  struct Thread {
    std::vector<Word> registers;
    std::vector<char> local;
    uint32_t at = 0;
    bool is_done = false;
  };

  static Word Value(const Thread& thread, const PtxOperand& operand) {
    return operand.is_register ? thread.registers[operand.number] : operand.value;
  }

  char* At(Thread& thread, const PtxInstruction& op, Word address, size_t bytes) {
    const Word space = op.space != 0 ? op.space : address & kSpaces;
    const Word offset = address & ~kSpaces;
    const auto within = [&](char* data, size_t size) {
      return offset <= size && bytes <= size - offset ? data + offset : nullptr;
    };
    if (space == kLocalSpace) return within(thread.local.data(), thread.local.size());
    if (space == kSharedSpace) return within(shared_.data(), shared_.size());
    if (space == kParameterSpace)
      return within(const_cast<char*>(parameters_.data()), parameters_.size());
    return memory_.Find(address, bytes);
  }

  bool Fail(const PtxInstruction& op) {
    std::fprintf(stderr, "the fake driver: %s touches what is no memory\n", op.text.c_str());
    return false;
  }

  // Up to a barrier, or its end.
  bool Run(Thread& thread) {
    using Action = PtxInstruction::Action;
    for (;;) {
      if (thread.at >= kernel_.code.size()) {
        thread.is_done = true;
        return true;
      }
      const PtxInstruction& op = kernel_.code[thread.at++];
      if (op.guard >= 0 &&
          ((thread.registers[static_cast<size_t>(op.guard)] & 1) != 0) == op.is_negated)
        continue;
      switch (op.action) {
        case Action::kCompute:
          thread.registers[op.results[0]] =
              op.compute(Value(thread, op.operands[0]), Value(thread, op.operands[1]),
                         Value(thread, op.operands[2]));
          break;
        case Action::kBranch:
          thread.at = op.target;
          break;
        case Action::kReturn:
          thread.is_done = true;
          return true;
        case Action::kBarrier:
          return true;
        case Action::kLoad:
          if (!LoadTo(thread, op)) return Fail(op);
          break;
        case Action::kStore:
          if (!StoreFrom(thread, op)) return Fail(op);
          break;
        case Action::kPack: {
          Word all = 0;
          for (size_t i = 0; i < op.operands.size(); ++i)
            all |= (Value(thread, op.operands[i]) & Mask(op.bytes)) << (8 * op.bytes * i);
          thread.registers[op.results[0]] = all;
          break;
        }
        case Action::kUnpack: {
          const Word all = Value(thread, op.operands[0]);
          for (size_t i = 0; i < op.results.size(); ++i)
            thread.registers[op.results[i]] = all >> (8 * op.bytes * i) & Mask(op.bytes);
          break;
        }
      }
    }
  }

  static Word Mask(uint8_t bytes) { return bytes >= 8 ? ~Word{0} : (Word{1} << (8 * bytes)) - 1; }

  // All elements lie side by side, and are aligned.
  bool LoadTo(Thread& thread, const PtxInstruction& op) {
    const Word address = Value(thread, op.operands[0]) + static_cast<Word>(op.offset);
    const size_t bytes = op.bytes * op.results.size();
    const char* const from = At(thread, op, address, bytes);
    if (from == nullptr || address % bytes != 0) return false;
    for (size_t i = 0; i < op.results.size(); ++i) {
      Word word = 0;
      std::memcpy(&word, from + i * op.bytes, op.bytes);
      if (op.is_signed && op.bytes < 8 && (word >> (8 * op.bytes - 1) & 1) != 0)
        word |= ~Mask(op.bytes);
      thread.registers[op.results[i]] = word;
    }
    return true;
  }
  bool StoreFrom(Thread& thread, const PtxInstruction& op) {
    const Word address = Value(thread, op.operands[0]) + static_cast<Word>(op.offset);
    const size_t bytes = op.bytes * (op.operands.size() - 1);
    char* const to = At(thread, op, address, bytes);
    if (to == nullptr || address % bytes != 0) return false;
    for (size_t i = 1; i < op.operands.size(); ++i) {
      const Word word = Value(thread, op.operands[i]);
      std::memcpy(to + (i - 1) * op.bytes, &word, op.bytes);
    }
    return true;
  }

  const PtxKernel& kernel_;
  const std::string& parameters_;
  std::vector<char> shared_;
  std::vector<Thread> threads_;
  MemoryCache memory_;
};

}  // namespace

bool PtxKernel::Run(uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
                    const std::string& parameters) const {
  BlockRunner runner(*this, threads, shared_bytes + dynamic_shared, parameters);
  for (uint32_t block = 0; block < blocks; ++block)
    if (!runner.Run(block, blocks)) return false;
  return true;
}

}  // namespace fake_cuda

// Kernels of the fake driver: modules of PTX, the GPUs' assembly language, and an interpreter of
// what of it LLVM writes. Threads of a block take turns at barriers. Loads and stores that touch no
// block of the GPU's memory are an error, as reads of registers that nothing has written are zeros.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fake_cuda {

using Word = uint64_t;  // a register: the low bits, of a number of fewer than 64
constexpr int kMostResults = 4;

struct PtxOperand {
  bool is_register = false;
  uint32_t number = 0;  // of the register
  Word value = 0;
};

struct PtxInstruction {
  enum class Action : uint8_t {
    kCompute,
    kLoad,
    kStore,
    kBranch,
    kReturn,
    kBarrier,
    kPack,
    kUnpack
  };
  using Function = Word (*)(Word a, Word b, Word c);

  Action action = Action::kCompute;
  Function compute = nullptr;
  int guard = -1;  // a predicate's register
  bool is_negated = false;
  uint8_t bytes = 0;  // of an element that is loaded, stored, packed
  bool is_signed = false;
  std::vector<uint32_t> results;  // registers
  std::vector<PtxOperand> operands;
  int64_t offset = 0;  // of an address
  Word space = 0;      // that an address without a mark is in
  uint32_t target = 0;
  std::string text;
};

struct PtxKernel {
  std::vector<PtxInstruction> code;
  uint32_t registers = 0;
  size_t parameter_bytes = 0, local_bytes = 0, shared_bytes = 0;

  // Runs all threads. False, having said why on stderr, if it does what it must not.
  bool Run(uint32_t blocks, uint32_t threads, uint32_t dynamic_shared,
           const std::string& parameters) const;
};

struct PtxModule {
  std::map<std::string, std::shared_ptr<const PtxKernel>> kernels;
};

// Null, having said why on stderr, for what is no PTX that it knows.
std::unique_ptr<PtxModule> ParsePtx(const std::string& text);

// Marks of addresses: of a thread's own memory, of what a block shares, of parameters. Offsets are
// in the low bits. All others are the GPU's memory.
constexpr Word kLocalSpace = Word{1} << 60, kSharedSpace = Word{2} << 60,
               kParameterSpace = Word{3} << 60, kSpaces = Word{7} << 60;

// The function of an instruction that computes, from the parts of its name ("add", "rn", "f32");
// null: there is none of that name.
PtxInstruction::Function FindPtxFunction(const std::vector<std::string>& name);

}  // namespace fake_cuda

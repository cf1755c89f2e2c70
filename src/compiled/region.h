// Region: a stretch of a program that becomes native code, and the native code.
//
// A region is a list of instructions on cells. A cell holds a scalar of at most eight bytes, or a
// reference to an object (a list, a variable), which it owns; native code keeps it in a machine
// register. An object's cell is 0 where it has none. The region's instructions are those of the
// interpreter that runs the same stretch, one by one and under the same numbers, so that native
// code can stop before any of them and leave the rest to the interpreter: where a check fails,
// where something waits, where somebody must be told. Whatever goes wrong is said by the
// interpreter, in the words that it always has.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ops/object_code.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

enum class Action : uint8_t {
  kScalar,       // one element: inputs to `output` by `code`
  kObject,       // inputs to outputs, tensors among them, by `object`; or else as kCall
  kMove,         // inputs[0] to `output`
  kLeave,        // stops before this instruction unless inputs[0] is true
  kJump,         // to targets[0]
  kJumpUnless,   // to targets[0] unless inputs[0] is true
  kJumpByIndex,  // to the one of `targets` that inputs[0], an int32, counts to; else the last
  kCall,         // the interpreter runs this instruction, and native code goes on
  kRelease,      // gives back the objects of inputs
  kSkip,         // nothing
  kStart,        // of loop `loop`: counts its iterations from 0
  kAgain,        // to targets[0], as the next iteration of loop `loop`
};

struct Instruction {
  Action action = Action::kSkip;
  const ScalarCode* code = nullptr;
  const ObjectCode* object = nullptr;
  std::vector<uint32_t> inputs;  // cells; of kCall, those that the interpreter reads
  // By input: an object, or a tensor that is lent, that nobody reads any more. Of kCall, the
  // interpreter has the reference then.
  std::vector<bool> is_last;
  std::vector<uint32_t> outputs;  // cells; of kCall, those that it writes
  std::vector<uint32_t> targets;  // numbers of instructions
  std::vector<uint32_t> live;     // cells that are read from here on: what a stop here leaves
  uint32_t loop = 0;
};

struct Region {
  std::string name;                 // of the loop, for debuggers and profilers
  std::vector<uint8_t> cell_bytes;  // per cell; 0: a register that is none
  std::vector<DType> objects;       // per cell, of the tensor that holds it; kInvalid: a scalar
  std::vector<Instruction> instructions;
  std::vector<std::pair<uint32_t, uint64_t>> constants;  // cells that never change
  // By number, where the iterations of a loop start. Its instructions are those from there to its
  // kAgain; loops lie within each other. Native code can be entered at each.
  std::vector<uint32_t> starts;
};

// What native code and the interpreter tell each other in one run.
struct Frame {
  // In and out: those that are live where native code starts and stops, and all objects.
  uint64_t* cells = nullptr;
  int64_t* iterations = nullptr;  // by loop; in and out, and as they are at each call
  Tensor* tensors = nullptr;      // by register, of those that are no cells
  const Tensor::Alloc* alloc = nullptr;
  void* interpreter = nullptr;
  // Runs instruction `at`. False: native code must stop, and `call` has kept why. Throws nothing.
  bool (*call)(void* interpreter, uint32_t at) = nullptr;
  // Looks at the clock, at cancellation and the budget, between two iterations of a loop. As
  // `call`.
  bool (*look)(void* interpreter, uint32_t loop) = nullptr;
  // Empties a tensor. Throws nothing.
  void (*drop)(Tensor* tensor) = nullptr;
};

// `call` or `look` said to stop.
inline constexpr uint32_t kStopped = UINT32_MAX;

class NativeCode {
 public:
  virtual ~NativeCode() = default;
  // Runs from the start of an iteration of `loop`, until that loop has ended at the latest. Returns
  // the number of the instruction before which it stopped, or kStopped.
  uint32_t Run(uint32_t loop, Frame& frame) const { return entries_[loop](&frame); }

 protected:
  using Entry = uint32_t (*)(Frame*);
  std::vector<Entry> entries_;  // by loop
};

// What the code generator could not do: it has its own memory, so it hands over text, not a Status.
struct CompileError {
  bool lacks_memory = false;  // else it is Gyre's own mistake
  void (*say)(CompileError* self, const char* why) = nullptr;
};

// Null if it cannot, and `error` has been told why. Thread-safe; throws nothing.
using CompileFn = const NativeCode* (*)(const Region& region, CompileError* error);

}  // namespace gyre::compiled

// Region: a stretch of a program that becomes native code, and the native code.
//
// A region is a list of instructions on cells. A cell holds a scalar of at most eight bytes, a
// small tensor of a shape that is known beforehand, or a reference to an object (a list, a
// variable), which it owns; native code keeps scalars and references in machine registers, and
// small tensors on its stack. An object's cell is 0 where it has none. The region's instructions
// are those of the interpreter that runs the same stretch, one by one and under the same numbers,
// so that native code can stop before any of them and leave the rest to the interpreter: where a
// check fails, where something waits, where somebody must be told. Whatever goes wrong is said by
// the interpreter, in the words that it always has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/dense_code.h"
#include "ops/object_code.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

enum class Action : uint8_t {
  kScalar,          // one element: inputs to `output` by `code`
  kElementwise,     // as kScalar, each element, as `dims` says
  kDense,           // inputs to outputs, all elements, by `dense`
  kTake,            // elements of inputs to outputs, as `stretches` says
  kElement,         // of inputs[0] the part that the other inputs, indices, name
  kSetElement,      // inputs[0] with inputs[1] as the part that the others name
  kObject,          // inputs to outputs, tensors among them, by `object`; or else as kCall
  kMove,            // inputs[0] to `output`
  kLeave,           // stops before this instruction unless inputs[0] is true
  kEnd,             // stops before this instruction, the last one of a region that is no loop
  kJump,            // to targets[0]
  kJumpUnless,      // to targets[0] unless inputs[0] is true
  kJumpByIndex,     // to the one of `targets` that inputs[0], an int32, counts to; else the last
  kCall,            // the interpreter runs this instruction, and native code goes on
  kRelease,         // gives back the objects of inputs
  kSkip,            // nothing
  kStart,           // of loop `loop`: counts its iterations from 0
  kAgain,           // to targets[0], as the next iteration of loop `loop`
  kCallSubroutine,  // to the kBegin targets[0], with inputs in `arguments`
  kBegin,           // of a subroutine, which counts as the loop `loop`
  kReturn,  // behind the kCallSubroutine on top of the stack: inputs to its outputs; of what was no
            // call of native code, stops before this instruction
};

// Of an elementwise result and its operands: neighbouring dimensions that all walk alike are one.
struct Dim {
  int64_t size = 0;
  std::array<int64_t, 3> strides = {};  // in elements, by input; 0: it is repeated
};

// Elements that are moved together.
inline constexpr uint32_t kZeros = UINT32_MAX;  // as an input of a stretch
struct Stretch {
  uint32_t output = 0, to = 0;  // which of the outputs, and where in it
  uint32_t input = 0, from = 0;
  uint32_t size = 0;
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
  std::vector<uint32_t> made;     // of kCall, tensors that it makes, and that are read in place
  std::vector<Dim> dims;          // outermost first
  std::vector<Stretch> stretches;
  std::optional<DenseCode> dense;
  std::vector<int64_t> sizes;     // by index, what it must be below
  bool counts_from_end = false;   // negative indices do
  std::vector<uint32_t> targets;  // numbers of instructions
  std::vector<uint32_t> live;     // cells that are read from here on: what a stop here leaves
  uint32_t loop = 0;
  // Of kCallSubroutine. What is saved and the iterations of these loops wait on the stack, in this
  // order, below the call's own number; what is kept waits in the frame's cells. (Objects that wait
  // belong to the stack, or to those cells.)
  std::vector<uint32_t> arguments;
  std::vector<uint32_t> saved, kept;
  std::vector<uint32_t> saved_loops;
};

struct Cell {
  uint32_t element_bytes = 0;      // 0: a register that is no cell
  uint32_t elements = 1;           // of a small tensor
  bool is_tensor = false;          // a small one
  const Shape* shape = nullptr;    // of that; lives as long as the region's loop
  bool is_constant = false;        // it never changes
  DType object = DType::kInvalid;  // of the tensor that holds it; kInvalid: no object
  uint32_t word = 0;               // where it lies among the frame's cells

  uint32_t bytes() const { return element_bytes * elements; }
  bool is_object() const { return object != DType::kInvalid; }
};

// Of the frame, or of what waits for a subroutine.
inline uint32_t NumWords(const Cell& cell) {
  return static_cast<uint32_t>((cell.bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

struct Region {
  std::string name;  // of the loop
  // By loop, how debuggers and profilers are to call its code; none: they are not told.
  std::vector<std::string> names;
  std::vector<Cell> cells;    // by register
  uint32_t num_words = 0;     // of a frame's cells
  bool may_contract = false;  // a * b + c may be rounded once
  std::vector<Instruction> instructions;
  std::vector<std::pair<uint32_t, std::string>> constants;  // cells that never change, their bytes
  // Tensors that are no cells, and whose elements are read where they lie: they do not change while
  // native code runs, and are of the shapes that the loop says.
  std::vector<uint32_t> lent;
  // The same of tensors that calls of the region make: of these shapes, or native code stops there.
  std::vector<uint32_t> made;
  // By number, where the iterations of a loop start. Its instructions are those from there to its
  // kAgain; loops lie within each other. 0 is the whole region, which ends with kEnd where it is no
  // loop. Native code can be entered at each that it has code for. Subroutines count as loops that
  // start behind their kBegin, and stand behind everything else.
  std::vector<uint32_t> starts;

  // Gives each cell its place in the frame.
  void PlaceCells() {
    num_words = 0;
    for (Cell& cell : cells) {
      cell.word = num_words;
      num_words += NumWords(cell);
    }
  }
};

// What native code and the interpreter tell each other in one run.
struct Frame {
  // In and out: those that are live where native code starts and stops, and all objects. A cell
  // begins with the first bytes of its first word.
  uint64_t* cells = nullptr;
  int64_t* iterations = nullptr;  // by loop; in and out, and as they are at each call
  // What waits for subroutines that native code has called, words up to `top`; the lowest is
  // kNoCall. As `iterations`, where there are subroutines.
  uint64_t* top = nullptr;
  uint64_t* limit = nullptr;
  Tensor* tensors = nullptr;  // by register, of those that are no cells
  const Tensor::Alloc* alloc = nullptr;
  void* interpreter = nullptr;
  // Runs instruction `at`. False: native code must stop, and `call` has kept why. Throws nothing.
  bool (*call)(void* interpreter, uint32_t at) = nullptr;
  // Looks at the clock, at cancellation and the budget, between two iterations of a loop. As
  // `call`.
  bool (*look)(void* interpreter, uint32_t loop) = nullptr;
  // For instruction `at`: makes a tensor of a small one's cell, and brings one into its cell. As
  // `call`; where it does not fit the cell, behind the instruction.
  bool (*make_tensor)(void* interpreter, uint32_t at, uint32_t cell) = nullptr;
  bool (*take_tensor)(void* interpreter, uint32_t at, uint32_t cell) = nullptr;
  // Instruction `at` needs more words up to the limit than there are. As `call`; has changed `top`
  // and `limit`.
  bool (*grow)(void* interpreter, uint32_t at, uint64_t words) = nullptr;
  // Empties a tensor. Throws nothing.
  void (*drop)(Tensor* tensor) = nullptr;
};

// `call` or `look` said to stop.
inline constexpr uint32_t kStopped = UINT32_MAX;
// The number of no call, below all others on the stack.
inline constexpr uint64_t kNoCall = UINT64_MAX;

class NativeCode {
 public:
  virtual ~NativeCode() = default;
  // Of large nests, some loops have no code of their own.
  bool CanRun(uint32_t loop) const { return entries_[loop] != nullptr; }
  // Runs from the start of an iteration of `loop`, until that loop has ended at the latest. Returns
  // the number of the instruction before which it stopped, or kStopped.
  uint32_t Run(uint32_t loop, Frame& frame) const { return entries_[loop](&frame); }

  // Where a loop's code lies, in bytes. Of regions that have names.
  struct Extent {
    uint64_t address = 0, size = 0;
  };
  Extent ExtentOf(uint32_t loop) const {
    return {reinterpret_cast<uint64_t>(entries_[loop]), sizes_[loop]};
  }

 protected:
  using Entry = uint32_t (*)(Frame*);
  std::vector<Entry> entries_;   // by loop; null: it has none
  std::vector<uint64_t> sizes_;  // by loop
};

// What the code generator could not do: it has its own memory, so it hands over text, not a Status.
struct CompileError {
  bool lacks_memory = false;
  bool is_stopped = false;  // `must_stop` said so; with neither, it is Gyre's own mistake
  // Whether nobody waits for the result any more; asked often. Throws nothing.
  bool (*must_stop)() = nullptr;
  void (*say)(CompileError* self, const char* why) = nullptr;
};

// Where native code waits for the next process that needs it. Throws nothing.
struct CodeStore {
  // Hands over what was kept under `key`. False: nothing was.
  bool (*find)(const CodeStore* self, const char* key,
               void (*take)(void* to, const char* bytes, size_t size), void* to) = nullptr;
  void (*keep)(const CodeStore* self, const char* key, const char* bytes, size_t size) = nullptr;
};

// Null if it cannot, and `error` has been told why. `store` may be null. Thread-safe; throws
// nothing.
using CompileFn = const NativeCode* (*)(const Region& region, const CodeStore* store,
                                        CompileError* error);

}  // namespace gyre::compiled

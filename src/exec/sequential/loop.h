// RegisterLoop: a While whose iterations hold too little work to be worth a token: a flat program
// on registers with jumps, run by one thread from the first iteration to the last, as if it were
// one kernel.
//
//   regs: i x | one | go i' m x'              while (i < n) { i = i + 1; x = sin(x * w); }
//     0: go = Less(i, n)
//     1: leave unless go
//     2: i' = AddV2(i, one)
//     3: m = Mul(x, w)          a register's last reader moves its value out, so that lists and
//     4: x' = Sin(m)            buffers are owned by the op that changes them
//     5: i = move i'
//     6: x = move x'
//     7: again
//
// Which loops: those without an inner loop whose ops are pure, run on the calling thread, and
// handle nothing but small tensors and lists of known types, as far as shapes tell (kMaxElements).
// If, Case and calls within them become jumps. Everything is as it would be with tokens: kernels,
// bits, errors and what they say; cancellation and the budget are looked at after every few ops.
//
// Native code takes its place where some has been made (native.h): it runs the same instructions,
// and hands back to the interpreter before any of them that it cannot do.
//
// Compiled once, immutable, shared by all runs; a run's registers are its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "lower/facts.h"
#include "ops/kernel.h"

namespace gyre::sequential {

// Where ops of a loop stand: in its condition or body, or in a function that these call.
struct LoopScope {
  int parent = -1;  // -1: where the loop stands
  const Node* structured = nullptr;
  int callee = 0;  // which of the structured node's functions, in the order of CalleesOf
  const Function* function = nullptr;
};

enum class Action : uint8_t {
  kRun,          // a kernel
  kMove,         // inputs[0] to `output`
  kLeave,        // ends the loop unless inputs[0] is true
  kJump,         // to `target`
  kJumpUnless,   // to `target` unless inputs[0] is true
  kJumpByIndex,  // to the one of `targets` that inputs[0] counts to; out of range: the last
  kDrop,         // empties inputs: what only other branches would have read
  kAgain,        // to the start, as the next iteration
};

struct Instruction {
  Action action = Action::kRun;
  uint32_t first_input = 0, num_inputs = 0;  // in RegisterLoop::inputs
  uint32_t output = 0, num_outputs = 0;      // registers in a row
  uint32_t target = 0;
  std::vector<uint32_t> targets;
  Kernel kernel;
  const Node* node = nullptr;
  int scope = 0;
};

struct Input {
  uint32_t reg = 0;
  bool is_last = false;  // nobody reads the register any more
};

class NativeLoop;

struct RegisterLoop {
  const Node* node = nullptr;
  std::vector<Instruction> code;
  std::vector<Input> inputs;
  uint32_t num_registers = 0;  // the loop's variables come first
  uint32_t max_inputs = 0;
  // Per register: of what type it is a scalar whenever it has a value; kInvalid: that is not known,
  // or it is complex, or no number. Of the loop's variables it is a guess, to be checked.
  std::vector<DType> scalar_types;
  std::vector<std::pair<uint32_t, const Tensor*>> constants;
  std::vector<LoopScope> scopes;       // [0] is the condition, [1] the body
  int num_kernels = 0;                 // of all ways through an iteration
  std::shared_ptr<NativeLoop> native;  // null: it is interpreted
};

// `loop`, a While, if it is one of those; else null. The program must outlive it.
std::shared_ptr<RegisterLoop> CompileLoop(lower::ProgramFacts& facts, const Node& loop);

// The While nodes of the program that run so, as far as can be told before it is known what is fed.
// The main graph's first, then those of functions, in order of name.
std::vector<const Node*> LoopsOnRegisters(const Program& program);

// Runs `loop` as the kernel of its node. Errors carry where in the loop they happened: WhereInside.
// A loop that takes long pauses, so that others have their turn, and does not end: PausesOf.
absl::Status RunLoop(KernelContext& ctx, const void* loop);

// How often a loop has paused that has left this as its output 0; 0: it has ended. The kernel is to
// be run again, with this as its input 0; what its other inputs are counts for nothing then.
int64_t PausesOf(const Tensor& output);

// What an error that RunLoop returned says of its place, as lines for a message, up to the loop
// itself. Empty for others.
std::string WhereInside(const absl::Status& status);

}  // namespace gyre::sequential

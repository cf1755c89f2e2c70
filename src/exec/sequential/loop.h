// RegisterLoop: a While or For whose iterations hold too little work to be worth a token: a flat
// program on registers with jumps, run by one thread from the first iteration to the last, as if it
// were one kernel. An If or Case that stands in none can be one, too: its part 0 is run once.
//
//   regs: i x | one | go i' m x'              while (i < n) { i = i + 1; x = sin(x * w); }
//     0: start                  the iterations of this loop are counted from 0
//     1: go = Less(i, n)
//     2: leave unless go
//     3: i' = AddV2(i, one)
//     4: m = Mul(x, w)          a register's last reader moves its value out, so that lists and
//     5: x' = Sin(m)            buffers are owned by the op that changes them
//     6: i = move i'
//     7: x = move x'
//     8: again, at 1
//
// Which loops: those whose ops call nothing of the host, run on the calling thread, and
// handle nothing but small tensors and lists of known types, as far as shapes tell (kMaxElements).
// If, Case, calls and loops within them become jumps. A For is the While that lowering makes of it
// (lower/loops.cc). A recursive function is a subroutine behind the rest, and a call of it,
// wherever it stands, a program of its own if no loop is around it: what the caller still needs of
// its registers waits on a stack. So recursion is as deep as memory allows, and costs what it does.
// Everything is as it would be with tokens: kernels, bits, errors and what they say; cancellation
// and the budget are looked at after every few ops.
//
// Native code takes its place where some has been made (native.h): it runs the same instructions,
// and hands back to the interpreter before any of them that it cannot do.
//
// Compiled once, immutable, shared by all runs; a run's registers are its own.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "lower/facts.h"
#include "ops/kernel.h"

namespace gyre::sequential {

// Where ops of a loop stand: in its condition or body, or in a function that these call.
struct LoopScope {
  int parent = -1;                   // -1: where the loop stands, or, of a subroutine, its call
  const Node* structured = nullptr;  // null: a subroutine's
  int callee = 0;  // which of the structured node's functions, in the order of CalleesOf
  const Function* function = nullptr;
  uint32_t loop = 0;  // the innermost one around: whose iteration it is
};

enum class Action : uint8_t {
  kRun,          // a kernel
  kMove,         // inputs[0] to `output`
  kStart,        // of loop `loop`: counts its iterations from 0; its first instruction follows
  kLeave,        // ends the outermost loop unless inputs[0] is true
  kEnd,          // of a conditional: it has its results
  kJump,         // to `target`
  kJumpUnless,   // to `target` unless inputs[0] is true
  kJumpByIndex,  // to the one of `targets` that inputs[0] counts to; out of range: the last
  kDrop,         // empties inputs: what only other branches would have read
  kAgain,        // to `target`, as the next iteration of loop `loop`
  kCall,         // to the subroutine that starts at `target`, with inputs as its arguments
  kBegin,        // of a subroutine, which is the part `loop`: its first instruction follows
  kReturn,       // behind the kCall that led here: inputs to the outputs of that
};

struct Instruction {
  Action action = Action::kRun;
  uint32_t first_input = 0, num_inputs = 0;  // in RegisterLoop::inputs
  uint32_t output = 0, num_outputs = 0;      // registers in a row
  uint32_t target = 0;
  std::vector<uint32_t> targets;
  // Of kCall: registers and loops whose values and iterations wait on the stack, since what it
  // calls may come to the same place.
  std::vector<uint32_t> saved, saved_loops;
  uint32_t loop = 0;  // of kStart, kAgain and kBegin
  uint32_t cost = 0;  // of kAgain and kBegin: kernels up to the next one, all ways
  Kernel kernel;
  const Node* node = nullptr;
  const Node* told = nullptr;  // the node that errors name: a For, for what counts its iterations
  int scope = 0;               // -1: where the outermost loop stands
  bool needs_tag = false;      // its kernel asks where it runs
};

struct Input {
  uint32_t reg = 0;
  bool is_last = false;  // nobody reads the register any more
};

// The loop, conditional or call itself, a loop within it, or a subroutine.
struct LoopPart {
  uint32_t start = 0;  // where its iterations start, or it does
  const Node* node = nullptr;
  int around = -1;  // the number of the part that it stands in
};

// A function that may call itself.
struct Subroutine {
  const Function* function = nullptr;
  uint32_t first_arg = 0;       // the register of its first argument; the others follow
  uint32_t begin = 0, end = 0;  // its kBegin, and behind its kReturn
};

class NativeLoop;

struct RegisterLoop {
  const Node* node = nullptr;
  std::vector<Instruction> code;
  std::vector<Input> inputs;
  // The node's outputs come first, a loop's variables, then inputs that are not those: a For's
  // bounds, all of a conditional.
  uint32_t num_registers = 0;
  uint32_t num_bounds = 0;
  uint32_t max_inputs = 0;
  bool needs_tag = false;  // some kernel asks where it runs
  // Per register: of what type it is a scalar whenever it has a value; kInvalid: that is not known,
  // or it is complex, or no number. Of the loop's variables it is a guess, to be checked.
  std::vector<DType> scalar_types;
  // Per register: of what type and shape it is a tensor of numbers, no scalar, whenever it has a
  // value; kInvalid: that is not known. A guess, too.
  struct TensorType {
    DType dtype = DType::kInvalid;
    Shape shape;
  };
  std::vector<TensorType> tensor_types;
  std::vector<std::pair<uint32_t, const Tensor*>> constants;
  std::vector<LoopScope> scopes;
  std::vector<LoopPart> loops;                    // by number; 0 is the whole
  std::vector<Subroutine> subroutines;            // behind everything else
  bool saves_tensors = false;                     // calls save more than scalars
  std::vector<std::unique_ptr<const Node>> made;  // nodes that the program does not have
  std::vector<std::unique_ptr<const Tensor>> made_constants;
  std::shared_ptr<NativeLoop> native;  // null: it is interpreted
};

// `node`, a While, For, If, Case or recursive call of `function`, if it is one of those; else null,
// and `why`, if it is not null. The program must outlive it.
std::shared_ptr<RegisterLoop> CompileLoop(lower::ProgramFacts& facts, const Function& function,
                                          const Node& node, std::string* why = nullptr);

// Runs `loop` as the kernel of its node. Errors carry where in the loop they happened: WhereInside.
// A loop that takes long pauses, so that others have their turn, and does not end: PausesOf.
absl::Status RunLoop(KernelContext& ctx, const void* loop);

// The subroutine that a kCall calls.
const Subroutine& CalledBy(const RegisterLoop& loop, const Instruction& call);

// Calls `tell(from, to)` for each value that moves from a register to another as it is: by kMove,
// as the argument or result of a subroutine.
template <typename Tell>
void ForEachMove(const RegisterLoop& loop, const Tell& tell) {
  for (const Instruction& op : loop.code) {
    const auto input = [&](uint32_t i) { return loop.inputs[op.first_input + i].reg; };
    if (op.action == Action::kMove) tell(input(0), op.output);
    if (op.action != Action::kCall) continue;
    const Subroutine& subroutine = CalledBy(loop, op);
    for (uint32_t i = 0; i < op.num_inputs; ++i) tell(input(i), subroutine.first_arg + i);
    const Instruction& end = loop.code[subroutine.end - 1];
    for (uint32_t i = 0; i < op.num_outputs; ++i)
      tell(loop.inputs[end.first_input + i].reg, op.output + i);
  }
}

// How often a loop has paused that has left this as its output 0; 0: it has ended. The kernel is to
// be run again, with this as its input 0; what its other inputs are counts for nothing then.
int64_t PausesOf(const Tensor& output);

// What has left `output` as RunLoop's output 0: the loops in which it stands, outermost first, with
// the numbers of their iterations. Empty if it has ended.
std::vector<std::pair<const Node*, int64_t>> PlaceOf(const RegisterLoop& loop,
                                                     const Tensor& output);

// What an error that RunLoop returned says of its place, as lines for a message, up to the loop
// itself. Empty for others.
std::string WhereInside(const absl::Status& status);
// The same of a loop that has paused, of its next op.
std::string WhereInside(const RegisterLoop& loop, const Tensor& output);

}  // namespace gyre::sequential

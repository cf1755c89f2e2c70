// Machine: what runs a RegisterLoop, one run of it. run.cc interprets; run_native.cc is what goes
// on between the interpreter and native code.
#pragma once

#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "compiled/region.h"
#include "exec/sequential/loop.h"
#include "exec/sequential/native.h"
#include "ops/memory.h"

namespace gyre::sequential {

// Ops between two looks at the clock and the budget, and looks between two pauses: some 20 ms.
inline constexpr int64_t kLookEvery = 64;
inline constexpr int64_t kPauseEvery = 16384;
// Native code looks by itself, every 0.1 ms or so.
inline constexpr int kNativeLooksPerPause = 128;

// The calls of subroutines that have not returned, and what waits for them: saved registers and
// iterations of each call, in its order.
struct CallStack {
  std::vector<uint32_t> calls;  // numbers of instructions
  std::vector<Tensor> values;
};

// A loop between two iterations, or a subroutine where it begins.
struct LoopState {
  std::vector<Tensor> registers;
  std::vector<int64_t> iterations;  // by loop
  uint32_t loop = 0;                // between two iterations of which it is
  CallStack stack;
  std::unique_ptr<MemoryCharge> charge;  // for the stack
  int64_t pauses = 0;
};
class PausedLoop final : public Object {
 public:
  explicit PausedLoop(LoopState state) : state(std::move(state)) {}
  absl::string_view type_name() const override { return "PausedLoop"; }

  LoopState state;
};

// Looks at the clock, at cancellation and at the budget.
absl::Status Look(const KernelContext& ctx);

class Machine {
 public:
  Machine(const RegisterLoop& loop, KernelContext& ctx)
      : loop_(loop),
        ctx_(ctx),
        native_(loop.native == nullptr ? nullptr : loop.native->code()),
        alloc_(ctx.alloc()),
        inputs_(loop.max_inputs),
        until_look_(loop.native == nullptr ? kLookEvery : loop.native->FirstLook(kLookEvery)) {}

  absl::Status Run();

 private:
  // Where to begin.
  uint32_t Start();

  absl::Status Pause();

  [[gnu::always_inline]] absl::Status RunKernel(const Instruction& op, const Input* from) {
    Tensor* const inputs = inputs_.data();
    for (uint32_t i = 0; i < op.num_inputs; ++i) {
      Tensor& reg = registers_[from[i].reg];
      inputs[i] = from[i].is_last ? std::move(reg) : reg;
    }
    Tensor* const outputs = registers_.data() + op.output;
    for (uint32_t i = 0; i < op.num_outputs; ++i) outputs[i] = Tensor();
    KernelContext context(*op.node, ctx_.env(), op.needs_tag ? TagOf(op.scope) : Tag(),
                          absl::MakeSpan(inputs, op.num_inputs),
                          absl::MakeSpan(outputs, op.num_outputs));
    GYRE_RETURN_IF_ERROR(op.kernel.run(context, op.kernel.attrs.get()));
    for (uint32_t i = 0; i < op.num_inputs; ++i) inputs[i] = Tensor();
    for (uint32_t i = 0; i < op.num_outputs; ++i) {
      if (!outputs[i].has_value()) [[unlikely]]
        return BugError(absl::StrCat("output ", i, " of ", op.node->op_name, " is missing"));
    }
    return absl::OkStatus();
  }

  // Subroutines.

  absl::Status Call(const Instruction& call, const Input* inputs);
  // To behind the call that it returns.
  const Instruction* Return(const Instruction& end, const Input* inputs);
  void TakeAll(const Instruction& op, const Input* from) {
    for (uint32_t i = 0; i < op.num_inputs; ++i) {
      Tensor& reg = registers_[from[i].reg];
      inputs_[i] = from[i].is_last ? std::move(reg) : reg;
    }
  }
  // Room on the stack for so many, and as many again.
  absl::Status MakeRoom(size_t num_calls, size_t num_values);
  // Why there is none: in the words of the engine, which counts calls, too.
  absl::Status OutOfBudget(absl::Status status) const;

  // Where the ops of a scope run, as with tokens (dataflow/origin.h): what random numbers hang on.
  [[gnu::noinline]] Tag TagOf(int scope);

  // Native code.

  // Runs from where an iteration of `loop` starts, as far as native code goes; `at` is what
  // follows.
  [[gnu::noinline]] absl::Status RunNatively(uint32_t loop, const Instruction*& at);

  const compiled::Cell& CellAt(uint32_t reg) const { return loop_.native->region().cells[reg]; }
  bool IsObject(uint32_t cell) const { return CellAt(cell).is_object(); }
  bool IsCell(uint32_t reg) const { return CellAt(reg).element_bytes != 0; }
  uint64_t& Word(uint32_t cell) { return cells_[CellAt(cell).word]; }

  // From registers, as far as they are cells, to these: whether they hold such scalars, tensors and
  // objects. Else nothing is moved.
  bool FetchAll(absl::Span<const uint32_t> registers);
  bool HasLent() const;
  bool AreOfTypes(absl::Span<const uint32_t> registers) const;
  bool IsOfType(uint32_t reg) const;
  bool Fits(uint32_t cell) const;
  void Fetch(uint32_t cell);

  // Behind native code: the cells that are live become registers, but for those that `have` names.
  // An error, of instruction `at`, where there is no memory for that.
  absl::Status SpillAll(absl::Span<const uint32_t> live, uint32_t at,
                        absl::Span<const uint32_t> have = {});

  // The words of native code's stack are a tensor's, so that a run's budget knows them.
  absl::Status MakeNativeStack(compiled::Frame& frame);
  void SetNativeStack(compiled::Frame& frame, int64_t used);
  static bool GrowFromNative(void* interpreter, uint32_t at, uint64_t words);
  // Calls that native code has begun and not ended become the interpreter's.
  absl::Status MoveNativeStack(compiled::Frame& frame);
  uint32_t WordsOf(uint32_t cell) const { return compiled::NumWords(CellAt(cell)); }
  void DropSaved(const compiled::Instruction& call, const uint64_t* words) const;
  // A scalar or a small tensor.
  absl::Status Spill(uint32_t cell, uint32_t at);
  // What a cell's words are; an object's are handed over.
  absl::Status TensorOf(uint32_t cell, const uint64_t* words, Tensor& tensor) const;
  void SpillObject(uint32_t cell) {
    registers_[cell] = Tensor::FromObject(CellAt(cell).object, TakeObject(cell));
  }
  RefPtr<Object> TakeObject(uint32_t cell) {
    return RefPtr<Object>::Adopt(reinterpret_cast<Object*>(std::exchange(Word(cell), 0)));
  }

  // What native code calls. Exceptions are kept: it does not unwind.
  template <typename Body>
  bool FromNative(uint32_t at, const Body& body) {
    called_ = at;
    try {
      return body();
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  // One instruction that is not native, with its cells as its registers. False: native code is to
  // stop behind it, because of an error or since what it made fits no cell.
  static bool CallFromNative(void* interpreter, uint32_t at);
  bool Interpret(uint32_t at);
  // An object that native code still needs keeps its reference.
  absl::Status SpillInput(const compiled::Instruction& op, size_t i, uint32_t at);

  // For instruction `at`, which handles tensors, a small one that is a cell; and back.
  static bool MakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell);
  static bool TakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell);

  static void DropFromNative(Tensor* tensor) { *tensor = Tensor(); }

  static bool LookFromNative(void* interpreter, uint32_t loop);

  void Move(const Instruction& op, Input input) {
    Tensor& from = registers_[input.reg];
    registers_[op.output] = input.is_last ? std::move(from) : from;
  }
  void Drop(const Instruction& op, const Input* inputs) {
    for (uint32_t i = 0; i < op.num_inputs; ++i) registers_[inputs[i].reg] = Tensor();
  }

  absl::Status Leave();

  absl::Status Locate(absl::Status status, const Instruction& op) const;

  // Between two iterations of `loop`: at the first op of the next one.
  absl::Status LocateBetween(absl::Status status, uint32_t loop) const;

  // The frame of a scope, in which scopes within it have theirs.
  struct KnownFrame {
    Tag outside;
    uint64_t id = 0;
  };

  const RegisterLoop& loop_;
  KernelContext& ctx_;
  const compiled::NativeCode* native_;  // null: there is none yet, or it does not fit this run
  bool fits_ = true;
  const Tensor::Alloc alloc_;
  LoopState state_;
  std::vector<Tensor>& registers_ = state_.registers;
  std::vector<Tensor> inputs_;                           // of the op that runs
  std::vector<std::optional<KnownFrame>> known_frames_;  // by scope
  int64_t until_look_;
  int64_t until_pause_ = kPauseEvery;
  // While native code runs: its cells, and why it was told to stop.
  std::vector<uint64_t> cells_;
  compiled::Frame* frame_ = nullptr;
  Tensor native_stack_;
  std::vector<uint32_t> kept_;  // cells that a call that native code has begun keeps
  uint32_t called_ = 0;         // the instruction for which it has called last
  std::vector<uint32_t> have_;  // of that one, outputs that are in registers
  absl::Status stopped_by_;
  bool is_between_ = false;  // by a look between two iterations
  std::exception_ptr thrown_;
  int until_native_pause_ = kNativeLooksPerPause;
  bool is_to_pause_ = false;
};

}  // namespace gyre::sequential

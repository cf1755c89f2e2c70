// Running a RegisterLoop.
#include <exception>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/cord.h"
#include "base/attention.h"
#include "base/status.h"
#include "exec/sequential/loop.h"
#include "exec/sequential/native.h"
#include "ir/where.h"

namespace gyre::sequential {
namespace {

constexpr absl::string_view kWhere = "gyre/where_in_loop";
// Ops between two looks at the clock and the budget, and looks between two pauses: some 20 ms.
constexpr int64_t kLookEvery = 64;
constexpr int64_t kPauseEvery = 16384;
// Native code looks by itself, every 0.1 ms or so.
constexpr int kNativeLooksPerPause = 128;

std::string WhereOf(const RegisterLoop& loop, const Instruction& op, int64_t iteration) {
  std::string text = NodeText(*op.node);
  for (int s = op.scope; s >= 0; s = loop.scopes[s].parent) {
    const LoopScope& scope = loop.scopes[s];
    absl::StrAppend(&text, CallText(*scope.structured, scope.callee, *scope.function, iteration));
  }
  return text;
}

// Not where it is called: there, it cost the loop registers.
[[gnu::noinline]] absl::Status Look(const KernelContext& ctx) {
  Attention::Attend();
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  MemoryBudget* const budget = ctx.env().budget;
  return budget == nullptr ? absl::OkStatus() : budget->CheckLimit();
}

// Of a bool, as the op ToBool has it.
bool IsTrue(const Tensor& condition) {
  return condition.is_inline() ? condition.scalar<bool>() : condition.num_elements() > 0;
}

// A loop between two iterations.
class PausedLoop final : public Object {
 public:
  PausedLoop(std::vector<Tensor> registers, int64_t iteration, int64_t pauses)
      : registers(std::move(registers)), iteration(iteration), pauses(pauses) {}
  absl::string_view type_name() const override { return "PausedLoop"; }

  std::vector<Tensor> registers;
  int64_t iteration;
  int64_t pauses;
};

class Machine {
 public:
  Machine(const RegisterLoop& loop, KernelContext& ctx)
      : loop_(loop),
        ctx_(ctx),
        native_(loop.native == nullptr ? nullptr : loop.native->code()),
        inputs_(loop.max_inputs) {}

  absl::Status Run() {
    Start();
    const Instruction* const code = loop_.code.data();
    const Instruction* at = code;
    if (native_ != nullptr) {
      GYRE_RETURN_IF_ERROR(RunNatively(at));
      if (is_to_pause_) return Pause();
    }
    for (;;) {
      const Input* const inputs = loop_.inputs.data() + at->first_input;
      switch (at->action) {
        case Action::kRun:
          if (absl::Status status = RunKernel(*at, inputs); !status.ok()) [[unlikely]]
            return Locate(std::move(status), *at);
          ++at;
          break;
        case Action::kMove:
          Move(*at, inputs[0]);
          ++at;
          break;
        case Action::kLeave:
          if (!IsTrue(registers_[inputs[0].reg])) return Leave();
          ++at;
          break;
        case Action::kJump:
          at = code + at->target;
          break;
        case Action::kJumpUnless:
          at = IsTrue(registers_[inputs[0].reg]) ? at + 1 : code + at->target;
          break;
        case Action::kJumpByIndex: {
          const auto index = static_cast<uint32_t>(registers_[inputs[0].reg].scalar<int32_t>());
          at = code + (index < at->targets.size() ? at->targets[index] : at->targets.back());
          break;
        }
        case Action::kDrop:
          Drop(*at, inputs);
          ++at;
          break;
        case Action::kAgain:
          ++iteration_;
          at = code;
          if ((until_look_ -= loop_.num_kernels + 1) <= 0) [[unlikely]] {
            until_look_ = kLookEvery;
            if (absl::Status status = Look(ctx_); !status.ok()) return Locate(std::move(status));
            if (--until_pause_ == 0) return Pause();
          }
          if (native_ != nullptr) {
            GYRE_RETURN_IF_ERROR(RunNatively(at));
            if (is_to_pause_) return Pause();
          }
          break;
      }
    }
  }

 private:
  void Start() {
    auto* const paused = ctx_.input(0).object_as<PausedLoop>();
    if (paused != nullptr) {
      const Tensor keeps = ctx_.TakeInput(0);
      registers_ = std::move(paused->registers);
      iteration_ = paused->iteration;
      pauses_ = paused->pauses;
      return;
    }
    registers_.resize(loop_.num_registers);
    for (int i = 0; i < ctx_.num_inputs(); ++i) registers_[i] = ctx_.TakeInput(i);
    for (const auto& [reg, value] : loop_.constants) registers_[reg] = *value;
  }

  absl::Status Pause() {
    ctx_.set_output(
        0, Tensor::FromObject(DType::kVariant,
                              MakeRef<PausedLoop>(std::move(registers_), iteration_, pauses_ + 1)));
    return absl::OkStatus();
  }

  [[gnu::always_inline]] absl::Status RunKernel(const Instruction& op, const Input* from) {
    Tensor* const inputs = inputs_.data();
    for (uint32_t i = 0; i < op.num_inputs; ++i) {
      Tensor& reg = registers_[from[i].reg];
      inputs[i] = from[i].is_last ? std::move(reg) : reg;
    }
    Tensor* const outputs = registers_.data() + op.output;
    for (uint32_t i = 0; i < op.num_outputs; ++i) outputs[i] = Tensor();
    KernelContext context(*op.node, ctx_.env(), Tag(), absl::MakeSpan(inputs, op.num_inputs),
                          absl::MakeSpan(outputs, op.num_outputs));
    GYRE_RETURN_IF_ERROR(op.kernel.run(context, op.kernel.attrs.get()));
    for (uint32_t i = 0; i < op.num_inputs; ++i) inputs[i] = Tensor();
    for (uint32_t i = 0; i < op.num_outputs; ++i) {
      if (!outputs[i].has_value()) [[unlikely]]
        return BugError(absl::StrCat("output ", i, " of ", op.node->op_name, " is missing"));
    }
    return absl::OkStatus();
  }

  // Native code.

  // Runs from `at`, where an iteration starts, as far as native code goes; `at` is what follows.
  [[gnu::noinline]] absl::Status RunNatively(const Instruction*& at) {
    const std::vector<compiled::Instruction>& region = loop_.native->region().instructions;
    cells_.resize(loop_.num_registers);
    for (const uint32_t cell : region[0].live) {
      if (!Fetch(cell)) {  // not the scalar that it was taken for
        native_ = nullptr;
        return absl::OkStatus();
      }
    }
    compiled::Frame frame = {.cells = cells_.data(),
                             .iteration = iteration_,
                             .interpreter = this,
                             .call = &CallFromNative,
                             .look = &LookFromNative};
    frame_ = &frame;
    uint32_t stop = native_->Run(frame);
    iteration_ = frame.iteration;
    absl::Span<const uint32_t> have;  // what the interpreter has put into its registers
    if (stop == compiled::kStopped) {
      if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
      GYRE_RETURN_IF_ERROR(std::exchange(stopped_by_, absl::OkStatus()));
      if (is_to_pause_) {
        for (const uint32_t cell : region[0].live) Spill(cell);
        return absl::OkStatus();
      }
      stop = called_ + 1;
      have = region[called_].outputs;
      native_ = nullptr;
    }
    for (const uint32_t cell : region[stop].live)
      if (!absl::c_linear_search(have, cell)) Spill(cell);
    at = loop_.code.data() + stop;
    return absl::OkStatus();
  }

  // From a register to its cell: whether it holds such a scalar.
  bool Fetch(uint32_t cell) {
    const Tensor& reg = registers_[cell];
    if (!reg.has_value() || reg.dtype() != loop_.scalar_types[cell] || reg.rank() != 0)
      return false;
    cells_[cell] = BitsOf(reg);
    return true;
  }
  void Spill(uint32_t cell) {
    registers_[cell] = ScalarOfBits(loop_.scalar_types[cell], cells_[cell]);
  }

  // One instruction that is not native, with its cells as its registers. False: native code is to
  // stop behind it, because of an error or since what it made fits no cell.
  static bool CallFromNative(void* interpreter, uint32_t at) {
    Machine& self = *static_cast<Machine*>(interpreter);
    try {
      return self.CallFromNative(at);
    } catch (...) {  // native code does not unwind
      self.thrown_ = std::current_exception();
      return false;
    }
  }
  bool CallFromNative(uint32_t at) {
    const compiled::Instruction& cells = loop_.native->region().instructions[at];
    const Instruction& op = loop_.code[at];
    const Input* const inputs = loop_.inputs.data() + op.first_input;
    for (const uint32_t cell : cells.inputs) Spill(cell);
    called_ = at;
    iteration_ = frame_->iteration;
    if (op.action == Action::kRun) {
      stopped_by_ = RunKernel(op, inputs);
      if (!stopped_by_.ok()) stopped_by_ = Locate(std::move(stopped_by_), op);
      if (!stopped_by_.ok()) return false;
    } else if (op.action == Action::kMove) {
      Move(op, inputs[0]);
    } else {
      Drop(op, inputs);
    }
    return absl::c_all_of(cells.outputs, [&](uint32_t cell) { return Fetch(cell); });
  }

  static bool LookFromNative(void* interpreter) {
    Machine& self = *static_cast<Machine*>(interpreter);
    try {
      self.iteration_ = self.frame_->iteration;
      self.stopped_by_ = Look(self.ctx_);
      if (!self.stopped_by_.ok()) self.stopped_by_ = self.Locate(std::move(self.stopped_by_));
    } catch (...) {
      self.thrown_ = std::current_exception();
      return false;
    }
    self.is_to_pause_ = --self.until_native_pause_ == 0;
    return self.stopped_by_.ok() && !self.is_to_pause_;
  }

  void Move(const Instruction& op, Input input) {
    Tensor& from = registers_[input.reg];
    registers_[op.output] = input.is_last ? std::move(from) : from;
  }
  void Drop(const Instruction& op, const Input* inputs) {
    for (uint32_t i = 0; i < op.num_inputs; ++i) registers_[inputs[i].reg] = Tensor();
  }

  absl::Status Leave() {
    for (int i = 0; i < ctx_.num_outputs(); ++i) ctx_.set_output(i, std::move(registers_[i]));
    return absl::OkStatus();
  }

  absl::Status Locate(absl::Status status, const Instruction& op) const {
    status.SetPayload(kWhere, absl::Cord(WhereOf(loop_, op, iteration_)));
    return status;
  }

  // Between two iterations: at the first op of the next one.
  absl::Status Locate(absl::Status status) const {
    for (const Instruction& op : loop_.code) {
      if (op.action == Action::kRun) return Locate(std::move(status), op);
    }
    return status;
  }

  const RegisterLoop& loop_;
  KernelContext& ctx_;
  const compiled::NativeCode* native_;  // null: there is none, or it does not fit this run
  std::vector<Tensor> registers_;
  std::vector<Tensor> inputs_;  // of the op that runs
  int64_t iteration_ = 0;
  int64_t until_look_ = kLookEvery;
  int64_t until_pause_ = kPauseEvery;
  int64_t pauses_ = 0;
  // While native code runs: its cells, and why it was told to stop.
  std::vector<uint64_t> cells_;
  const compiled::Frame* frame_ = nullptr;
  uint32_t called_ = 0;
  absl::Status stopped_by_;
  std::exception_ptr thrown_;
  int until_native_pause_ = kNativeLooksPerPause;
  bool is_to_pause_ = false;
};

}  // namespace

absl::Status RunLoop(KernelContext& ctx, const void* loop) {
  return Machine(*static_cast<const RegisterLoop*>(loop), ctx).Run();
}

int64_t PausesOf(const Tensor& output) {
  const auto* const paused = output.object_as<PausedLoop>();
  return paused == nullptr ? 0 : paused->pauses;
}

std::string WhereInside(const absl::Status& status) {
  const absl::optional<absl::Cord> where = status.GetPayload(kWhere);
  return where ? std::string(*where) : "";
}

}  // namespace gyre::sequential

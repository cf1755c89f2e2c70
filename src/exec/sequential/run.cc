// Running a RegisterLoop.
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/cord.h"
#include "analysis/function_copies.h"
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

std::string WhereOf(const RegisterLoop& loop, const Instruction& op,
                    absl::Span<const int64_t> iterations) {
  std::string text = NodeText(*op.told);
  for (int s = op.scope; s >= 0; s = loop.scopes[s].parent) {
    const LoopScope& scope = loop.scopes[s];
    absl::StrAppend(
        &text, CallText(*scope.structured, scope.callee, *scope.function, iterations[scope.loop]));
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
struct LoopState {
  std::vector<Tensor> registers;
  std::vector<int64_t> iterations;  // by loop
  uint32_t loop = 0;                // between two iterations of which it is
  int64_t pauses = 0;
};
class PausedLoop final : public Object {
 public:
  explicit PausedLoop(LoopState state) : state(std::move(state)) {}
  absl::string_view type_name() const override { return "PausedLoop"; }

  LoopState state;
};

class Machine {
 public:
  Machine(const RegisterLoop& loop, KernelContext& ctx)
      : loop_(loop),
        ctx_(ctx),
        native_(loop.native == nullptr ? nullptr : loop.native->code()),
        alloc_(ctx.alloc()),
        inputs_(loop.max_inputs),
        until_look_(loop.native == nullptr ? kLookEvery : loop.native->FirstLook(kLookEvery)) {}

  absl::Status Run() {
    const Instruction* const code = loop_.code.data();
    const Instruction* at = code + Start();
    if (native_ != nullptr && at != code) {
      GYRE_RETURN_IF_ERROR(RunNatively(state_.loop, at));
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
        case Action::kStart:
          state_.iterations[at->loop] = 0;
          if (native_ != nullptr) {
            GYRE_RETURN_IF_ERROR(RunNatively(at->loop, at));
            if (is_to_pause_) return Pause();
          } else {
            ++at;
          }
          break;
        case Action::kLeave:
          if (!IsTrue(registers_[inputs[0].reg])) return Leave();
          ++at;
          break;
        case Action::kEnd:
          return Leave();
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
        case Action::kAgain: {
          const Instruction& again = *at;
          ++state_.iterations[again.loop];
          at = code + again.target;
          if ((until_look_ -= again.cost + 1) <= 0) [[unlikely]] {
            until_look_ = kLookEvery;
            if (absl::Status status = Look(ctx_); !status.ok())
              return LocateBetween(std::move(status), again.loop);
            if (--until_pause_ == 0) {
              state_.loop = again.loop;
              return Pause();
            }
            if (native_ == nullptr && loop_.native != nullptr && fits_)
              native_ = loop_.native->Looked(loop_);
          }
          if (native_ != nullptr) {
            GYRE_RETURN_IF_ERROR(RunNatively(again.loop, at));
            if (is_to_pause_) return Pause();
          }
          break;
        }
      }
    }
  }

 private:
  // Where to begin.
  uint32_t Start() {
    auto* const paused = ctx_.input(0).object_as<PausedLoop>();
    if (paused != nullptr) {
      const Tensor keeps = ctx_.TakeInput(0);
      state_ = std::move(paused->state);
      return loop_.loops[state_.loop].start;
    }
    registers_.resize(loop_.num_registers);
    state_.iterations.resize(loop_.loops.size());
    const int num_variables = ctx_.num_outputs();
    const int num_bounds = static_cast<int>(loop_.num_bounds);
    for (int i = 0; i < ctx_.num_inputs(); ++i)
      registers_[i < num_bounds ? num_variables + i : i - num_bounds] = ctx_.TakeInput(i);
    for (const auto& [reg, value] : loop_.constants) registers_[reg] = *value;
    return 0;
  }

  absl::Status Pause() {
    ++state_.pauses;
    ctx_.set_output(0, Tensor::FromObject(DType::kVariant, MakeRef<PausedLoop>(std::move(state_))));
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

  // Where the ops of a scope run, as with tokens (dataflow/origin.h): what random numbers hang on.
  [[gnu::noinline]] Tag TagOf(int scope) {
    if (scope < 0) return ctx_.tag();
    const LoopScope& in = loop_.scopes[scope];
    const Tag outside = TagOf(in.parent);
    if (known_frames_.empty()) known_frames_.resize(loop_.scopes.size());
    std::optional<KnownFrame>& known = known_frames_[scope];
    if (!known || known->outside.frame != outside.frame ||
        known->outside.iteration != outside.iteration) {
      known = {outside, ChildFrameId(outside, CalleeFrameName(*in.structured, *in.function))};
    }
    return {known->id, IsLoop(in.structured->kind()) ? state_.iterations[in.loop] : 0};
  }

  // Native code.

  // Runs from where an iteration of `loop` starts, as far as native code goes; `at` is what
  // follows.
  [[gnu::noinline]] absl::Status RunNatively(uint32_t loop, const Instruction*& at) {
    const std::vector<compiled::Instruction>& region = loop_.native->region().instructions;
    const uint32_t start = loop_.loops[loop].start;
    at = loop_.code.data() + start;
    if (!native_->CanRun(loop)) return absl::OkStatus();
    cells_.resize(loop_.native->region().num_words);    // objects are 0 here
    if (!HasLent() || !FetchAll(region[start].live)) {  // not what they were taken for
      fits_ = false;
      native_ = nullptr;
      return absl::OkStatus();
    }
    compiled::Frame frame = {.cells = cells_.data(),
                             .iterations = state_.iterations.data(),
                             .tensors = registers_.data(),
                             .alloc = &alloc_,
                             .interpreter = this,
                             .call = &CallFromNative,
                             .look = &LookFromNative,
                             .make_tensor = &MakeTensorFromNative,
                             .take_tensor = &TakeTensorFromNative,
                             .drop = &DropFromNative};
    uint32_t stop = native_->Run(loop, frame);
    if (stop != compiled::kStopped) {
      GYRE_RETURN_IF_ERROR(SpillAll(region[stop].live, stop));
    } else if (thrown_ != nullptr || !stopped_by_.ok()) {
      GYRE_RETURN_IF_ERROR(SpillAll({}, called_));
      if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
      return std::exchange(stopped_by_, absl::OkStatus());
    } else if (is_to_pause_) {
      const uint32_t next = loop_.loops[state_.loop].start;
      return SpillAll(region[next].live, next);
    } else {  // what the interpreter has put into its registers fits no cells
      stop = called_ + 1;
      GYRE_RETURN_IF_ERROR(SpillAll(region[stop].live, stop, have_));
      fits_ = false;
      native_ = nullptr;
    }
    at = loop_.code.data() + stop;
    return absl::OkStatus();
  }

  const compiled::Cell& CellAt(uint32_t reg) const { return loop_.native->region().cells[reg]; }
  bool IsObject(uint32_t cell) const { return CellAt(cell).is_object(); }
  bool IsCell(uint32_t reg) const { return CellAt(reg).element_bytes != 0; }
  uint64_t& Word(uint32_t cell) { return cells_[CellAt(cell).word]; }

  // From registers, as far as they are cells, to these: whether they hold such scalars, tensors and
  // objects. Else nothing is moved.
  bool FetchAll(absl::Span<const uint32_t> registers) {
    if (!absl::c_all_of(registers, [&](uint32_t reg) { return !IsCell(reg) || Fits(reg); }))
      return false;
    for (const uint32_t reg : registers)
      if (IsCell(reg)) Fetch(reg);
    return true;
  }
  bool HasLent() const {
    const compiled::Region& region = loop_.native->region();
    return AreOfTypes(region.lent) && absl::c_all_of(region.made, [&](uint32_t reg) {
             return !registers_[reg].has_value() || IsOfType(reg);
           });
  }
  bool AreOfTypes(absl::Span<const uint32_t> registers) const {
    return absl::c_all_of(registers, [&](uint32_t reg) { return IsOfType(reg); });
  }
  bool IsOfType(uint32_t reg) const {
    const RegisterLoop::TensorType& type = loop_.tensor_types[reg];
    const Tensor& tensor = registers_[reg];
    return tensor.has_value() && tensor.dtype() == type.dtype && tensor.shape() == type.shape &&
           tensor.device() == nullptr;
  }
  bool Fits(uint32_t cell) const {
    const Tensor& reg = registers_[cell];
    if (!reg.has_value()) return false;
    if (CellAt(cell).is_tensor) return IsOfType(cell);
    if (reg.rank() != 0) return false;
    if (IsObject(cell)) return reg.dtype() == CellAt(cell).object && reg.object() != nullptr;
    return reg.dtype() == loop_.scalar_types[cell];
  }
  void Fetch(uint32_t cell) {
    Tensor& reg = registers_[cell];
    if (CellAt(cell).is_tensor) {
      std::memcpy(&Word(cell), reg.raw_data(), reg.bytes());
      reg = Tensor();
    } else {
      Word(cell) = IsObject(cell) ? reinterpret_cast<uint64_t>(reg.TakeObject<Object>().release())
                                  : BitsOf(reg);
    }
  }

  // Behind native code: the cells that are live become registers, but for those that `have` names,
  // and there are no objects in cells any more. An error, of instruction `at`, where there is no
  // memory for that.
  absl::Status SpillAll(absl::Span<const uint32_t> live, uint32_t at,
                        absl::Span<const uint32_t> have = {}) {
    const auto is_wanted = [&](uint32_t cell) { return !absl::c_linear_search(have, cell); };
    for (const uint32_t cell : live)
      if (IsObject(cell) && is_wanted(cell)) SpillObject(cell);
    for (uint32_t cell = 0; cell < loop_.num_registers; ++cell)
      if (IsObject(cell)) (void)TakeObject(cell);
    for (const uint32_t cell : live)
      if (!IsObject(cell) && is_wanted(cell)) GYRE_RETURN_IF_ERROR(Spill(cell, at));
    return absl::OkStatus();
  }
  // A scalar or a small tensor.
  absl::Status Spill(uint32_t cell, uint32_t at) {
    if (!CellAt(cell).is_tensor) {
      registers_[cell] = ScalarOfBits(loop_.scalar_types[cell], Word(cell));
      return absl::OkStatus();
    }
    const RegisterLoop::TensorType& type = loop_.tensor_types[cell];
    absl::StatusOr<Tensor> made = Tensor::Make(type.dtype, type.shape, alloc_);
    if (!made.ok()) return Locate(made.status(), loop_.code[at]);
    std::memcpy(made->mutable_raw_data(), &Word(cell), made->bytes());
    registers_[cell] = *std::move(made);
    return absl::OkStatus();
  }
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
  static bool CallFromNative(void* interpreter, uint32_t at) {
    Machine& self = *static_cast<Machine*>(interpreter);
    return self.FromNative(at, [&] { return self.Call(at); });
  }
  bool Call(uint32_t at) {
    const compiled::Instruction& cells = loop_.native->region().instructions[at];
    const Instruction& op = loop_.code[at];
    const Input* const inputs = loop_.inputs.data() + op.first_input;
    have_ = cells.outputs;
    for (size_t i = 0; i < cells.inputs.size() && stopped_by_.ok(); ++i)
      if (IsCell(cells.inputs[i])) stopped_by_ = SpillInput(cells, i, at);
    if (!stopped_by_.ok()) return false;
    if (op.action == Action::kRun) {
      stopped_by_ = RunKernel(op, inputs);
    } else if (op.action == Action::kMove) {
      Move(op, inputs[0]);
    } else {
      Drop(op, inputs);
    }
    for (const uint32_t input : cells.inputs) {  // they are the cell's alone again
      const compiled::Cell& cell = CellAt(input);
      if (cell.is_object() || (cell.is_tensor && !cell.is_constant)) registers_[input] = Tensor();
    }
    if (!stopped_by_.ok()) stopped_by_ = Locate(std::move(stopped_by_), op);
    return stopped_by_.ok() && AreOfTypes(cells.made) && FetchAll(cells.outputs);
  }
  // An object that native code still needs keeps its reference.
  absl::Status SpillInput(const compiled::Instruction& op, size_t i, uint32_t at) {
    const uint32_t cell = op.inputs[i];
    if (CellAt(cell).is_constant) return absl::OkStatus();  // registers have it, too
    if (!IsObject(cell)) return Spill(cell, at);
    const uint64_t object = Word(cell);
    SpillObject(cell);
    if (op.is_last[i]) return absl::OkStatus();
    Word(cell) = object;
    reinterpret_cast<const Object*>(object)->Ref();
    return absl::OkStatus();
  }

  // For instruction `at`, which handles tensors, a small one that is a cell; and back.
  static bool MakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell) {
    Machine& self = *static_cast<Machine*>(interpreter);
    return self.FromNative(at, [&] {
      self.stopped_by_ = self.Spill(cell, at);
      return self.stopped_by_.ok();
    });
  }
  static bool TakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell) {
    Machine& self = *static_cast<Machine*>(interpreter);
    return self.FromNative(at, [&] {
      self.have_.clear();
      for (const uint32_t output : self.loop_.native->region().instructions[at].outputs)
        if (self.CellAt(output).is_tensor) self.have_.push_back(output);
      if (!self.Fits(cell)) return false;
      std::memcpy(&self.Word(cell), self.registers_[cell].raw_data(),
                  self.registers_[cell].bytes());
      return true;
    });
  }

  static void DropFromNative(Tensor* tensor) { *tensor = Tensor(); }

  static bool LookFromNative(void* interpreter, uint32_t loop) {
    Machine& self = *static_cast<Machine*>(interpreter);
    return self.FromNative(self.loop_.loops[loop].start, [&] {
      self.state_.loop = loop;
      self.stopped_by_ = Look(self.ctx_);
      if (!self.stopped_by_.ok())
        self.stopped_by_ = self.LocateBetween(std::move(self.stopped_by_), loop);
      self.is_to_pause_ = --self.until_native_pause_ == 0;
      return self.stopped_by_.ok() && !self.is_to_pause_;
    });
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
    if (op.scope >= 0)  // else it is the node itself
      status.SetPayload(kWhere, absl::Cord(WhereOf(loop_, op, state_.iterations)));
    return status;
  }

  // Between two iterations of `loop`: at the first op of the next one.
  absl::Status LocateBetween(absl::Status status, uint32_t loop) const {
    for (size_t at = loop_.loops[loop].start; at < loop_.code.size(); ++at) {
      const Instruction& op = loop_.code[at];
      if (op.action == Action::kRun && op.scope >= 0 && loop_.scopes[op.scope].loop == loop)
        return Locate(std::move(status), op);
    }
    return status;
  }

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
  uint32_t called_ = 0;         // the instruction for which it has called last
  std::vector<uint32_t> have_;  // of that one, outputs that are in registers
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
  return paused == nullptr ? 0 : paused->state.pauses;
}

std::vector<std::pair<const Node*, int64_t>> PlaceOf(const RegisterLoop& loop,
                                                     const Tensor& output) {
  std::vector<std::pair<const Node*, int64_t>> place;
  const auto* const paused = output.object_as<PausedLoop>();
  if (paused == nullptr) return place;
  for (int i = static_cast<int>(paused->state.loop); i >= 0; i = loop.loops[i].around)
    if (IsLoop(loop.loops[i].node->kind()))
      place.emplace_back(loop.loops[i].node, paused->state.iterations[i]);
  absl::c_reverse(place);
  return place;
}

std::string WhereInside(const absl::Status& status) {
  const absl::optional<absl::Cord> where = status.GetPayload(kWhere);
  return where ? std::string(*where) : "";
}

}  // namespace gyre::sequential

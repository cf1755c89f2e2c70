// Running a RegisterLoop: the interpreter.
#include "absl/algorithm/container.h"
#include "absl/strings/cord.h"
#include "analysis/function_copies.h"
#include "base/attention.h"
#include "exec/sequential/machine.h"
#include "ir/where.h"

namespace gyre::sequential {
namespace {

constexpr absl::string_view kWhere = "gyre/where_in_loop";

std::string WhereOf(const RegisterLoop& loop, const Instruction& op,
                    std::vector<int64_t> iterations, const CallStack& stack) {
  std::string text = NodeText(*op.told);
  size_t num_calls = stack.calls.size(), num_values = stack.values.size();
  int shown = 0;
  for (int s = op.scope; s >= 0;) {
    if (shown++ == kMaxCallsShown) return absl::StrCat(text, kMoreCalls);
    const LoopScope& scope = loop.scopes[s];
    if (scope.structured != nullptr) {
      absl::StrAppend(&text, CallText(*scope.structured, scope.callee, *scope.function,
                                      iterations[scope.loop]));
      s = scope.parent;
      continue;
    }
    if (num_calls == 0) return text;  // there was no room for it
    const Instruction& call = loop.code[stack.calls[--num_calls]];
    absl::StrAppend(&text, CallText(*call.told, 0, *scope.function, 0));
    for (size_t i = call.saved_loops.size(); i-- > 0;)
      iterations[call.saved_loops[i]] = stack.values[--num_values].scalar<int64_t>();
    num_values -= call.saved.size();
    s = call.scope;
  }
  return text;
}

// The first op of the next iteration of the part `loop`; null if it has none.
const Instruction* FirstOf(const RegisterLoop& loop, uint32_t part) {
  for (size_t at = loop.loops[part].start; at < loop.code.size(); ++at) {
    const Instruction& op = loop.code[at];
    if (op.action == Action::kRun && op.scope >= 0 && loop.scopes[op.scope].loop == part)
      return &op;
  }
  return nullptr;
}

// Of a bool, as the op ToBool has it.
bool IsTrue(const Tensor& condition) {
  return condition.is_inline() ? condition.scalar<bool>() : condition.num_elements() > 0;
}

}  // namespace

// Not where it is called: there, it cost the loop registers.
[[gnu::noinline]] absl::Status Look(const KernelContext& ctx) {
  Attention::Attend();
  GYRE_RETURN_IF_ERROR(ctx.Poll());
  MemoryBudget* const budget = ctx.env().budget;
  return budget == nullptr ? absl::OkStatus() : budget->CheckLimit();
}

absl::Status Machine::Run() {
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
      case Action::kAgain:
        ++state_.iterations[at->loop];
        [[fallthrough]];
      case Action::kBegin: {
        const Instruction& next = *at;
        at = code + next.target;
        if ((until_look_ -= next.cost + 1) <= 0) [[unlikely]] {
          until_look_ = kLookEvery;
          if (absl::Status status = Look(ctx_); !status.ok())
            return LocateBetween(std::move(status), next.loop);
          if (--until_pause_ == 0) {
            state_.loop = next.loop;
            return Pause();
          }
          if (native_ == nullptr && loop_.native != nullptr && fits_)
            native_ = loop_.native->Looked(loop_);
        }
        if (native_ != nullptr) {
          GYRE_RETURN_IF_ERROR(RunNatively(next.loop, at));
          if (is_to_pause_) return Pause();
        }
        break;
      }
      case Action::kCall:
        GYRE_RETURN_IF_ERROR(Call(*at, inputs));
        at = code + at->target;
        break;
      case Action::kReturn:
        at = Return(*at, inputs) + 1;
        break;
    }
  }
}

uint32_t Machine::Start() {
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

absl::Status Machine::Pause() {
  ++state_.pauses;
  ctx_.set_output(0, Tensor::FromObject(DType::kVariant, MakeRef<PausedLoop>(std::move(state_))));
  return absl::OkStatus();
}

absl::Status Machine::Call(const Instruction& call, const Input* inputs) {
  CallStack& stack = state_.stack;
  const size_t num_values = call.saved.size() + call.saved_loops.size();
  if (stack.values.size() + num_values > stack.values.capacity() ||
      stack.calls.size() == stack.calls.capacity()) [[unlikely]] {
    GYRE_RETURN_IF_ERROR(
        Locate(MakeRoom(stack.calls.size() + 1, stack.values.size() + num_values), call));
  }
  TakeAll(call, inputs);
  for (const uint32_t reg : call.saved) stack.values.push_back(std::move(registers_[reg]));
  for (const uint32_t part : call.saved_loops)
    stack.values.push_back(Tensor::Scalar(state_.iterations[part]));
  stack.calls.push_back(static_cast<uint32_t>(&call - loop_.code.data()));
  const uint32_t first_arg = CalledBy(loop_, call).first_arg;
  for (uint32_t i = 0; i < call.num_inputs; ++i) registers_[first_arg + i] = std::move(inputs_[i]);
  return absl::OkStatus();
}

const Instruction* Machine::Return(const Instruction& end, const Input* inputs) {
  CallStack& stack = state_.stack;
  const Instruction& call = loop_.code[stack.calls.back()];
  stack.calls.pop_back();
  TakeAll(end, inputs);
  for (size_t i = call.saved_loops.size(); i-- > 0;) {
    state_.iterations[call.saved_loops[i]] = stack.values.back().scalar<int64_t>();
    stack.values.pop_back();
  }
  for (size_t i = call.saved.size(); i-- > 0;) {
    registers_[call.saved[i]] = std::move(stack.values.back());
    stack.values.pop_back();
  }
  for (uint32_t i = 0; i < call.num_outputs; ++i)
    registers_[call.output + i] = std::move(inputs_[i]);
  return &call;
}

absl::Status Machine::MakeRoom(size_t num_calls, size_t num_values) {
  constexpr size_t kMore = 32;
  // What a small tensor takes beside its bytes: its buffer's head and the allocator's rounding.
  constexpr size_t kBesideBytes = 192;
  num_calls = 2 * num_calls + kMore;
  num_values = 2 * num_values + kMore;
  const size_t value_bytes = sizeof(Tensor) + (loop_.saves_tensors ? kBesideBytes : 0);
  if (state_.charge == nullptr) state_.charge = std::make_unique<MemoryCharge>(ctx_.env().budget);
  if (absl::Status status = state_.charge->Set(
          static_cast<int64_t>(num_calls * sizeof(uint32_t) + num_values * value_bytes));
      !status.ok())
    return OutOfBudget(std::move(status));
  state_.stack.calls.reserve(num_calls);
  state_.stack.values.reserve(num_values);
  return absl::OkStatus();
}

absl::Status Machine::OutOfBudget(absl::Status status) const {
  const MemoryBudget* const budget = ctx_.env().budget;
  return budget == nullptr ? status : CallsDoNotFit(*budget);
}

[[gnu::noinline]] Tag Machine::TagOf(int scope) {
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

absl::Status Machine::Leave() {
  for (int i = 0; i < ctx_.num_outputs(); ++i) ctx_.set_output(i, std::move(registers_[i]));
  return absl::OkStatus();
}

absl::Status Machine::Locate(absl::Status status, const Instruction& op) const {
  if (op.scope >= 0 && !status.ok() && !status.GetPayload(kWhere))  // else it is the node itself
    status.SetPayload(kWhere, absl::Cord(WhereOf(loop_, op, state_.iterations, state_.stack)));
  return status;
}

absl::Status Machine::LocateBetween(absl::Status status, uint32_t loop) const {
  const Instruction* const first = FirstOf(loop_, loop);
  return first == nullptr ? status : Locate(std::move(status), *first);
}

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

std::string WhereInside(const RegisterLoop& loop, const Tensor& output) {
  const auto* const paused = output.object_as<PausedLoop>();
  if (paused == nullptr) return "";
  const LoopState& state = paused->state;
  const Instruction* const first = FirstOf(loop, state.loop);
  return first == nullptr ? "" : WhereOf(loop, *first, state.iterations, state.stack);
}

}  // namespace gyre::sequential

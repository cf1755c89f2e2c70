// Running a RegisterLoop: between the interpreter and native code.
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "exec/sequential/machine.h"

namespace gyre::sequential {

[[gnu::noinline]] absl::Status Machine::RunNatively(uint32_t loop, const Instruction*& at) {
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
                           .grow = &GrowFromNative,
                           .drop = &DropFromNative};
  const absl::Cleanup release = [&] {
    for (uint32_t cell = 0; cell < loop_.num_registers; ++cell)
      if (IsObject(cell)) (void)TakeObject(cell);
  };
  if (!loop_.subroutines.empty()) GYRE_RETURN_IF_ERROR(MakeNativeStack(frame));
  frame_ = &frame;
  uint32_t stop = native_->Run(loop, frame);
  if (!loop_.subroutines.empty()) GYRE_RETURN_IF_ERROR(MoveNativeStack(frame));
  if (stop != compiled::kStopped) {
    GYRE_RETURN_IF_ERROR(SpillAll(region[stop].live, stop));
  } else if (thrown_ != nullptr || !stopped_by_.ok()) {
    if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    absl::Status why = std::exchange(stopped_by_, absl::OkStatus());
    return is_between_ ? LocateBetween(std::move(why), state_.loop)
                       : Locate(std::move(why), loop_.code[called_]);
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

bool Machine::FetchAll(absl::Span<const uint32_t> registers) {
  if (!absl::c_all_of(registers, [&](uint32_t reg) { return !IsCell(reg) || Fits(reg); }))
    return false;
  for (const uint32_t reg : registers)
    if (IsCell(reg)) Fetch(reg);
  return true;
}

bool Machine::HasLent() const {
  const compiled::Region& region = loop_.native->region();
  return AreOfTypes(region.lent) && absl::c_all_of(region.made, [&](uint32_t reg) {
           return !registers_[reg].has_value() || IsOfType(reg);
         });
}

bool Machine::AreOfTypes(absl::Span<const uint32_t> registers) const {
  return absl::c_all_of(registers, [&](uint32_t reg) { return IsOfType(reg); });
}

bool Machine::IsOfType(uint32_t reg) const {
  const RegisterLoop::TensorType& type = loop_.tensor_types[reg];
  const Tensor& tensor = registers_[reg];
  return tensor.has_value() && tensor.dtype() == type.dtype && tensor.shape() == type.shape &&
         tensor.device() == nullptr;
}

bool Machine::Fits(uint32_t cell) const {
  const Tensor& reg = registers_[cell];
  if (!reg.has_value()) return false;
  if (CellAt(cell).is_tensor) return IsOfType(cell);
  if (reg.rank() != 0) return false;
  if (IsObject(cell)) return reg.dtype() == CellAt(cell).object && reg.object() != nullptr;
  return reg.dtype() == loop_.scalar_types[cell];
}

void Machine::Fetch(uint32_t cell) {
  Tensor& reg = registers_[cell];
  if (CellAt(cell).is_tensor) {
    std::memcpy(&Word(cell), reg.raw_data(), reg.bytes());
    reg = Tensor();
  } else {
    Word(cell) = IsObject(cell) ? reinterpret_cast<uint64_t>(reg.TakeObject<Object>().release())
                                : BitsOf(reg);
  }
}

absl::Status Machine::SpillAll(absl::Span<const uint32_t> live, uint32_t at,
                               absl::Span<const uint32_t> have) {
  const auto is_wanted = [&](uint32_t cell) { return !absl::c_linear_search(have, cell); };
  for (const uint32_t cell : live)
    if (IsObject(cell) && is_wanted(cell)) SpillObject(cell);
  for (const uint32_t cell : kept_)
    if (IsObject(cell)) SpillObject(cell);
  for (const uint32_t cell : live)
    if (!IsObject(cell) && is_wanted(cell)) GYRE_RETURN_IF_ERROR(Spill(cell, at));
  for (const uint32_t cell : kept_)
    if (!IsObject(cell)) GYRE_RETURN_IF_ERROR(Spill(cell, at));
  kept_ = {};
  return absl::OkStatus();
}

absl::Status Machine::MakeNativeStack(compiled::Frame& frame) {
  constexpr int64_t kFirst = 256;
  if (!native_stack_.has_value()) {
    GYRE_ASSIGN_OR_RETURN(native_stack_,
                          Tensor::Make(DType::kUint64, Shape::Vector(kFirst), alloc_));
  }
  SetNativeStack(frame, 1);
  *(frame.top - 1) = compiled::kNoCall;
  return absl::OkStatus();
}

void Machine::SetNativeStack(compiled::Frame& frame, int64_t used) {
  auto* const words = static_cast<uint64_t*>(native_stack_.mutable_raw_data());
  frame.top = words + used;
  frame.limit = words + native_stack_.num_elements();
}

bool Machine::GrowFromNative(void* interpreter, uint32_t at, uint64_t words) {
  Machine& self = *static_cast<Machine*>(interpreter);
  return self.FromNative(at, [&] {
    compiled::Frame& frame = *self.frame_;
    const auto* const old = static_cast<const uint64_t*>(self.native_stack_.raw_data());
    const int64_t used = frame.top - old;
    absl::StatusOr<Tensor> larger = Tensor::Make(
        DType::kUint64, Shape::Vector(2 * (used + static_cast<int64_t>(words))), self.alloc_);
    if (!larger.ok()) {
      self.stopped_by_ = self.OutOfBudget(larger.status());
      return false;
    }
    std::memcpy(larger->mutable_raw_data(), old, static_cast<size_t>(used) * sizeof(uint64_t));
    self.native_stack_ = *std::move(larger);
    self.SetNativeStack(frame, used);
    return true;
  });
}

absl::Status Machine::MoveNativeStack(compiled::Frame& frame) {
  const std::vector<compiled::Instruction>& region = loop_.native->region().instructions;
  std::vector<std::pair<uint32_t, uint64_t*>> calls;  // and what waits for them; the last first
  size_t num_values = state_.stack.values.size();
  for (uint64_t* top = frame.top; top[-1] != compiled::kNoCall;) {
    const auto at = static_cast<uint32_t>(top[-1]);
    top -= 1 + region[at].saved_loops.size();
    for (const uint32_t cell : region[at].saved) top -= WordsOf(cell);
    calls.emplace_back(at, top);
    num_values += region[at].saved.size() + region[at].saved_loops.size();
  }
  const absl::Cleanup drop_others = [&] {
    for (const auto& [at, words] : calls) DropSaved(region[at], words);
  };
  const size_t num_calls = state_.stack.calls.size() + calls.size();
  if (num_values > state_.stack.values.capacity() || num_calls > state_.stack.calls.capacity())
    GYRE_RETURN_IF_ERROR(Locate(MakeRoom(num_calls, num_values), loop_.code[calls[0].first]));
  absl::Status status;
  for (; !calls.empty(); calls.pop_back()) {
    auto [at, words] = calls.back();
    const compiled::Instruction& call = region[at];
    for (const uint32_t cell : call.saved) {
      Tensor& value = state_.stack.values.emplace_back();
      status.Update(Locate(TensorOf(cell, words, value), loop_.code[at]));
      words += WordsOf(cell);
    }
    for (size_t i = 0; i < call.saved_loops.size(); ++i)
      state_.stack.values.push_back(Tensor::Scalar(static_cast<int64_t>(words[i])));
    state_.stack.calls.push_back(at);
    kept_ = call.kept;  // none but of a call that stands in no subroutine, the lowest of all
  }
  return status;
}

void Machine::DropSaved(const compiled::Instruction& call, const uint64_t* words) const {
  for (const uint32_t cell : call.saved) {
    if (IsObject(cell)) (void)RefPtr<Object>::Adopt(reinterpret_cast<Object*>(*words));
    words += WordsOf(cell);
  }
}

absl::Status Machine::Spill(uint32_t cell, uint32_t at) {
  return Locate(TensorOf(cell, &Word(cell), registers_[cell]), loop_.code[at]);
}

absl::Status Machine::TensorOf(uint32_t cell, const uint64_t* words, Tensor& tensor) const {
  if (IsObject(cell)) {
    tensor = Tensor::FromObject(CellAt(cell).object,
                                RefPtr<Object>::Adopt(reinterpret_cast<Object*>(*words)));
  } else if (CellAt(cell).is_tensor) {
    const RegisterLoop::TensorType& type = loop_.tensor_types[cell];
    GYRE_ASSIGN_OR_RETURN(tensor, Tensor::Make(type.dtype, type.shape, alloc_));
    std::memcpy(tensor.mutable_raw_data(), words, tensor.bytes());
  } else {
    tensor = ScalarOfBits(loop_.scalar_types[cell], *words);
  }
  return absl::OkStatus();
}

bool Machine::CallFromNative(void* interpreter, uint32_t at) {
  Machine& self = *static_cast<Machine*>(interpreter);
  return self.FromNative(at, [&] { return self.Interpret(at); });
}

bool Machine::Interpret(uint32_t at) {
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
  return stopped_by_.ok() && AreOfTypes(cells.made) && FetchAll(cells.outputs);
}

absl::Status Machine::SpillInput(const compiled::Instruction& op, size_t i, uint32_t at) {
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

bool Machine::MakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell) {
  Machine& self = *static_cast<Machine*>(interpreter);
  return self.FromNative(at, [&] {
    self.stopped_by_ = self.Spill(cell, at);
    return self.stopped_by_.ok();
  });
}

bool Machine::TakeTensorFromNative(void* interpreter, uint32_t at, uint32_t cell) {
  Machine& self = *static_cast<Machine*>(interpreter);
  return self.FromNative(at, [&] {
    self.have_.clear();
    for (const uint32_t output : self.loop_.native->region().instructions[at].outputs)
      if (self.CellAt(output).is_tensor) self.have_.push_back(output);
    if (!self.Fits(cell)) return false;
    std::memcpy(&self.Word(cell), self.registers_[cell].raw_data(), self.registers_[cell].bytes());
    return true;
  });
}

bool Machine::LookFromNative(void* interpreter, uint32_t loop) {
  Machine& self = *static_cast<Machine*>(interpreter);
  return self.FromNative(self.loop_.loops[loop].start, [&] {
    self.state_.loop = loop;
    self.stopped_by_ = Look(self.ctx_);
    self.is_between_ = !self.stopped_by_.ok();
    self.is_to_pause_ = --self.until_native_pause_ == 0;
    return self.stopped_by_.ok() && !self.is_to_pause_;
  });
}

}  // namespace gyre::sequential

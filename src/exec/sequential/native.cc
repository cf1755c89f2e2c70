#include "exec/sequential/native.h"

#include <cstring>
#include <new>
#include <utility>

#include "base/status.h"
#include "compiled/library.h"
#include "exec/sequential/background.h"
#include "exec/sequential/liveness.h"

namespace gyre::sequential {
namespace {

std::atomic<int64_t> compiled_loops{0};

// Looks at the clock, of all runs together: some milliseconds.
constexpr int64_t kLooksUntilHot = 2048;

// A loop's instructions as those of a Region, one for one.
class RegionWriter {
 public:
  explicit RegionWriter(const RegisterLoop& loop)
      : loop_(loop), before_(LiveBefore(loop)), is_constant_(loop.num_registers, false) {}

  // False: what decides where the loop goes is no cell.
  bool Write(compiled::Region& region) {
    region.name = loop_.node->name;
    for (const DType dtype : loop_.scalar_types)
      region.cell_bytes.push_back(static_cast<uint8_t>(DTypeSize(dtype)));
    for (const auto& [reg, value] : loop_.constants) {
      is_constant_[reg] = true;
      if (IsCell(reg)) region.constants.emplace_back(reg, BitsOf(*value));
    }
    for (const LoopPart& part : loop_.loops) region.starts.push_back(part.start);
    for (size_t at = 0; at < loop_.code.size(); ++at) {
      compiled::Instruction& to = region.instructions.emplace_back();
      if (!WriteInstruction(loop_.code[at], to)) return false;
      for (uint32_t reg = 0; reg < loop_.num_registers; ++reg)
        if (before_[at][reg] && IsVariableCell(reg)) to.live.push_back(reg);
    }
    return true;
  }

 private:
  bool IsCell(uint32_t reg) const { return loop_.scalar_types[reg] != DType::kInvalid; }
  bool IsVariableCell(uint32_t reg) const { return IsCell(reg) && !is_constant_[reg]; }
  uint32_t InputOf(const Instruction& from, uint32_t i) const {
    return loop_.inputs[from.first_input + i].reg;
  }
  bool DecidesBy(const Instruction& from, DType dtype) const {
    return loop_.scalar_types[InputOf(from, 0)] == dtype;
  }
  bool AllCells(const Instruction& from) const {
    for (uint32_t i = 0; i < from.num_inputs; ++i)
      if (!IsCell(InputOf(from, i))) return false;
    return from.num_outputs == 1 && IsCell(from.output);
  }

  bool WriteInstruction(const Instruction& from, compiled::Instruction& to) {
    switch (from.action) {
      case Action::kRun:
        if (from.kernel.scalar == nullptr || !AllCells(from)) return WriteCall(from, to);
        to.code = from.kernel.scalar;
        return WriteAs(compiled::Action::kScalar, from, to);
      case Action::kMove:
        if (!AllCells(from) || !DecidesBy(from, loop_.scalar_types[from.output]))
          return WriteCall(from, to);
        return WriteAs(compiled::Action::kMove, from, to);
      case Action::kLeave:
        WriteAs(compiled::Action::kLeave, from, to);
        return DecidesBy(from, DType::kBool);
      case Action::kJump:
        to.targets = {from.target};
        return WriteAs(compiled::Action::kJump, from, to);
      case Action::kJumpUnless:
        to.targets = {from.target};
        WriteAs(compiled::Action::kJumpUnless, from, to);
        return DecidesBy(from, DType::kBool);
      case Action::kJumpByIndex:
        to.targets = from.targets;
        WriteAs(compiled::Action::kJumpByIndex, from, to);
        return DecidesBy(from, DType::kInt32);
      case Action::kDrop:
        for (uint32_t i = 0; i < from.num_inputs; ++i)
          if (!IsCell(InputOf(from, i))) to.action = compiled::Action::kCall;
        return true;
      case Action::kStart:
        to.loop = from.loop;
        return WriteAs(compiled::Action::kStart, from, to);
      case Action::kAgain:
        to.loop = from.loop;
        to.targets = {from.target};
        return WriteAs(compiled::Action::kAgain, from, to);
    }
    return false;
  }

  bool WriteAs(compiled::Action action, const Instruction& from, compiled::Instruction& to) const {
    to.action = action;
    for (uint32_t i = 0; i < from.num_inputs; ++i) to.inputs.push_back(InputOf(from, i));
    if (from.num_outputs == 1) to.outputs.push_back(from.output);
    return true;
  }

  bool WriteCall(const Instruction& from, compiled::Instruction& to) const {
    to.action = compiled::Action::kCall;
    for (uint32_t i = 0; i < from.num_inputs; ++i)
      if (IsVariableCell(InputOf(from, i))) to.inputs.push_back(InputOf(from, i));
    for (uint32_t i = 0; i < from.num_outputs; ++i)
      if (IsCell(from.output + i)) to.outputs.push_back(from.output + i);
    return true;
  }

  const RegisterLoop& loop_;
  const std::vector<Live> before_;
  Live is_constant_;
};

}  // namespace

NativeLoop::NativeLoop(std::optional<int64_t> at_once_after) : at_once_after_(at_once_after) {
  StopCompilingAtExit();
}

NativeLoop::~NativeLoop() {
  // A session may outlive what the code generator's library has.
  if (HasStoppedCompiling()) (void)owned_.release();
}

bool NativeLoop::MakeRegion(const RegisterLoop& loop) { return RegionWriter(loop).Write(region_); }

absl::Status NativeLoop::Compile() {
  GYRE_ASSIGN_OR_RETURN(const compiled::CompilerLibrary* const library, compiled::LoadCompiler());
  GYRE_ASSIGN_OR_RETURN(owned_, library->compile(region_));
  code_.store(owned_.get(), std::memory_order_release);
  compiled_loops.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

int64_t NumCompiledLoops() { return compiled_loops.load(std::memory_order_relaxed); }

const compiled::NativeCode* NativeLoop::Looked(const RegisterLoop& loop) {
  const int64_t hot = at_once_after_ ? 1 : kLooksUntilHot;
  if (looks_.load(std::memory_order_relaxed) >= hot) return code();
  if (looks_.fetch_add(1, std::memory_order_relaxed) + 1 != hot) return nullptr;
  try {  // what cannot be compiled is interpreted on
    if (!MakeRegion(loop)) return nullptr;
    if (at_once_after_) {
      Compile().IgnoreError();
    } else {
      CompileInBackground([self = shared_from_this()] { self->Compile().IgnoreError(); });
    }
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return code();
}

Tensor ScalarOfBits(DType dtype, uint64_t bits) {
  switch (DTypeSize(dtype)) {
    case 1:
      return Tensor::Scalar(static_cast<uint8_t>(bits)).Bitcast(dtype);
    case 2:
      return Tensor::Scalar(static_cast<uint16_t>(bits)).Bitcast(dtype);
    case 4:
      return Tensor::Scalar(static_cast<uint32_t>(bits)).Bitcast(dtype);
    default:
      return Tensor::Scalar(bits).Bitcast(dtype);
  }
}

uint64_t BitsOf(const Tensor& scalar) {
  uint64_t bits = 0;
  std::memcpy(&bits, scalar.raw_data(), DTypeSize(scalar.dtype()));
  return bits;
}

}  // namespace gyre::sequential

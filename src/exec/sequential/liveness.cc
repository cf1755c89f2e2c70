#include "exec/sequential/liveness.h"

#include <utility>

#include "absl/types/span.h"

namespace gyre::sequential {
namespace {

// The results: of a loop its variables, which are what an iteration hands to the next, too.
Live Variables(const RegisterLoop& loop) {
  Live live(loop.num_registers, false);
  for (int i = 0; i < loop.node->num_outputs(); ++i) live[i] = true;
  return live;
}

void Join(Live& live, const Live& other) {
  for (size_t reg = 0; reg < live.size(); ++reg) live[reg] = live[reg] || other[reg];
}

// What is read behind instruction `at`, wherever it leads, as far as `before` is known.
Live LiveAfter(const RegisterLoop& loop, size_t at, absl::Span<const Live> before) {
  const Instruction& instruction = loop.code[at];
  Live live(loop.num_registers, false);
  switch (instruction.action) {
    case Action::kLeave:
      live = Variables(loop);
      Join(live, before[at + 1]);
      return live;
    case Action::kEnd:
      return Variables(loop);
    case Action::kReturn:
      return live;
    case Action::kJump:
    case Action::kAgain:
      return before[instruction.target];
    case Action::kJumpUnless:
      live = before[at + 1];
      Join(live, before[instruction.target]);
      return live;
    case Action::kJumpByIndex:
      for (const uint32_t target : instruction.targets) Join(live, before[target]);
      return live;
    default:
      return before[at + 1];
  }
}

// Going backwards over one instruction: what it writes was not alive, what it reads was.
Live BeforeInstruction(const RegisterLoop& loop, const Instruction& instruction, Live live) {
  if (instruction.action == Action::kDrop) return live;
  for (uint32_t i = 0; i < instruction.num_outputs; ++i) live[instruction.output + i] = false;
  for (uint32_t i = 0; i < instruction.num_inputs; ++i)
    live[loop.inputs[instruction.first_input + i].reg] = true;
  return live;
}

// Where a branch begins, registers that only others read are emptied: a list that they hold would
// look shared. Each target is a kDrop.
void DropOthers(RegisterLoop& loop, absl::Span<const uint32_t> targets, const Live& live,
                absl::Span<const Live> before, const Live& is_constant) {
  for (const uint32_t target : targets) {
    Instruction& drop = loop.code[target];
    drop.first_input = static_cast<uint32_t>(loop.inputs.size());
    for (uint32_t reg = 0; reg < live.size(); ++reg)
      if (live[reg] && !before[target][reg] && !is_constant[reg])
        loop.inputs.push_back({reg, false});
    drop.num_inputs = static_cast<uint32_t>(loop.inputs.size()) - drop.first_input;
  }
}

}  // namespace

std::vector<Live> LiveBefore(const RegisterLoop& loop) {
  std::vector<Live> before(loop.code.size(), Live(loop.num_registers, false));
  for (bool changed = true; changed;) {  // once more for each loop around another
    changed = false;
    for (size_t at = loop.code.size(); at-- > 0;) {
      Live live = BeforeInstruction(loop, loop.code[at], LiveAfter(loop, at, before));
      changed |= live != before[at];
      before[at] = std::move(live);
    }
  }
  return before;
}

void MarkLastReaders(RegisterLoop& loop) {
  const std::vector<Live> before = LiveBefore(loop);
  Live is_constant(loop.num_registers, false);
  for (const auto& [reg, value] : loop.constants) is_constant[reg] = true;
  for (size_t at = 0; at < loop.code.size(); ++at) {
    const Instruction& instruction = loop.code[at];
    Live live = LiveAfter(loop, at, before);
    if (instruction.action == Action::kJumpUnless) {
      const uint32_t targets[] = {static_cast<uint32_t>(at + 1), instruction.target};
      DropOthers(loop, targets, live, before, is_constant);
    } else if (instruction.action == Action::kJumpByIndex) {
      DropOthers(loop, instruction.targets, live, before, is_constant);
    }
    if (instruction.action != Action::kRun && instruction.action != Action::kMove &&
        instruction.action != Action::kCall && instruction.action != Action::kReturn)
      continue;
    for (uint32_t i = 0; i < instruction.num_outputs; ++i) live[instruction.output + i] = false;
    for (uint32_t i = instruction.num_inputs; i-- > 0;) {  // of one register, the last input
      Input& input = loop.inputs[instruction.first_input + i];
      input.is_last = !live[input.reg] && !is_constant[input.reg];
      live[input.reg] = true;
    }
  }
}

const Subroutine& CalledBy(const RegisterLoop& loop, const Instruction& call) {
  const Subroutine* subroutine = loop.subroutines.data();
  while (subroutine->begin != call.target) ++subroutine;
  return *subroutine;
}

// Calls that stand in no subroutine need to save nothing: no call leads back there.
void SaveAtCalls(RegisterLoop& loop) {
  if (loop.subroutines.empty()) return;
  const std::vector<Live> before = LiveBefore(loop);
  Live is_constant(loop.num_registers, false);
  for (const auto& [reg, value] : loop.constants) is_constant[reg] = true;
  for (size_t at = loop.subroutines.front().begin; at < loop.code.size(); ++at) {
    Instruction& call = loop.code[at];
    if (call.action != Action::kCall) continue;
    Live live = before[at + 1];
    for (uint32_t i = 0; i < call.num_outputs; ++i) live[call.output + i] = false;
    for (uint32_t reg = 0; reg < loop.num_registers; ++reg) {
      if (!live[reg] || is_constant[reg]) continue;
      call.saved.push_back(reg);
      loop.saves_tensors |= loop.scalar_types[reg] == DType::kInvalid;
    }
    for (auto part = static_cast<int>(loop.scopes[call.scope].loop); loop.loops[part].around >= 0;
         part = loop.loops[part].around)
      call.saved_loops.push_back(static_cast<uint32_t>(part));
  }
}

}  // namespace gyre::sequential

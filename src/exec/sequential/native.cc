#include "exec/sequential/native.h"

#include <cstring>
#include <new>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/fork.h"
#include "base/status.h"
#include "compiled/library.h"
#include "compiled/symbols.h"
#include "exec/sequential/background.h"
#include "exec/sequential/liveness.h"
#include "exec/sequential/small_tensors.h"

namespace gyre::sequential {
namespace {

std::atomic<int64_t> compiled_loops{0};

// Looks at the clock, of all runs together: some milliseconds.
constexpr int64_t kLooksUntilHot = 2048;

// Of tensors that are no cells.
struct MoveTensor {
  static constexpr absl::string_view kInputs = "T", kOutputs = "T";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    *static_cast<Tensor*>(operands[1]) = std::move(*static_cast<Tensor*>(operands[0]));
    return true;
  }
};
struct CopyTensor {
  static constexpr absl::string_view kInputs = "t", kOutputs = "T";
  static bool Run(const Tensor::Alloc&, void* const* operands) noexcept {
    *static_cast<Tensor*>(operands[1]) = *static_cast<const Tensor*>(operands[0]);
    return true;
  }
};

// A loop's instructions as those of a Region, one for one.
class RegionWriter {
 public:
  explicit RegionWriter(const RegisterLoop& loop)
      : loop_(loop),
        before_(LiveBefore(loop)),
        constants_(loop.num_registers),
        objects_(loop.num_registers, DType::kInvalid) {
    for (const auto& [reg, value] : loop.constants) constants_[reg] = value;
    is_tensor_cell_ = FindTensorCells(loop, constants_);
    lent_ = FindLent(loop);
    FindReadInPlace();
    FindObjects();
  }

  // False: what decides where the loop goes is no cell, or what a subroutine is about.
  bool Write(compiled::Region& region) {
    region.name = loop_.node->name;
    for (uint32_t reg = 0; reg < loop_.num_registers; ++reg) region.cells.push_back(CellOf(reg));
    region.PlaceCells();
    for (const auto& [reg, value] : loop_.constants) {
      if (IsCell(reg))
        region.constants.emplace_back(
            reg, std::string(static_cast<const char*>(value->raw_data()), value->bytes()));
    }
    for (const LoopPart& part : loop_.loops) region.starts.push_back(part.start);
    if (compiled::WantsSymbols())
      for (const LoopPart& part : loop_.loops)
        region.names.push_back(compiled::SymbolName(NameOf(part)));
    for (size_t at = 0; at < loop_.code.size(); ++at) {
      compiled::Instruction& to = region.instructions.emplace_back();
      if (!WriteInstruction(loop_.code[at], to)) return false;
      for (uint32_t reg = 0; reg < loop_.num_registers; ++reg)
        if (before_[at][reg] && IsVariableCell(reg)) to.live.push_back(reg);
    }
    for (uint32_t reg = 0; reg < loop_.num_registers; ++reg) {
      if (!is_read_in_place_[reg]) continue;
      (lent_[reg] == Lent::kInvariant ? region.lent : region.made).push_back(reg);
    }
    for (size_t at = 0; at < region.instructions.size(); ++at) {
      compiled::Instruction& call = region.instructions[at];
      if (call.action != compiled::Action::kCallSubroutine || IsInSubroutine(at)) continue;
      for (const uint32_t cell : region.instructions[at + 1].live)
        if (!absl::c_linear_search(call.outputs, cell)) call.kept.push_back(cell);
    }
    return true;
  }

 private:
  bool IsObject(uint32_t reg) const { return objects_[reg] != DType::kInvalid; }
  bool IsScalar(uint32_t reg) const { return loop_.scalar_types[reg] != DType::kInvalid; }
  bool IsTensorCell(uint32_t reg) const { return is_tensor_cell_[reg]; }
  bool IsCell(uint32_t reg) const { return IsObject(reg) || IsScalar(reg) || IsTensorCell(reg); }
  compiled::Cell CellOf(uint32_t reg) const {
    if (IsObject(reg)) return {.element_bytes = sizeof(uint64_t), .object = objects_[reg]};
    if (IsScalar(reg))
      return {.element_bytes = static_cast<uint32_t>(DTypeSize(loop_.scalar_types[reg]))};
    if (!IsTensorCell(reg)) return {};
    const RegisterLoop::TensorType& type = loop_.tensor_types[reg];
    return {.element_bytes = static_cast<uint32_t>(DTypeSize(type.dtype)),
            .elements = static_cast<uint32_t>(type.shape.num_elements()),
            .is_tensor = true,
            .shape = &type.shape,
            .is_constant = constants_[reg] != nullptr};
  }
  bool IsVariableCell(uint32_t reg) const { return IsCell(reg) && constants_[reg] == nullptr; }

  // Objects are cells where some op that can be generated handles them, and wherever they are moved
  // from there.
  void FindObjects() {
    for (const Instruction& from : loop_.code) {
      const ObjectCode* const code = FindObjectCode(from);
      if (code == nullptr) continue;
      for (uint32_t i = 0; i < from.num_inputs; ++i)
        if (IsObjectKind(code->inputs[i])) objects_[InputOf(from, i)] = TypeOfInput(from, i);
      for (uint32_t i = 0; i < from.num_outputs; ++i)
        if (IsObjectKind(code->outputs[i]))
          objects_[from.output + i] = from.node->signature.outputs[i].dtype;
    }
    for (bool found = true; found;) {
      found = false;
      ForEachMove(loop_, [&](uint32_t from, uint32_t to) {
        DType& of_input = objects_[from];
        DType& of_output = objects_[to];
        if (of_input == of_output) return;
        if (of_input != DType::kInvalid) {
          of_output = of_input;
        } else {
          of_input = of_output;
        }
        found = true;
      });
    }
  }
  static bool IsObjectKind(char kind) { return kind == 'o' || kind == 'O'; }
  static DType TypeOfInput(const Instruction& from, uint32_t i) {
    return from.node->signature.inputs[i].dtype;
  }

  // By which code the instruction can be kObject, its objects apart; null: by none.
  const ObjectCode* FindObjectCode(const Instruction& from) const {
    if (from.action != Action::kRun) return nullptr;
    const ObjectCode* code = from.kernel.object;
    while (code != nullptr && !Fits(from, *code)) code = code->of_tensors;
    return code;
  }
  bool Fits(const Instruction& from, const ObjectCode& code) const {
    if (code.inputs.size() != from.num_inputs || code.outputs.size() != from.num_outputs)
      return false;
    for (uint32_t i = 0; i < from.num_inputs; ++i) {
      const uint32_t reg = InputOf(from, i);
      const bool is_last = loop_.inputs[from.first_input + i].is_last;
      if (code.inputs[i] == 'T' && !(is_last || IsTensorCell(reg))) return false;
      if (code.inputs[i] == '-') {
        if (!AllowsElement(constants_[reg], from, code)) return false;
      } else if (!IsOfKind(reg, code.inputs[i], TypeOfInput(from, i))) {
        return false;
      }
    }
    for (uint32_t i = 0; i < from.num_outputs; ++i)
      if (!IsOfKind(from.output + i, code.outputs[i], from.node->signature.outputs[i].dtype))
        return false;
    return true;
  }
  bool IsOfKind(uint32_t reg, char kind, DType dtype) const {
    if (kind == 'x') return loop_.scalar_types[reg] == dtype;
    if (kind == 'e') return IsTensorCell(reg) && loop_.tensor_types[reg].dtype == dtype;
    return IsObjectKind(kind) || !IsScalar(reg);
  }
  // Whether `dims` is a constant that allows the shape of the scalar or small tensor among the
  // outputs.
  bool AllowsElement(const Tensor* dims, const Instruction& from, const ObjectCode& code) const {
    const size_t element = code.outputs.find_first_of("xe");
    if (dims == nullptr || element == code.outputs.npos) return false;
    const Shape shape =
        code.outputs[element] == 'x' ? Shape() : loop_.tensor_types[from.output + element].shape;
    const auto dim = [&](int64_t i) -> int64_t {
      return dims->dtype() == DType::kInt32 ? dims->values<int32_t>()[i]
                                            : dims->values<int64_t>()[i];
    };
    if (dims->rank() == 0) return dim(0) == -1;
    if (dims->num_elements() != shape.rank()) return false;
    for (int i = 0; i < shape.rank(); ++i)
      if (dim(i) != -1 && dim(i) != shape.dim(i)) return false;
    return true;
  }

  uint32_t InputOf(const Instruction& from, uint32_t i) const {
    return loop_.inputs[from.first_input + i].reg;
  }
  bool DecidesBy(const Instruction& from, DType dtype) const {
    return loop_.scalar_types[InputOf(from, 0)] == dtype;
  }
  bool AllScalars(const Instruction& from) const {
    for (uint32_t i = 0; i < from.num_inputs; ++i)
      if (!IsScalar(InputOf(from, i))) return false;
    return from.num_outputs == 1 && IsScalar(from.output);
  }
  // Whether one can be moved to the other.
  bool AreAlike(uint32_t a, uint32_t b) const {
    if (IsTensorCell(a) || IsTensorCell(b))
      return IsTensorCell(a) && IsTensorCell(b) && HaveOneType(loop_, a, b);
    return IsCell(a) && IsCell(b) && loop_.scalar_types[a] == loop_.scalar_types[b];
  }

  static std::string NameOf(const LoopPart& part) {
    const Node& node = *part.node;
    return node.source.empty() ? node.name : absl::StrCat(node.name, " (", node.source, ")");
  }

  bool WriteInstruction(const Instruction& from, compiled::Instruction& to) {
    switch (from.action) {
      case Action::kRun:
        if (WriteTensors(from, to)) return true;
        if (const ObjectCode* const code = FindObjectCode(from); code != nullptr)
          return WriteObject(from, *code, to);
        if (from.kernel.scalar == nullptr || !AllScalars(from)) return WriteCall(from, to);
        to.code = from.kernel.scalar;
        return WriteAs(compiled::Action::kScalar, from, to);
      case Action::kMove:
        if (!IsCell(InputOf(from, 0)) && !IsCell(from.output)) return WriteTensorMove(from, to);
        if (!AreAlike(InputOf(from, 0), from.output)) return WriteCall(from, to);
        return WriteAs(compiled::Action::kMove, from, to);
      case Action::kLeave:
        WriteAs(compiled::Action::kLeave, from, to);
        return DecidesBy(from, DType::kBool);
      case Action::kEnd:
        return WriteAs(compiled::Action::kEnd, from, to);
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
        return WriteDrop(from, to);
      case Action::kStart:
        to.loop = from.loop;
        return WriteAs(compiled::Action::kStart, from, to);
      case Action::kAgain:
        to.loop = from.loop;
        to.targets = {from.target};
        return WriteAs(compiled::Action::kAgain, from, to);
      case Action::kCall:
        return WriteSubroutineCall(from, to);
      case Action::kBegin:
        to.loop = from.loop;
        return WriteAs(compiled::Action::kBegin, from, to);
      case Action::kReturn:
        return WriteAs(compiled::Action::kReturn, from, to);
    }
    return false;
  }

  bool IsInSubroutine(size_t at) const {
    return !loop_.subroutines.empty() && at >= loop_.subroutines.front().begin;
  }
  bool WriteSubroutineCall(const Instruction& from, compiled::Instruction& to) const {
    const Subroutine& subroutine = CalledBy(loop_, from);
    const Instruction& end = loop_.code[subroutine.end - 1];
    WriteAs(compiled::Action::kCallSubroutine, from, to);
    to.outputs.clear();
    to.targets = {subroutine.begin};
    to.saved_loops = from.saved_loops;
    for (uint32_t i = 0; i < from.num_inputs; ++i) {
      to.arguments.push_back(subroutine.first_arg + i);
      if (!AreAlike(InputOf(from, i), to.arguments.back())) return false;
    }
    for (uint32_t i = 0; i < from.num_outputs; ++i) {
      to.outputs.push_back(from.output + i);
      if (!AreAlike(InputOf(end, i), to.outputs.back())) return false;
    }
    to.saved = from.saved;
    return absl::c_all_of(from.saved, [&](uint32_t reg) { return IsCell(reg); });
  }

  // What computes or moves elements of small tensors that are cells; false: it does not, or not
  // all of them are.
  bool WriteTensors(const Instruction& from, compiled::Instruction& to) const {
    if (!TouchesTensorCell(from)) return false;
    const std::optional<TensorCode> code = FindTensorCode(loop_, from, constants_);
    if (!code) return false;
    const bool may_be_lent = code->instruction.action == compiled::Action::kDense ||
                             code->instruction.action == compiled::Action::kElement;
    for (const uint32_t i : code->inputs) {
      const uint32_t reg = InputOf(from, i);
      if (!IsScalar(reg) && !IsTensorCell(reg) && !(may_be_lent && lent_[reg] != Lent::kNo))
        return false;
    }
    for (uint32_t i = 0; i < from.num_outputs; ++i)
      if (const uint32_t reg = from.output + i; !IsScalar(reg) && !IsTensorCell(reg)) return false;
    to = code->instruction;
    for (const uint32_t i : code->inputs) {
      AddInput(from, i, to);
      const Input& input = loop_.inputs[from.first_input + i];
      if (!IsCell(input.reg) && lent_[input.reg] == Lent::kMade) to.is_last.back() = input.is_last;
    }
    for (uint32_t i = 0; i < from.num_outputs; ++i) to.outputs.push_back(from.output + i);
    return true;
  }
  // Tensors that are no cells, and whose elements an instruction of the region reads. What they are
  // is looked at where the interpreter makes them, so what objects' code makes is not among them.
  void FindReadInPlace() {
    for (const Instruction& from : loop_.code) {
      const ObjectCode* const code = FindObjectCode(from);
      for (uint32_t i = 0; code != nullptr && i < from.num_outputs; ++i)
        if (code->outputs[i] == 'T') lent_[from.output + i] = Lent::kNo;
    }
    is_read_in_place_.resize(loop_.num_registers);
    for (const Instruction& from : loop_.code) {
      compiled::Instruction to;
      if (from.action != Action::kRun || !WriteTensors(from, to)) continue;
      for (const uint32_t reg : to.inputs)
        if (!IsScalar(reg) && !IsTensorCell(reg)) is_read_in_place_[reg] = true;
    }
  }
  bool TouchesTensorCell(const Instruction& from) const {
    for (uint32_t i = 0; i < from.num_inputs; ++i)
      if (IsTensorCell(InputOf(from, i))) return true;
    for (uint32_t i = 0; i < from.num_outputs; ++i)
      if (IsTensorCell(from.output + i)) return true;
    return false;
  }

  bool WriteAs(compiled::Action action, const Instruction& from, compiled::Instruction& to) const {
    to.action = action;
    for (uint32_t i = 0; i < from.num_inputs; ++i) AddInput(from, i, to);
    if (from.num_outputs == 1) to.outputs.push_back(from.output);
    return true;
  }
  void AddInput(const Instruction& from, uint32_t i, compiled::Instruction& to) const {
    const Input& input = loop_.inputs[from.first_input + i];
    to.inputs.push_back(input.reg);
    to.is_last.push_back(input.is_last && IsObject(input.reg));
  }

  bool WriteObject(const Instruction& from, const ObjectCode& code,
                   compiled::Instruction& to) const {
    to.action = compiled::Action::kObject;
    to.object = &code;
    for (uint32_t i = 0; i < from.num_inputs; ++i) {
      if (code.inputs[i] == '-') continue;
      AddInput(from, i, to);
      const uint32_t reg = InputOf(from, i);
      if (code.inputs[i] == 't' && constants_[reg] == nullptr)  // of a cell, one is made for it
        to.is_last.back() = IsTensorCell(reg) || loop_.inputs[from.first_input + i].is_last;
    }
    for (uint32_t i = 0; i < from.num_outputs; ++i) to.outputs.push_back(from.output + i);
    return true;
  }

  bool WriteTensorMove(const Instruction& from, compiled::Instruction& to) const {
    const bool is_last = loop_.inputs[from.first_input].is_last;
    to.object = is_last ? &kObjectCode<MoveTensor> : &kObjectCode<CopyTensor>;
    return WriteAs(compiled::Action::kObject, from, to);
  }

  // The interpreter drops what is in its own registers.
  bool WriteDrop(const Instruction& from, compiled::Instruction& to) const {
    for (uint32_t i = 0; i < from.num_inputs; ++i) {
      const uint32_t reg = InputOf(from, i);
      if (!IsCell(reg)) to.action = compiled::Action::kCall;
      if (!IsObject(reg)) continue;
      if (to.action == compiled::Action::kSkip) to.action = compiled::Action::kRelease;
      to.inputs.push_back(reg);
      to.is_last.push_back(true);
    }
    return true;
  }

  bool WriteCall(const Instruction& from, compiled::Instruction& to) const {
    to.action = compiled::Action::kCall;
    for (uint32_t i = 0; i < from.num_inputs; ++i)
      if (IsVariableCell(InputOf(from, i))) AddInput(from, i, to);
    for (uint32_t i = 0; i < from.num_outputs; ++i) {
      const uint32_t reg = from.output + i;
      if (IsCell(reg)) to.outputs.push_back(reg);
      if (is_read_in_place_[reg]) to.made.push_back(reg);
    }
    return true;
  }

  const RegisterLoop& loop_;
  const std::vector<Live> before_;
  std::vector<const Tensor*> constants_;  // by register; null: it changes
  std::vector<DType> objects_;  // by register: of which type its objects are, if they are cells
  std::vector<bool> is_tensor_cell_;    // by register
  std::vector<Lent> lent_;              // by register
  std::vector<bool> is_read_in_place_;  // by register
};

}  // namespace

NativeLoop::NativeLoop(std::optional<int64_t> at_once_after) : at_once_after_(at_once_after) {}

NativeLoop::~NativeLoop() {
  const NoFork no_fork;
  owned_ = nullptr;
}

bool NativeLoop::MakeRegion(const RegisterLoop& loop) { return RegionWriter(loop).Write(region_); }

absl::Status NativeLoop::Compile(bool may_contract) {
  const NoFork no_fork;
  region_.may_contract = may_contract;
  GYRE_ASSIGN_OR_RETURN(owned_, compiled::CompileRegion(region_));
  code_.store(owned_.get(), std::memory_order_release);
  compiled_loops.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

const compiled::NativeCode* NativeLoop::Looked(const RegisterLoop& loop) {
  const int64_t hot = at_once_after_ ? 1 : kLooksUntilHot;
  if (looks_.load(std::memory_order_relaxed) >= hot) return code();
  if (looks_.fetch_add(1, std::memory_order_relaxed) + 1 != hot) return nullptr;
  try {  // what cannot be compiled is interpreted on
    if (!MakeRegion(loop)) return nullptr;
    if (at_once_after_) {
      Compile().IgnoreError();
    } else {
      CompileInBackground([self = shared_from_this()] {
        try {
          self->Compile().IgnoreError();
        } catch (const std::bad_alloc&) {
        }
      });
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

int64_t gyre::NumCompiledLoops() {
  return sequential::compiled_loops.load(std::memory_order_relaxed);
}

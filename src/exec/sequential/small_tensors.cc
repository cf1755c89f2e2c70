#include "exec/sequential/small_tensors.h"

#include <numeric>
#include <utility>

#include "exec/sequential/moved_elements.h"
#include "ops/math/broadcast.h"
#include "ops/scalar_code.h"

namespace gyre::sequential {
namespace {

// Elements of a tensor that may be a cell.
constexpr int64_t kMaxElements = 256;
// Of all cells of a loop together: they are on the stack.
constexpr size_t kMaxBytes = 64 << 10;

// What code is generated for, scalars included; nullopt: that is not known.
std::optional<Shape> ShapeOf(const RegisterLoop& loop, uint32_t reg) {
  if (loop.scalar_types[reg] != DType::kInvalid) return Shape();
  const RegisterLoop::TensorType& type = loop.tensor_types[reg];
  return type.dtype == DType::kInvalid ? std::nullopt : std::optional<Shape>(type.shape);
}
bool IsTensor(const RegisterLoop& loop, uint32_t reg) {
  return loop.tensor_types[reg].dtype != DType::kInvalid &&
         loop.scalar_types[reg] == DType::kInvalid &&
         loop.tensor_types[reg].shape.num_elements() <= kMaxElements;
}
uint32_t InputOf(const RegisterLoop& loop, const Instruction& from, uint32_t i) {
  return loop.inputs[from.first_input + i].reg;
}
std::vector<uint32_t> AllInputs(const Instruction& from) {
  std::vector<uint32_t> all(from.num_inputs);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Where the shapes of all operands are known; scalars are left to kScalar.
std::optional<TensorCode> FindElementwise(const RegisterLoop& loop, const Instruction& from) {
  const ScalarCode* const code = from.kernel.scalar;
  if (code == nullptr || from.num_inputs == 0 || from.num_inputs > BroadcastPlan::kMaxOperands ||
      from.num_outputs != 1 || !IsTensor(loop, from.output))
    return std::nullopt;
  const Shape& result = loop.tensor_types[from.output].shape;
  std::vector<Shape> shapes;
  for (uint32_t i = 0; i < from.num_inputs; ++i) {
    std::optional<Shape> shape = ShapeOf(loop, InputOf(loop, from, i));
    if (!shape || (!code->broadcasts && *shape != result)) return std::nullopt;
    shapes.push_back(*std::move(shape));
  }
  std::vector<const Shape*> operands;
  for (const Shape& shape : shapes) operands.push_back(&shape);
  const absl::StatusOr<BroadcastPlan> plan = PlanBroadcast(operands);
  if (!plan.ok() || plan->shape != result) return std::nullopt;
  TensorCode made{.instruction = {.action = compiled::Action::kElementwise, .code = code},
                  .inputs = AllInputs(from)};
  for (const BroadcastPlan::Dim& dim : plan->dims)
    made.instruction.dims.push_back({dim.size, dim.strides});
  return made;
}

// Operands may be of any size, the results are small.
std::optional<TensorCode> FindDense(const RegisterLoop& loop, const Instruction& from,
                                    absl::Span<const Tensor* const> constants) {
  if (from.kernel.dense == nullptr) return std::nullopt;
  std::vector<DenseOperand> inputs;
  for (uint32_t i = 0; i < from.num_inputs; ++i) {
    const uint32_t reg = InputOf(loop, from, i);
    inputs.push_back({constants[reg], ShapeOf(loop, reg)});
  }
  std::vector<Shape> outputs;
  for (uint32_t i = 0; i < from.num_outputs; ++i) {
    const uint32_t reg = from.output + i;
    if (!IsTensor(loop, reg) && loop.scalar_types[reg] == DType::kInvalid) return std::nullopt;
    outputs.push_back(*ShapeOf(loop, reg));
  }
  std::optional<DenseCode> code = from.kernel.dense(*from.node, inputs, outputs);
  if (!code) return std::nullopt;
  TensorCode made{.instruction = {.action = compiled::Action::kDense}};
  made.inputs.resize(code->num_operands);
  std::iota(made.inputs.begin(), made.inputs.end(), 0);
  made.instruction.dense = *std::move(code);
  return made;
}

// Of one part of a tensor; what is read may be of any size.
std::optional<TensorCode> FindElementAccess(const RegisterLoop& loop, const Instruction& from) {
  const bool sets = from.node->role() == Role::kSetElement;
  if (!sets && from.node->role() != Role::kElement) return std::nullopt;
  const uint32_t tensor = InputOf(loop, from, 0);
  if (!IsTensor(loop, tensor) && (sets || loop.tensor_types[tensor].dtype == DType::kInvalid))
    return std::nullopt;
  const Shape& shape = loop.tensor_types[tensor].shape;
  const uint32_t first = sets ? 2 : 1;
  if (static_cast<int>(from.num_inputs - first) > shape.rank()) return std::nullopt;
  TensorCode made{
      .instruction = {.action = sets ? compiled::Action::kSetElement : compiled::Action::kElement,
                      .counts_from_end = !sets && NodeAttr<bool>(*from.node, "from_end")},
      .inputs = AllInputs(from)};
  Dims rest(shape.dims().begin(), shape.dims().end());
  for (uint32_t i = first; i < from.num_inputs; ++i) {
    if (loop.scalar_types[InputOf(loop, from, i)] != from.node->signature.inputs[i].dtype)
      return std::nullopt;
    made.instruction.sizes.push_back(rest.front());
    rest.erase(rest.begin());
  }
  const uint32_t part = sets ? InputOf(loop, from, 1) : from.output;
  if (ShapeOf(loop, part) != Shape::Trusted(std::move(rest))) return std::nullopt;
  return made;
}

std::optional<TensorCode> FindTake(const RegisterLoop& loop, const Instruction& from,
                                   absl::Span<const Tensor* const> constants) {
  const OpTraits& traits = from.node->op->traits;
  if (!traits.is_view && !traits.moves_elements) return std::nullopt;
  std::vector<Shape> outputs;
  for (uint32_t i = 0; i < from.num_outputs; ++i) {
    std::optional<Shape> shape = ShapeOf(loop, from.output + i);
    if (!shape) return std::nullopt;
    outputs.push_back(*std::move(shape));
  }
  TensorCode made{.instruction = {.action = compiled::Action::kTake}};
  if (traits.is_view) {
    const std::optional<Shape> shape = ShapeOf(loop, InputOf(loop, from, 0));
    if (!shape || outputs.size() != 1 || shape->num_elements() != outputs[0].num_elements() ||
        from.node->signature.inputs[0].dtype != from.node->signature.outputs[0].dtype)
      return std::nullopt;
    made.inputs = {0};
    made.instruction.stretches = {{.size = static_cast<uint32_t>(shape->num_elements())}};
    return made;
  }
  std::vector<DenseOperand> inputs(from.num_inputs);
  for (uint32_t i = 0; i < from.num_inputs; ++i) {
    const uint32_t reg = InputOf(loop, from, i);
    inputs[i] = {constants[reg], ShapeOf(loop, reg)};
  }
  auto stretches = FindMovedElements(*from.node, inputs, outputs);
  if (!stretches) return std::nullopt;
  // Operands are those of which elements are taken.
  std::vector<uint32_t> operand_of(from.num_inputs, compiled::kZeros);
  for (compiled::Stretch& stretch : *stretches) {
    if (stretch.input == compiled::kZeros) continue;
    uint32_t& operand = operand_of[stretch.input];
    if (operand == compiled::kZeros) {
      operand = static_cast<uint32_t>(made.inputs.size());
      made.inputs.push_back(stretch.input);
    }
    stretch.input = operand;
  }
  made.instruction.stretches = *std::move(stretches);
  return made;
}

// Registers that are to be cells together, by the number of one of them.
class Groups {
 public:
  explicit Groups(uint32_t n) : above_(n) { std::iota(above_.begin(), above_.end(), 0); }
  uint32_t Find(uint32_t reg) {
    while (above_[reg] != reg) reg = above_[reg] = above_[above_[reg]];
    return reg;
  }
  void Join(uint32_t a, uint32_t b) { above_[Find(a)] = Find(b); }

 private:
  std::vector<uint32_t> above_;
};

}  // namespace

std::optional<TensorCode> FindTensorCode(const RegisterLoop& loop, const Instruction& from,
                                         absl::Span<const Tensor* const> constants) {
  if (from.action != Action::kRun) return std::nullopt;
  if (auto code = FindElementwise(loop, from)) return code;
  if (auto code = FindDense(loop, from, constants)) return code;
  if (auto code = FindElementAccess(loop, from)) return code;
  return FindTake(loop, from, constants);
}

std::vector<bool> FindTensorCells(const RegisterLoop& loop,
                                  absl::Span<const Tensor* const> constants) {
  Groups groups(loop.num_registers);
  std::vector<uint32_t> computed;  // of which or into which something is
  const auto join = [&](uint32_t a, uint32_t b) {
    if (IsTensor(loop, a) && IsTensor(loop, b) && constants[a] == nullptr &&
        constants[b] == nullptr)
      groups.Join(a, b);
  };
  ForEachMove(loop, [&](uint32_t from, uint32_t to) {
    if (HaveOneType(loop, from, to)) join(from, to);
  });
  for (const Instruction& from : loop.code) {
    const std::optional<TensorCode> code = FindTensorCode(loop, from, constants);
    if (!code) continue;
    if (code->instruction.action == compiled::Action::kElementwise ||
        code->instruction.action == compiled::Action::kDense) {
      for (uint32_t i = 0; i < from.num_outputs; ++i) computed.push_back(from.output + i);
      for (const uint32_t i : code->inputs)
        if (IsTensor(loop, InputOf(loop, from, i))) computed.push_back(InputOf(loop, from, i));
    } else if (code->instruction.action != compiled::Action::kElement) {
      for (const uint32_t i : code->inputs)
        for (uint32_t k = 0; k < from.num_outputs; ++k)
          join(InputOf(loop, from, i), from.output + k);
    }
  }
  std::vector<bool> is_wanted(loop.num_registers, false), is_cell(loop.num_registers, false);
  for (const uint32_t reg : computed) is_wanted[groups.Find(reg)] = true;
  size_t bytes = 0;
  for (uint32_t reg = 0; reg < loop.num_registers; ++reg) {
    if (!IsTensor(loop, reg) || !is_wanted[groups.Find(reg)]) continue;
    const RegisterLoop::TensorType& type = loop.tensor_types[reg];
    bytes += static_cast<size_t>(type.shape.num_elements()) * DTypeSize(type.dtype);
    is_cell[reg] = bytes <= kMaxBytes;
  }
  return is_cell;
}

std::vector<Lent> FindLent(const RegisterLoop& loop) {
  std::vector<Lent> lent(loop.num_registers, Lent::kNo);
  for (uint32_t reg = 0; reg < loop.num_registers; ++reg)
    if (loop.tensor_types[reg].dtype != DType::kInvalid) lent[reg] = Lent::kInvariant;
  for (const Instruction& from : loop.code) {
    for (uint32_t i = 0; i < from.num_outputs; ++i) {
      Lent& output = lent[from.output + i];
      if (output != Lent::kNo) output = from.action == Action::kRun ? Lent::kMade : Lent::kNo;
    }
  }
  for (const Subroutine& subroutine : loop.subroutines)
    for (uint32_t i = 0; i < subroutine.function->args.size(); ++i)
      lent[subroutine.first_arg + i] = Lent::kNo;
  for (const Instruction& from : loop.code) {
    if (from.action != Action::kRun && from.action != Action::kMove &&
        from.action != Action::kCall && from.action != Action::kReturn)
      continue;
    for (uint32_t i = 0; i < from.num_inputs; ++i) {
      Lent& input = lent[InputOf(loop, from, i)];
      if (loop.inputs[from.first_input + i].is_last && input == Lent::kInvariant) input = Lent::kNo;
    }
  }
  return lent;
}

bool HaveOneType(const RegisterLoop& loop, uint32_t a, uint32_t b) {
  return IsTensor(loop, a) && IsTensor(loop, b) &&
         loop.tensor_types[a].dtype == loop.tensor_types[b].dtype &&
         loop.tensor_types[a].shape == loop.tensor_types[b].shape;
}

}  // namespace gyre::sequential

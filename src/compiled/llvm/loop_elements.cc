// Scalars, and elements of small tensors.
#include "compiled/llvm/loop_generator.h"

namespace gyre::compiled {
namespace {

const void* ElementsOf(const Tensor* tensor) { return tensor->raw_data(); }

}  // namespace

void LoopGenerator::WriteScalar(uint32_t at, const Instruction& op) {
  if (!stands_alone_ && op.code->one != nullptr) {
    const bool is_double = region_.cells[op.outputs[0]].element_bytes == sizeof(double);
    llvm::Type* const type = is_double ? b_.getDoubleTy() : b_.getFloatTy();
    llvm::CallInst* const result =
        b_.CreateCall(llvm::FunctionType::get(type, {type}, false), Address(op.code->one()),
                      {b_.CreateLoad(type, slots_[op.inputs[0]])});
    result->setDoesNotThrow();
    b_.CreateStore(result, slots_[op.outputs[0]]);
    b_.CreateBr(BlockAt(at + 1));
    return;
  }
  auto* const list_type = llvm::ArrayType::get(ptr_, op.inputs.size());
  llvm::AllocaInst* const list = Slot(list_type);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    llvm::Type* const type = TypeOf(op.inputs[i]);
    llvm::AllocaInst* const operand = Slot(type);
    operand->setAlignment(llvm::Align(8));
    b_.CreateStore(b_.CreateLoad(type, slots_[op.inputs[i]]), operand);
    b_.CreateStore(operand, b_.CreateConstInBoundsGEP2_64(list_type, list, 0, i));
  }
  const uint32_t output = op.outputs[0];
  llvm::AllocaInst* const result = Slot(TypeOf(output));
  result->setAlignment(llvm::Align(8));
  const llvm::FunctionCallee callee = scalars_.Import(*op.code, module_, addresses_);
  llvm::Value* const has_result = b_.CreateCall(callee, {list, result});
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  Branch(has_result, then, StopBefore(at, at));
  b_.SetInsertPoint(then);
  b_.CreateStore(b_.CreateLoad(TypeOf(output), result), slots_[output]);
  b_.CreateBr(BlockAt(at + 1));
}

void LoopGenerator::WriteElementwise(uint32_t at, const Instruction& op) {
  const uint32_t output = op.outputs[0];
  if (!stands_alone_ && op.code->row != nullptr && op.dims.size() == 1 &&
      op.dims[0].strides[0] == 1) {
    auto* const type =
        llvm::FunctionType::get(b_.getVoidTy(), {ptr_, ptr_, b_.getInt64Ty()}, false);
    b_.CreateCall(type, Address(reinterpret_cast<const void*>(op.code->row())),
                  {slots_[op.inputs[0]], slots_[output], b_.getInt64(op.dims[0].size)})
        ->setDoesNotThrow();
  } else {
    const std::vector<llvm::Value*> none(op.inputs.size() + 1, b_.getInt64(0));
    WriteElements(op, 0, none, StopBefore(at, at));
  }
  b_.CreateBr(BlockAt(at + 1));
}

void LoopGenerator::WriteElements(const Instruction& op, size_t d,
                                  const std::vector<llvm::Value*>& places, llvm::BasicBlock* stop) {
  if (d == op.dims.size()) return WriteElementAt(op, places, stop);
  int64_t inner = 1;  // the output's stride
  for (size_t k = d + 1; k < op.dims.size(); ++k) inner *= op.dims[k].size;
  Repeat(op.dims[d].size, [&](llvm::Value* i) {
    std::vector<llvm::Value*> at = places;
    for (size_t k = 0; k < at.size(); ++k) {
      const int64_t stride = k < op.inputs.size() ? op.dims[d].strides[k] : inner;
      at[k] = b_.CreateAdd(at[k], b_.CreateMul(i, b_.getInt64(stride)));
    }
    WriteElements(op, d + 1, at, stop);
  });
}

void LoopGenerator::WriteElementAt(const Instruction& op, const std::vector<llvm::Value*>& places,
                                   llvm::BasicBlock* stop) {
  auto* const list_type = llvm::ArrayType::get(ptr_, op.inputs.size());
  llvm::AllocaInst* const list = Slot(list_type);
  for (size_t i = 0; i < op.inputs.size(); ++i)
    b_.CreateStore(ElementOf(op.inputs[i], places[i]),
                   b_.CreateConstInBoundsGEP2_64(list_type, list, 0, i));
  llvm::Value* const has_result = b_.CreateCall(scalars_.Import(*op.code, module_, addresses_),
                                                {list, ElementOf(op.outputs[0], places.back())});
  GoOnIf(has_result, stop);
}

void LoopGenerator::WriteDense(uint32_t at, const Instruction& op) {
  const auto list_of = [&](const std::vector<llvm::Value*>& addresses) {
    auto* const type = llvm::ArrayType::get(ptr_, addresses.size());
    llvm::AllocaInst* const list = Slot(type);
    for (size_t i = 0; i < addresses.size(); ++i)
      b_.CreateStore(addresses[i], b_.CreateConstInBoundsGEP2_64(type, list, 0, i));
    return list;
  };
  const auto scalar_slot = [&](uint32_t cell) {
    llvm::AllocaInst* const slot = Slot(TypeOf(cell));
    slot->setAlignment(llvm::Align(8));
    return slot;
  };
  std::vector<llvm::Value*> inputs, outputs;
  for (const uint32_t reg : op.inputs) {
    if (!IsCell(reg)) {
      inputs.push_back(LentElements(reg));
    } else if (IsTensorCell(reg)) {
      inputs.push_back(slots_[reg]);
    } else {
      inputs.push_back(scalar_slot(reg));
      b_.CreateStore(b_.CreateLoad(TypeOf(reg), slots_[reg]), inputs.back());
    }
  }
  for (const uint32_t cell : op.outputs)
    outputs.push_back(IsTensorCell(cell) ? slots_[cell] : scalar_slot(cell));
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {ptr_, ptr_, ptr_}, false);
  b_.CreateCall(type, Address(reinterpret_cast<const void*>(op.dense->function)),
                {Address(op.dense->plan.get()), list_of(inputs), list_of(outputs)})
      ->setDoesNotThrow();
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const uint32_t cell = op.outputs[i];
    if (!IsTensorCell(cell)) b_.CreateStore(b_.CreateLoad(TypeOf(cell), outputs[i]), slots_[cell]);
  }
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.is_last[i] && !IsCell(op.inputs[i])) Drop(TensorAt(op.inputs[i]));
  b_.CreateBr(BlockAt(at + 1));
}

void LoopGenerator::WriteTake(uint32_t at, const Instruction& op) {
  for (const Stretch& part : op.stretches) {
    const uint32_t to = op.outputs[part.output];
    const uint32_t bytes = region_.cells[to].element_bytes;
    if (part.input == kZeros) {
      b_.CreateMemSet(ElementOf(to, part.to), b_.getInt8(0), part.size * bytes, llvm::Align(bytes));
    } else {
      Copy(ElementOf(to, part.to), ElementOf(op.inputs[part.input], part.from), part.size * bytes,
           llvm::Align(bytes));
    }
  }
  b_.CreateBr(BlockAt(at + 1));
}

llvm::Value* LoopGenerator::LentElements(uint32_t reg) {
  auto* const type = llvm::FunctionType::get(ptr_, {ptr_}, false);
  return b_.CreateCall(type, Address(reinterpret_cast<const void*>(&ElementsOf)), {TensorAt(reg)});
}

llvm::Value* LoopGenerator::PlaceOf(uint32_t at, const Instruction& op, size_t first,
                                    const Cell& part) {
  llvm::Value* place = b_.getInt64(0);
  for (size_t k = 0; k < op.sizes.size(); ++k) {
    const uint32_t index_cell = op.inputs[first + k];
    llvm::Value* index =
        b_.CreateSExt(b_.CreateLoad(TypeOf(index_cell), slots_[index_cell]), b_.getInt64Ty());
    llvm::Value* const size = b_.getInt64(op.sizes[k]);
    if (op.counts_from_end) {
      index = b_.CreateSelect(b_.CreateICmpSLT(index, b_.getInt64(0)), b_.CreateAdd(index, size),
                              index);
    }
    GoOnIf(b_.CreateICmpULT(index, size), StopBefore(at, at));
    place = b_.CreateAdd(b_.CreateMul(place, size), index);
  }
  return b_.CreateMul(place, b_.getInt64(part.elements));
}

void LoopGenerator::WriteElement(uint32_t at, const Instruction& op) {
  const Cell& output = region_.cells[op.outputs[0]];
  llvm::Value* const place = PlaceOf(at, op, 1, output);
  llvm::Value* const elements =
      IsCell(op.inputs[0]) ? slots_[op.inputs[0]] : LentElements(op.inputs[0]);
  llvm::Value* const part = b_.CreateGEP(b_.getInt8Ty(), elements,
                                         b_.CreateMul(place, b_.getInt64(output.element_bytes)));
  Copy(slots_[op.outputs[0]], part, output.bytes(), llvm::Align(output.element_bytes));
  if (op.is_last[0] && !IsCell(op.inputs[0])) Drop(TensorAt(op.inputs[0]));
  b_.CreateBr(BlockAt(at + 1));
}

void LoopGenerator::WriteSetElement(uint32_t at, const Instruction& op) {
  const uint32_t output = op.outputs[0];
  const Cell& value = region_.cells[op.inputs[1]];
  Copy(slots_[output], slots_[op.inputs[0]], region_.cells[output].bytes(),
       llvm::Align(kTensorAlign));
  Copy(ElementOf(output, PlaceOf(at, op, 2, value)), slots_[op.inputs[1]], value.bytes(),
       llvm::Align(value.element_bytes));
  b_.CreateBr(BlockAt(at + 1));
}

}  // namespace gyre::compiled

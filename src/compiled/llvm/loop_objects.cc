// Lists and variables: references that cells own.
#include "compiled/llvm/loop_generator.h"

namespace gyre::compiled {
namespace {

void Retain(const Object* object) { object->Ref(); }
void Release(const Object* object) { object->Unref(); }

}  // namespace

void LoopGenerator::RetainObject(llvm::Value* object) { CallWith(&Retain, object); }
void LoopGenerator::ReleaseObject(llvm::Value* object) { CallWith(&Release, object); }

void LoopGenerator::CallWith(void (*function)(const Object*), llvm::Value* object) {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getInt64Ty()}, false);
  b_.CreateCall(type, Address(reinterpret_cast<const void*>(function)), {object})
      ->setDoesNotThrow();
}

void LoopGenerator::ReleaseCell(uint32_t cell) {
  llvm::Value* const object = LoadObject(cell);
  auto* const held = llvm::BasicBlock::Create(context_, "held", function_);
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  Branch(b_.CreateICmpEQ(object, b_.getInt64(0)), then, held);
  b_.SetInsertPoint(held);
  Close(cell);
  ReleaseObject(object);
  b_.CreateBr(then);
  b_.SetInsertPoint(then);
  Empty(cell);
}

void LoopGenerator::WriteObject(uint32_t at, const Instruction& op) {
  ReleaseOutputs(op);
  if (IsAppend(op) && CanBeOpen(op)) {
    WriteAppend(at, op);
  } else {
    for (const uint32_t cell : op.inputs) Close(cell);
    WriteQuick(at, op);
  }
  auto* const list_type = llvm::ArrayType::get(ptr_, op.inputs.size() + op.outputs.size());
  llvm::AllocaInst* const list = Slot(list_type);
  const auto set_operand = [&](size_t number, llvm::Value* address) {
    b_.CreateStore(address, b_.CreateConstInBoundsGEP2_64(list_type, list, 0, number));
  };
  const auto operand = [&](size_t number, llvm::Type* type) {
    llvm::AllocaInst* const slot = Slot(type);
    slot->setAlignment(llvm::Align(8));
    set_operand(number, slot);
    return slot;
  };
  const auto small_tensor = [&](size_t number, uint32_t cell) {
    auto* const type = llvm::StructType::get(context_, {ptr_, ptr_});
    llvm::AllocaInst* const slot = Slot(type);
    b_.CreateStore(Address(region_.cells[cell].shape), b_.CreateStructGEP(type, slot, 0));
    b_.CreateStore(slots_[cell], b_.CreateStructGEP(type, slot, 1));
    set_operand(number, slot);
  };
  std::vector<llvm::Value*> retained;
  const std::vector<char> kinds = OperandKinds(op);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (kinds[i] == 'e') {
      small_tensor(i, op.inputs[i]);
      continue;
    }
    if (IsTensor(kinds[i])) {
      if (IsVariableTensorCell(op.inputs[i])) MakeTensor(at, op.inputs[i]);
      set_operand(i, TensorAt(op.inputs[i]));
      continue;
    }
    llvm::Type* const type = TypeOf(op.inputs[i]);
    llvm::Value* const value = b_.CreateLoad(type, slots_[op.inputs[i]]);
    b_.CreateStore(value, operand(i, type));
    if (kinds[i] != 'O' || op.is_last[i]) continue;
    RetainObject(value);  // the function takes one, the cell keeps the other
    retained.push_back(value);
  }
  std::vector<std::pair<uint32_t, llvm::AllocaInst*>> results;  // of cells
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const uint32_t output = op.outputs[i];
    const size_t number = op.inputs.size() + i;
    if (op.object->outputs[i] == 'e') {
      small_tensor(number, output);
    } else if (IsTensor(op.object->outputs[i])) {
      set_operand(number, TensorAt(output));
    } else {
      results.emplace_back(output, operand(number, TypeOf(output)));
    }
  }
  auto* const type = llvm::FunctionType::get(b_.getInt1Ty(), {ptr_, ptr_}, false);
  llvm::CallInst* const done =
      b_.CreateCall(type, Address(reinterpret_cast<const void*>(op.object->function)),
                    {b_.CreateLoad(ptr_, Member(offsetof(Frame, alloc))), list});
  done->addRetAttr(llvm::Attribute::ZExt);
  done->setDoesNotThrow();
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  auto* const undone = llvm::BasicBlock::Create(context_, "undone", function_);
  Branch(done, then, undone);
  b_.SetInsertPoint(undone);
  for (llvm::Value* const value : retained) ReleaseObject(value);
  CallInterpreter(at, op);
  b_.SetInsertPoint(then);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.is_last[i]) continue;
    if (kinds[i] == 't') {
      Drop(TensorAt(op.inputs[i]));
      continue;
    }
    if (kinds[i] == 'o') ReleaseObject(LoadObject(op.inputs[i]));
    Empty(op.inputs[i]);
  }
  for (const auto& [cell, result] : results)
    b_.CreateStore(b_.CreateLoad(TypeOf(cell), result), slots_[cell]);
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (op.object->outputs[i] == 'T' && IsTensorCell(op.outputs[i]))
      TakeTensor(at, op, op.outputs[i]);
  b_.CreateBr(BlockAt(at + 1));
}

void LoopGenerator::WriteQuick(uint32_t at, const Instruction& op) {
  if (op.object->quick == nullptr) return;
  const std::vector<char> kinds = OperandKinds(op);
  for (size_t i = 0; i < kinds.size(); ++i)
    if (kinds[i] == 'O' && !op.is_last[i]) return;  // somebody else has it, too
  llvm::FunctionCallee quick = scalars_.Import(*op.object->quick, module_);
  if (quick.getCallee() == nullptr) return;
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  };
  llvm::BasicBlock *const is_such = block("is_such"), *const done = block("quick"),
                          *const otherwise = block("otherwise");
  llvm::Value* const object = b_.CreateIntToPtr(LoadObject(op.inputs[0]), ptr_);
  Branch(b_.CreateICmpEQ(b_.CreateLoad(ptr_, object), Address(op.object->quick->first_word())),
         is_such, otherwise);
  b_.SetInsertPoint(is_such);
  auto* const list_type = llvm::ArrayType::get(ptr_, op.inputs.size() + op.outputs.size());
  llvm::AllocaInst* const list = Slot(list_type);
  const auto operand = [&](size_t number, uint32_t cell) {
    llvm::AllocaInst* const slot = Slot(TypeOf(cell));
    slot->setAlignment(llvm::Align(8));
    b_.CreateStore(slot, b_.CreateConstInBoundsGEP2_64(list_type, list, 0, number));
    return slot;
  };
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const uint32_t cell = op.inputs[i];
    b_.CreateStore(b_.CreateLoad(TypeOf(cell), slots_[cell]), operand(i, cell));
  }
  std::vector<llvm::AllocaInst*> results;
  for (size_t i = 0; i < op.outputs.size(); ++i)
    results.push_back(operand(op.inputs.size() + i, op.outputs[i]));
  Branch(b_.CreateCall(quick, {list}), done, otherwise);
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.is_last[i]) continue;
    if (kinds[i] == 'o') ReleaseObject(LoadObject(op.inputs[i]));
    Empty(op.inputs[i]);
  }
  for (size_t i = 0; i < results.size(); ++i)
    b_.CreateStore(b_.CreateLoad(TypeOf(op.outputs[i]), results[i]), slots_[op.outputs[i]]);
  b_.CreateBr(BlockAt(at + 1));
  b_.SetInsertPoint(otherwise);
}

void LoopGenerator::MakeTensor(uint32_t at, uint32_t cell) {
  StoreCell(cell);
  StoreState();
  GoOnIf(CallBack(offsetof(Frame, make_tensor), {b_.getInt32(at), b_.getInt32(cell)}),
         StopBefore(at, kStopped));
}

void LoopGenerator::TakeTensor(uint32_t at, const Instruction& op, uint32_t cell) {
  llvm::Value* const fits =
      CallBack(offsetof(Frame, take_tensor), {b_.getInt32(at), b_.getInt32(cell)});
  GoOnIf(fits, StopBehind(at, [&](uint32_t live) {
           return IsTensorCell(live) && llvm::is_contained(op.outputs, live);
         }));
  LoadCell(cell);
}

void LoopGenerator::Drop(llvm::Value* tensor) {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {ptr_}, false);
  b_.CreateCall(type, b_.CreateLoad(ptr_, Member(offsetof(Frame, drop))), {tensor})
      ->setDoesNotThrow();
}

std::vector<char> LoopGenerator::OperandKinds(const Instruction& op) {
  std::vector<char> kinds;
  for (const char kind : op.object->inputs)
    if (kind != '-') kinds.push_back(kind);
  return kinds;
}

void LoopGenerator::WriteMove(uint32_t at, const Instruction& op) {
  const uint32_t from = op.inputs[0], to = op.outputs[0];
  ReleaseOutputs(op);
  const AppendCode* const append = open_ends_[from].append;
  if (op.is_last[0] && append != nullptr && append == open_ends_[to].append) {
    MoveEnd(from, to);
  } else {
    Close(from);
  }
  if (IsTensorCell(from)) {
    Copy(slots_[to], slots_[from], region_.cells[to].bytes(), llvm::Align(kTensorAlign));
  } else {
    b_.CreateStore(b_.CreateLoad(TypeOf(from), slots_[from]), slots_[to]);
  }
  if (IsObject(from)) {
    if (op.is_last[0]) {
      Empty(from);
    } else {
      RetainObject(LoadObject(from));
    }
  }
  b_.CreateBr(BlockAt(at + 1));
}

}  // namespace gyre::compiled

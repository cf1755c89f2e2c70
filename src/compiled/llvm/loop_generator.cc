#include "compiled/llvm/loop_generator.h"

#include <cstring>

#include "compiled/llvm/generator.h"

namespace gyre::compiled {
namespace {

// Work between two looks at the clock: some 50 µs to a few ms.
constexpr int32_t kLookEvery = 1 << 16;

}  // namespace

uint32_t FirstSubroutine(const Region& region) {
  uint32_t at = 0;
  while (at < region.instructions.size() && region.instructions[at].action != Action::kBegin) ++at;
  return at;
}

llvm::Function* LoopGenerator::Generate() {
  ptr_ = llvm::PointerType::getUnqual(context_);
  auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr_}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                     EntryName(region_, loop_), module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  frame_ = function_->getArg(0);
  entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
  blocks_.resize(region_.instructions.size());
  uint32_t end = start_;
  do {
    MakeBlock(end);
  } while (!IsEndOf(end++, loop_));
  for (uint32_t at = first_subroutine_; at < blocks_.size(); ++at) MakeBlock(at);
  WriteEntry();
  for (uint32_t at = 0; at < blocks_.size(); ++at) {
    if (!IsInside(at)) continue;
    b_.SetInsertPoint(blocks_[at]);
    Write(at, region_.instructions[at]);
  }
  return function_;
}

bool LoopGenerator::IsEndOf(uint32_t at, uint32_t loop) const {
  const Instruction& op = region_.instructions[at];
  return op.action == Action::kEnd || op.action == Action::kReturn ||
         (op.action == Action::kAgain && op.loop == loop);
}

llvm::Value* LoopGenerator::TensorSlot(uint32_t cell) {
  llvm::AllocaInst* const slot =
      Slot(llvm::ArrayType::get(TypeOf(cell), region_.cells[cell].elements));
  slot->setAlignment(llvm::Align(kTensorAlign));
  return slot;
}

llvm::Value* LoopGenerator::ConstantTensor(llvm::StringRef bytes) {
  auto* const value = llvm::ConstantDataArray::getString(context_, bytes, /*AddNull=*/false);
  auto* const table = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                               llvm::GlobalValue::PrivateLinkage, value);
  table->setAlignment(llvm::Align(kTensorAlign));
  return table;
}

void LoopGenerator::WriteEntry() {
  b_.SetInsertPoint(entry_);
  cells_ = b_.CreateLoad(ptr_, Member(offsetof(Frame, cells)));
  slots_.resize(region_.cells.size());
  for (const auto& [cell, bytes] : region_.constants) {
    if (IsTensorCell(cell)) {
      slots_[cell] = ConstantTensor(bytes);
      continue;
    }
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    slots_[cell] = Slot(TypeOf(cell));
    b_.CreateStore(llvm::ConstantInt::get(TypeOf(cell), value), slots_[cell]);
  }
  for (uint32_t cell = 0; cell < slots_.size(); ++cell) {
    if (!IsCell(cell) || slots_[cell] != nullptr) continue;
    slots_[cell] = IsTensorCell(cell) ? TensorSlot(cell) : Slot(TypeOf(cell));
    if (IsObject(cell)) LoadCell(cell);
  }
  FindOpenEnds();
  for (const uint32_t cell : region_.instructions[start_].live)
    if (!IsObject(cell)) LoadCell(cell);
  tensors_ = b_.CreateLoad(ptr_, Member(offsetof(Frame, tensors)));
  iterations_in_frame_ = b_.CreateLoad(ptr_, Member(offsetof(Frame, iterations)));
  for (uint32_t loop = 0; loop < region_.starts.size(); ++loop) {
    iterations_.push_back(Slot(b_.getInt64Ty()));
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), IterationInFrame(loop)), iterations_[loop]);
  }
  until_look_ = Slot(b_.getInt32Ty());
  b_.CreateStore(b_.getInt32(kLookEvery), until_look_);
  if (HasSubroutines()) {
    top_ = Slot(ptr_);
    limit_ = Slot(ptr_);
    LoadStack();
  }
  b_.CreateBr(blocks_[start_]);
}

void LoopGenerator::StoreState() {
  for (uint32_t loop = 0; loop < iterations_.size(); ++loop)
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), iterations_[loop]), IterationInFrame(loop));
  if (HasSubroutines()) b_.CreateStore(b_.CreateLoad(ptr_, top_), Member(offsetof(Frame, top)));
}

void LoopGenerator::StoreObjects() {
  for (uint32_t cell = 0; cell < slots_.size(); ++cell) {
    if (!IsObject(cell)) continue;
    Close(cell);
    StoreCell(cell);
  }
}

void LoopGenerator::LoadCell(uint32_t cell) {
  if (IsTensorCell(cell)) {
    Copy(slots_[cell], CellInFrame(cell), region_.cells[cell].bytes(), llvm::Align(8));
    return;
  }
  b_.CreateStore(b_.CreateLoad(TypeOf(cell), CellInFrame(cell)), slots_[cell]);
}

void LoopGenerator::StoreCell(uint32_t cell) {
  if (IsTensorCell(cell)) {
    Copy(CellInFrame(cell), slots_[cell], region_.cells[cell].bytes(), llvm::Align(8));
    return;
  }
  llvm::Value* const value = b_.CreateLoad(TypeOf(cell), slots_[cell]);
  b_.CreateStore(b_.CreateZExt(value, b_.getInt64Ty()), CellInFrame(cell));
}

void LoopGenerator::GoOnIf(llvm::Value* condition, llvm::BasicBlock* otherwise) {
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  Branch(condition, then, otherwise);
  b_.SetInsertPoint(then);
}

void LoopGenerator::WriteStop(const std::vector<uint32_t>& live, uint32_t result) {
  for (const uint32_t cell : live)
    if (!IsObject(cell)) StoreCell(cell);
  StoreObjects();
  StoreState();
  b_.CreateRet(b_.getInt32(result));
}

llvm::BasicBlock* LoopGenerator::StopBefore(uint32_t at, uint32_t result) {
  llvm::BasicBlock*& block = stops_[{at, result}];
  if (block != nullptr) return block;
  block = llvm::BasicBlock::Create(context_, "stop", function_);
  const llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(block);
  WriteStop(region_.instructions[at].live, result);
  return block;
}

void LoopGenerator::Write(uint32_t at, const Instruction& op) {
  switch (op.action) {
    case Action::kScalar:
      return WriteScalar(at, op);
    case Action::kElementwise:
      return WriteElementwise(at, op);
    case Action::kDense:
      return WriteDense(at, op);
    case Action::kTake:
      return WriteTake(at, op);
    case Action::kElement:
      return WriteElement(at, op);
    case Action::kSetElement:
      return WriteSetElement(at, op);
    case Action::kObject:
      return WriteObject(at, op);
    case Action::kMove:
      return WriteMove(at, op);
    case Action::kLeave:
      return Branch(IsTrue(op.inputs[0]), BlockAt(at + 1), StopBefore(at, at));
    case Action::kEnd:
      b_.CreateBr(StopBefore(at, at));
      return;
    case Action::kJump:
      b_.CreateBr(BlockAt(op.targets[0]));
      return;
    case Action::kJumpUnless:
      b_.CreateCondBr(IsTrue(op.inputs[0]), BlockAt(at + 1), BlockAt(op.targets[0]));
      return;
    case Action::kJumpByIndex:
      return WriteJumpByIndex(op);
    case Action::kCall:
      ReleaseOutputs(op);
      return CallInterpreter(at, op);
    case Action::kRelease:
      for (const uint32_t cell : op.inputs) ReleaseCell(cell);
      b_.CreateBr(BlockAt(at + 1));
      return;
    case Action::kSkip:
      b_.CreateBr(BlockAt(at + 1));
      return;
    case Action::kStart:
      return WriteStart(at, op.loop);
    case Action::kAgain:
      return WriteAgain(at, op);
    case Action::kCallSubroutine:
      return WriteSubroutineCall(at, op);
    case Action::kBegin:
      return WriteBegin(at, op);
    case Action::kReturn:
      return WriteReturn(at, op);
  }
}

void LoopGenerator::WriteJumpByIndex(const Instruction& op) {
  llvm::Value* const index = b_.CreateLoad(b_.getInt32Ty(), slots_[op.inputs[0]]);
  llvm::SwitchInst* const jump = b_.CreateSwitch(index, BlockAt(op.targets.back()));
  for (uint32_t i = 0; i + 1 < op.targets.size(); ++i)
    jump->addCase(b_.getInt32(i), BlockAt(op.targets[i]));
}

llvm::Value* LoopGenerator::CallBack(size_t member, std::initializer_list<llvm::Value*> more) {
  std::vector<llvm::Value*> args = {b_.CreateLoad(ptr_, Member(offsetof(Frame, interpreter)))};
  args.insert(args.end(), more);
  std::vector<llvm::Type*> types;
  for (const llvm::Value* arg : args) types.push_back(arg->getType());
  auto* const type = llvm::FunctionType::get(b_.getInt1Ty(), types, false);
  llvm::CallInst* const call = b_.CreateCall(type, b_.CreateLoad(ptr_, Member(member)), args);
  call->addRetAttr(llvm::Attribute::ZExt);
  call->setDoesNotThrow();
  return call;
}

void LoopGenerator::CallInterpreter(uint32_t at, const Instruction& op) {
  for (const uint32_t reg : op.inputs)
    if (IsCell(reg) && !IsObject(reg) && !region_.cells[reg].is_constant) StoreCell(reg);
  StoreObjects();
  StoreState();
  llvm::Value* const goes_on = CallBack(offsetof(Frame, call), {b_.getInt32(at)});
  // It takes what it reads, and gives what it makes, whether it goes on or not.
  for (const std::vector<uint32_t>* cells : {&op.inputs, &op.outputs})
    for (const uint32_t reg : *cells)
      if (IsCell(reg) && IsObject(reg)) LoadCell(reg);
  GoOnIf(goes_on,
         StopBehind(at, [&](uint32_t cell) { return llvm::is_contained(op.outputs, cell); }));
  for (const uint32_t reg : op.outputs)
    if (IsCell(reg) && !IsObject(reg)) LoadCell(reg);
  b_.CreateBr(BlockAt(at + 1));
}

int32_t LoopGenerator::Work(uint32_t begin, uint32_t end) const {
  constexpr int32_t kCallWork = 8;
  int32_t work = 0;
  for (uint32_t at = begin; at <= end; ++at) {
    const Instruction& op = region_.instructions[at];
    work += op.action == Action::kCall ? kCallWork : 1;
    if (op.action == Action::kDense) work += static_cast<int32_t>(op.dense->work / 2);
    if (op.action == Action::kElementwise)
      work += static_cast<int32_t>(region_.cells[op.outputs[0]].elements / 2);
  }
  return work;
}

void LoopGenerator::WriteAgain(uint32_t at, const Instruction& op) {
  llvm::AllocaInst* const count = iterations_[op.loop];
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), count), b_.getInt64(1)), count);
  const uint32_t start = op.targets[0];
  WriteLook(start, op.loop, Work(start, at));
}

void LoopGenerator::WriteLook(uint32_t start, uint32_t loop, int32_t work) {
  if (stands_alone_) {
    b_.CreateBr(BlockAt(start));
    return;
  }
  llvm::Value* const left =
      b_.CreateSub(b_.CreateLoad(b_.getInt32Ty(), until_look_), b_.getInt32(work));
  b_.CreateStore(left, until_look_);
  auto* const look = llvm::BasicBlock::Create(context_, "look", function_);
  Branch(b_.CreateICmpSGT(left, b_.getInt32(0)), BlockAt(start), look);
  b_.SetInsertPoint(look);
  b_.CreateStore(b_.getInt32(kLookEvery), until_look_);
  StoreState();
  llvm::Value* const goes_on = CallBack(offsetof(Frame, look), {b_.getInt32(loop)});
  Branch(goes_on, BlockAt(start), StopBefore(start, kStopped));
}

}  // namespace gyre::compiled

// Subroutines: calls of recursive functions, and the stack on which their callers wait.
#include "compiled/llvm/loop_generator.h"

namespace gyre::compiled {

int64_t LoopGenerator::WordsOf(const Instruction& call) const {
  int64_t words = 1 + static_cast<int64_t>(call.saved_loops.size());
  for (const uint32_t cell : call.saved) words += NumWords(region_.cells[cell]);
  return words;
}

LoopGenerator::Moving LoopGenerator::Take(const std::vector<uint32_t>& from,
                                          const std::vector<bool>& is_last,
                                          const std::vector<uint32_t>& to) {
  Moving moving;
  for (size_t i = 0; i < from.size(); ++i) {
    const uint32_t cell = from[i];
    if (IsTensorCell(cell)) {
      llvm::Value* at = slots_[cell];
      if (llvm::is_contained(to, cell) && to[i] != cell) {  // something else is written there
        at = TensorSlot(cell);
        Copy(at, slots_[cell], region_.cells[cell].bytes(), llvm::Align(kTensorAlign));
      }
      moving.push_back(at);
      continue;
    }
    Close(cell);
    moving.push_back(b_.CreateLoad(TypeOf(cell), slots_[cell]));
    if (!IsObject(cell)) continue;
    is_last[i] ? Empty(cell) : RetainObject(moving.back());
  }
  return moving;
}

void LoopGenerator::Put(const Moving& moving, const std::vector<uint32_t>& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const uint32_t cell = to[i];
    if (IsTensorCell(cell)) {
      if (moving[i] != slots_[cell])
        Copy(slots_[cell], moving[i], region_.cells[cell].bytes(), llvm::Align(kTensorAlign));
      continue;
    }
    if (IsObject(cell)) ReleaseCell(cell);
    b_.CreateStore(moving[i], slots_[cell]);
  }
}

void LoopGenerator::WriteSubroutineCall(uint32_t at, const Instruction& op) {
  const int64_t words = WordsOf(op);
  auto* const grow = llvm::BasicBlock::Create(context_, "grow", function_);
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  llvm::Value* const end = WordAt(b_.CreateLoad(ptr_, top_), words);
  Branch(b_.CreateICmpULE(end, b_.CreateLoad(ptr_, limit_)), then, grow);
  b_.SetInsertPoint(grow);
  StoreState();
  GoOnIf(CallBack(offsetof(Frame, grow), {b_.getInt32(at), b_.getInt64(words)}),
         StopBefore(at, kStopped));
  LoadStack();
  b_.CreateBr(then);
  b_.SetInsertPoint(then);

  const Moving arguments = Take(op.inputs, op.is_last, op.arguments);
  for (const uint32_t cell : op.kept)
    if (!IsObject(cell)) StoreCell(cell);
  llvm::Value* const top = b_.CreateLoad(ptr_, top_);
  int64_t word = 0;
  for (const uint32_t cell : op.saved) {
    if (IsTensorCell(cell)) {
      Copy(WordAt(top, word), slots_[cell], region_.cells[cell].bytes(), llvm::Align(8));
    } else {
      Close(cell);
      llvm::Value* const value = b_.CreateLoad(TypeOf(cell), slots_[cell]);
      b_.CreateStore(b_.CreateZExt(value, b_.getInt64Ty()), WordAt(top, word));
      if (IsObject(cell)) Empty(cell);
    }
    word += NumWords(region_.cells[cell]);
  }
  for (const uint32_t loop : op.saved_loops)
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), iterations_[loop]), WordAt(top, word++));
  b_.CreateStore(b_.getInt64(at), WordAt(top, word));
  b_.CreateStore(WordAt(top, words), top_);
  Put(arguments, op.arguments);
  b_.CreateBr(BlockAt(op.targets[0]));
}

void LoopGenerator::WriteBegin(uint32_t at, const Instruction& op) {
  uint32_t end = at;
  while (region_.instructions[end].action != Action::kReturn) ++end;
  WriteLook(at + 1, op.loop, Work(at, end));
}

void LoopGenerator::WriteReturn(uint32_t at, const Instruction& op) {
  uint32_t begin = at;
  while (region_.instructions[begin].action != Action::kBegin) --begin;
  llvm::Value* const top = b_.CreateLoad(ptr_, top_);
  llvm::Value* const number = b_.CreateLoad(b_.getInt64Ty(), WordAt(top, -1));
  llvm::SwitchInst* const way = b_.CreateSwitch(number, StopBefore(at, at));
  for (uint32_t caller = 0; caller < blocks_.size(); ++caller) {
    const Instruction& call = region_.instructions[caller];
    if (!IsInside(caller) || call.action != Action::kCallSubroutine || call.targets[0] != begin)
      continue;
    auto* const back = llvm::BasicBlock::Create(context_, "back", function_);
    way->addCase(b_.getInt64(caller), back);
    b_.SetInsertPoint(back);
    Put(Take(op.inputs, op.is_last, call.outputs), call.outputs);
    llvm::Value* const saved = WordAt(top, -WordsOf(call));
    int64_t word = 0;
    for (const uint32_t cell : call.saved) {
      if (IsTensorCell(cell)) {
        Copy(slots_[cell], WordAt(saved, word), region_.cells[cell].bytes(), llvm::Align(8));
      } else {
        if (IsObject(cell)) ReleaseCell(cell);
        llvm::Value* const value = b_.CreateLoad(b_.getInt64Ty(), WordAt(saved, word));
        b_.CreateStore(b_.CreateTrunc(value, TypeOf(cell)), slots_[cell]);
      }
      word += NumWords(region_.cells[cell]);
    }
    for (const uint32_t loop : call.saved_loops)
      b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), WordAt(saved, word++)), iterations_[loop]);
    for (const uint32_t cell : call.kept)
      if (!IsObject(cell)) LoadCell(cell);
    b_.CreateStore(saved, top_);
    b_.CreateBr(BlockAt(caller + 1));
  }
}

}  // namespace gyre::compiled

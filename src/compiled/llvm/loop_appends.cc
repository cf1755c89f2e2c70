// Lists that grow in a loop: while nothing else is done to one there, where its next element goes
// stays in registers, and an append is a store.
#include <set>

#include "compiled/llvm/loop_generator.h"

namespace gyre::compiled {

bool LoopGenerator::IsAppend(const Instruction& op) {
  return op.action == Action::kObject && op.object->append != nullptr && op.is_last[0];
}

bool LoopGenerator::CanBeOpen(const Instruction& append) const {
  const OpenEnd &from = open_ends_[append.inputs[0]], &to = open_ends_[append.outputs[0]];
  return from.append == append.object->append && to.append == append.object->append;
}

std::vector<uint32_t> LoopGenerator::CellsOfAppend(uint32_t at) const {
  // The innermost loop around it.
  uint32_t begin = 0, end = 0;
  for (uint32_t again = at; again < blocks_.size() && end == 0; ++again) {
    const Instruction& op = region_.instructions[again];
    if (IsInside(again) && op.action == Action::kAgain && op.targets[0] <= at) {
      begin = op.targets[0];
      end = again;
    }
  }
  if (end == 0) return {};
  const auto moves = [](const Instruction& op) {
    return op.action == Action::kMove && op.is_last[0];
  };
  const auto appends = [&,
                        append = region_.instructions[at].object->append](const Instruction& op) {
    return IsAppend(op) && op.object->append == append;
  };
  std::set<uint32_t> cells = {region_.instructions[at].inputs[0]};
  for (size_t size = 0; size != cells.size();) {
    size = cells.size();
    for (uint32_t i = begin; i <= end; ++i) {
      const Instruction& op = region_.instructions[i];
      if (!moves(op) && !appends(op)) continue;
      const uint32_t from = op.inputs[0], to = op.outputs[0];
      if (cells.count(from) > 0 || cells.count(to) > 0) cells.insert({from, to});
    }
  }
  for (uint32_t i = begin; i <= end; ++i) {
    const Instruction& op = region_.instructions[i];
    if (op.action == Action::kCall || op.action == Action::kCallSubroutine) return {};
    if (moves(op) || appends(op) || op.action == Action::kRelease) continue;
    for (const std::vector<uint32_t>* seen : {&op.inputs, &op.outputs})
      for (const uint32_t cell : *seen)
        if (cells.count(cell) > 0) return {};
  }
  return {cells.begin(), cells.end()};
}

void LoopGenerator::FindOpenEnds() {
  open_ends_.resize(region_.cells.size());
  for (uint32_t at = 0; at < blocks_.size(); ++at) {
    if (!IsInside(at) || !IsAppend(region_.instructions[at])) continue;
    const AppendCode* const append = region_.instructions[at].object->append;
    for (const uint32_t cell : CellsOfAppend(at)) {
      if (open_ends_[cell].append != nullptr) continue;
      open_ends_[cell] = {append, Slot(ptr_), Slot(ptr_)};
      SetClosed(cell);
    }
  }
}

void LoopGenerator::MoveEnd(uint32_t from, uint32_t to) {
  SetEnd(to, b_.CreateLoad(ptr_, open_ends_[from].next), b_.CreateLoad(ptr_, open_ends_[from].end));
  SetClosed(from);
}

void LoopGenerator::Close(uint32_t cell) {
  const OpenEnd& open = open_ends_[cell];
  if (open.append == nullptr) return;
  llvm::Value* const next = b_.CreateLoad(ptr_, open.next);
  auto* const close = llvm::BasicBlock::Create(context_, "close", function_);
  auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
  Branch(b_.CreateIsNull(next), then, close);
  b_.SetInsertPoint(close);
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getInt64Ty(), ptr_}, false);
  b_.CreateCall(type, Address(reinterpret_cast<const void*>(open.append->close)),
                {LoadObject(cell), next})
      ->setDoesNotThrow();
  SetClosed(cell);
  b_.CreateBr(then);
  b_.SetInsertPoint(then);
}

void LoopGenerator::WriteAppend(uint32_t at, const Instruction& op) {
  const uint32_t from = op.inputs[0], to = op.outputs[0], element = op.inputs[1];
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  };
  llvm::BasicBlock *const append = block("append"), *const is_full = block("is_full"),
                          *const opened = block("opened"), *const must_grow = block("must_grow");
  Branch(b_.CreateICmpNE(b_.CreateLoad(ptr_, open_ends_[from].next),
                         b_.CreateLoad(ptr_, open_ends_[from].end)),
         append, is_full);

  b_.SetInsertPoint(append);
  llvm::Value* const next = b_.CreateLoad(ptr_, open_ends_[from].next);
  b_.CreateStore(b_.CreateLoad(TypeOf(element), slots_[element]), next);
  b_.CreateStore(
      b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), next, region_.cells[element].element_bytes),
      open_ends_[from].next);
  MoveEnd(from, to);
  b_.CreateStore(LoadObject(from), slots_[to]);
  Empty(from);
  b_.CreateBr(BlockAt(at + 1));

  b_.SetInsertPoint(is_full);
  Close(from);
  llvm::AllocaInst *const first = Slot(ptr_), *const end = Slot(ptr_);
  auto* const type = llvm::FunctionType::get(b_.getInt1Ty(), {b_.getInt64Ty(), ptr_, ptr_}, false);
  llvm::CallInst* const is_open =
      b_.CreateCall(type, Address(reinterpret_cast<const void*>(op.object->append->open)),
                    {LoadObject(from), first, end});
  is_open->addRetAttr(llvm::Attribute::ZExt);
  is_open->setDoesNotThrow();
  Branch(is_open, opened, must_grow);
  b_.SetInsertPoint(opened);
  SetEnd(from, b_.CreateLoad(ptr_, first), b_.CreateLoad(ptr_, end));
  b_.CreateBr(append);
  b_.SetInsertPoint(must_grow);
}

}  // namespace gyre::compiled

// LoopGenerator: from one loop of a Region to one LLVM function. loop_generator.cc is what all of
// it stands on, loop_elements.cc scalars and small tensors, loop_objects.cc lists and variables,
// loop_appends.cc lists that grow in a loop, loop_subroutines.cc recursion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiled/llvm/scalar_bitcode.h"
#include "compiled/region.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace gyre::compiled {

inline constexpr uint64_t kTensorAlign = 32;

// The number of the instruction with which subroutines begin; that of all, if there are none.
uint32_t FirstSubroutine(const Region& region);

// The function of one loop of a region. Cells are stack slots, of which LLVM turns scalars and
// references into registers:
//
//   entry:        slots of the cells that the loop's first instruction reads are loaded from the
//                 frame
//   at3, at4, …:  one block for each of the loop's instructions
//   stop blocks:  store what is live there into the frame and return the instruction's number
//
// Subroutines are blocks of the same function: what a call saves goes to the words that the frame
// lends, with the call's number on top, by which a kReturn chooses where it goes on.
//
// References to objects stay in the frame, so that stops have nothing to do with them. A slot owns
// the object that it holds, or is 0: whoever reads the last of it takes it out, and what still lies
// where something else is to go has been left by a branch that nobody read, and is released.
//
// A list to which a loop does nothing but append (an AppendCode) is open while it does: where the
// next element goes is a register. It is closed, and so has its elements, before anything else sees
// it.
class LoopGenerator {
 public:
  // `stands_alone`: outside of this process, where nobody looks at clocks, and nothing has an
  // address. Requirement: the region has only what needs none (see MakeObject).
  LoopGenerator(const Region& region, uint32_t loop, const ScalarBitcode& scalars,
                llvm::Module& module, Addresses& addresses, bool stands_alone = false)
      : region_(region),
        loop_(loop),
        stands_alone_(stands_alone),
        start_(region.starts[loop]),
        first_subroutine_(FirstSubroutine(region)),
        scalars_(scalars),
        context_(module.getContext()),
        module_(module),
        addresses_(addresses),
        b_(context_) {}

  llvm::Function* Generate();

 private:
  void MakeBlock(uint32_t at) {
    if (blocks_[at] == nullptr)
      blocks_[at] = llvm::BasicBlock::Create(context_, "at" + std::to_string(at), function_);
  }
  bool IsEndOf(uint32_t at, uint32_t loop) const;
  bool IsInside(uint32_t at) const { return at < blocks_.size() && blocks_[at] != nullptr; }
  bool IsCell(uint32_t reg) const { return region_.cells[reg].element_bytes != 0; }
  bool IsTensorCell(uint32_t reg) const { return region_.cells[reg].is_tensor; }
  // What goes on at an instruction; behind the loop it is left to the interpreter.
  llvm::BasicBlock* BlockAt(uint32_t at) { return IsInside(at) ? blocks_[at] : StopBefore(at, at); }

  // Of one element.
  llvm::Type* TypeOf(uint32_t cell) { return b_.getIntNTy(8 * region_.cells[cell].element_bytes); }

  llvm::AllocaInst* Slot(llvm::Type* type) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type);
  }
  llvm::Value* TensorSlot(uint32_t cell);
  llvm::Value* ConstantTensor(llvm::StringRef bytes);

  llvm::Value* Member(size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_, offset);
  }
  llvm::Value* CellInFrame(uint32_t cell) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), cells_, region_.cells[cell].word);
  }

  void WriteEntry();

  llvm::Value* IterationInFrame(uint32_t loop) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), iterations_in_frame_, loop);
  }
  // What the interpreter may look at while native code waits or when it has stopped.
  void StoreState();

  void Copy(llvm::Value* to, llvm::Value* from, uint32_t bytes, llvm::Align align) {
    b_.CreateMemCpy(to, align, from, align, bytes);
  }
  // A cell takes the low bytes of its words in the frame.
  void LoadCell(uint32_t cell);
  void StoreCell(uint32_t cell);
  // Whoever is called back or goes on finds all objects in the frame, whatever is live.
  void StoreObjects();

  // Objects.

  bool IsObject(uint32_t cell) const { return region_.cells[cell].is_object(); }
  llvm::Value* Address(const void* of) { return addresses_.Symbol(of, module_); }
  void RetainObject(llvm::Value* object);
  void ReleaseObject(llvm::Value* object);
  void CallWith(void (*function)(const Object*), llvm::Value* object);
  llvm::Value* LoadObject(uint32_t cell) { return b_.CreateLoad(b_.getInt64Ty(), slots_[cell]); }
  void Empty(uint32_t cell) { b_.CreateStore(b_.getInt64(0), slots_[cell]); }
  // Gives back what the cell still holds.
  void ReleaseCell(uint32_t cell);
  void ReleaseOutputs(const Instruction& op) {
    for (const uint32_t cell : op.outputs)
      if (IsObject(cell)) ReleaseCell(cell);
  }

  void WriteObject(uint32_t at, const Instruction& op);
  // What `quick` can do is done, inlined. All else goes on behind this. Operands and results travel
  // through slots of their own, which become registers.
  void WriteQuick(uint32_t at, const Instruction& op);
  // For functions that handle tensors: of a cell one, and back.
  bool IsVariableTensorCell(uint32_t reg) const {
    return IsTensorCell(reg) && !llvm::isa<llvm::GlobalVariable>(slots_[reg]);
  }

  // Objects that are appended to.

  // Where an open object's next element goes, and where the room for it ends; null: it is closed.
  struct OpenEnd {
    const AppendCode* append = nullptr;  // null: the cell's object is never open
    llvm::AllocaInst* next = nullptr;
    llvm::AllocaInst* end = nullptr;
  };
  static bool IsAppend(const Instruction& op);
  // The cells that hold what append `at` appends to, around its innermost loop; none, if anything
  // else is done to it there, or the interpreter is called.
  std::vector<uint32_t> CellsOfAppend(uint32_t at) const;
  void FindOpenEnds();
  bool CanBeOpen(const Instruction& append) const;
  void SetEnd(uint32_t cell, llvm::Value* next, llvm::Value* end) {
    b_.CreateStore(next, open_ends_[cell].next);
    b_.CreateStore(end, open_ends_[cell].end);
  }
  void SetClosed(uint32_t cell) {
    SetEnd(cell, llvm::ConstantPointerNull::get(ptr_), llvm::ConstantPointerNull::get(ptr_));
  }
  void MoveEnd(uint32_t from, uint32_t to);
  // To be called before the object in a cell is seen by anything but what appends to it.
  void Close(uint32_t cell);
  // Of an open object, appends; goes on behind this with a closed one that must grow first.
  void WriteAppend(uint32_t at, const Instruction& op);
  void MakeTensor(uint32_t at, uint32_t cell);
  void TakeTensor(uint32_t at, const Instruction& op, uint32_t cell);
  void GoOnIf(llvm::Value* condition, llvm::BasicBlock* otherwise);
  void Drop(llvm::Value* tensor);
  static bool IsTensor(char kind) { return kind == 't' || kind == 'T'; }
  llvm::Value* TensorAt(uint32_t reg) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), tensors_, reg * sizeof(Tensor));
  }
  // Of the inputs that are operands.
  static std::vector<char> OperandKinds(const Instruction& op);

  void WriteMove(uint32_t at, const Instruction& op);

  // Leaves native code: what `live` says is stored, and `result` returned.
  void WriteStop(const std::vector<uint32_t>& live, uint32_t result);
  // A block that does, before instruction `at`.
  llvm::BasicBlock* StopBefore(uint32_t at, uint32_t result);

  // A block that stops behind it: what it was to make, as far as `is_made` says so, the interpreter
  // has.
  template <typename IsMade>
  llvm::BasicBlock* StopBehind(uint32_t at, IsMade is_made) {
    auto* const block = llvm::BasicBlock::Create(context_, "stop", function_);
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(block);
    std::vector<uint32_t> live;
    for (const uint32_t cell : region_.instructions[at + 1].live)
      if (!is_made(cell)) live.push_back(cell);
    WriteStop(live, kStopped);
    return block;
  }

  llvm::Value* IsTrue(uint32_t cell) {
    return b_.CreateICmpNE(b_.CreateLoad(TypeOf(cell), slots_[cell]),
                           llvm::ConstantInt::get(TypeOf(cell), 0));
  }
  // `unlikely` is the second way.
  void Branch(llvm::Value* condition, llvm::BasicBlock* likely, llvm::BasicBlock* unlikely) {
    b_.CreateCondBr(condition, likely, unlikely,
                    llvm::MDBuilder(context_).createBranchWeights(1 << 20, 1));
  }

  void Write(uint32_t at, const Instruction& op);

  // The operands travel through slots of their own, so that those of the cells are never seen from
  // outside and can become registers, inlined or not.
  void WriteScalar(uint32_t at, const Instruction& op);

  // Small tensors.

  llvm::Value* ElementOf(uint32_t cell, llvm::Value* number) {
    return b_.CreateInBoundsGEP(TypeOf(cell), slots_[cell], {number});
  }
  llvm::Value* ElementOf(uint32_t cell, int64_t number) {
    return ElementOf(cell, b_.getInt64(number));
  }

  // for (i = 0; i < size; ++i) body(i), written out where it is short.
  template <typename Body>
  void Repeat(int64_t size, const Body& body) {
    constexpr int64_t kWrittenOut = 4;
    if (size <= kWrittenOut) {
      for (int64_t i = 0; i < size; ++i) body(b_.getInt64(i));
      return;
    }
    llvm::AllocaInst* const count = Slot(b_.getInt64Ty());
    b_.CreateStore(b_.getInt64(0), count);
    auto* const start = llvm::BasicBlock::Create(context_, "element", function_);
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    b_.CreateBr(start);
    b_.SetInsertPoint(start);
    llvm::Value* const i = b_.CreateLoad(b_.getInt64Ty(), count);
    body(i);
    llvm::Value* const next = b_.CreateAdd(i, b_.getInt64(1), "", true, true);
    b_.CreateStore(next, count);
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(size)), start, then);
    b_.SetInsertPoint(then);
  }

  void WriteElementwise(uint32_t at, const Instruction& op);
  // Dimensions from `d` on; `places` are the elements of inputs and output at which they begin.
  void WriteElements(const Instruction& op, size_t d, const std::vector<llvm::Value*>& places,
                     llvm::BasicBlock* stop);
  void WriteElementAt(const Instruction& op, const std::vector<llvm::Value*>& places,
                      llvm::BasicBlock* stop);

  // Scalars travel through slots of their own, as those of WriteScalar do.
  void WriteDense(uint32_t at, const Instruction& op);

  void WriteTake(uint32_t at, const Instruction& op);

  // Where the elements of a tensor lie that is no cell.
  llvm::Value* LentElements(uint32_t reg);
  // The number of the first element of `part`, which indices from input `first` on name; where
  // there is none, native code stops.
  llvm::Value* PlaceOf(uint32_t at, const Instruction& op, size_t first, const Cell& part);
  void WriteElement(uint32_t at, const Instruction& op);
  void WriteSetElement(uint32_t at, const Instruction& op);

  void WriteJumpByIndex(const Instruction& op);

  // Calls one of the frame's functions; what it returns.
  llvm::Value* CallBack(size_t member, std::initializer_list<llvm::Value*> more);

  // Has the interpreter run the instruction, and goes on behind it. Requirement: its outputs hold
  // no objects.
  void CallInterpreter(uint32_t at, const Instruction& op);

  void WriteStart(uint32_t at, uint32_t loop) {
    b_.CreateStore(b_.getInt64(0), iterations_[loop]);
    b_.CreateBr(BlockAt(at + 1));
  }

  // Of instructions [begin, end]: about how many of scalars they are worth.
  int32_t Work(uint32_t begin, uint32_t end) const;

  void WriteAgain(uint32_t at, const Instruction& op);
  // Goes on at `start`, having looked at the clock if there has been enough work since.
  void WriteLook(uint32_t start, uint32_t loop, int32_t work);

  // Subroutines.

  bool HasSubroutines() const { return first_subroutine_ < region_.instructions.size(); }
  void LoadStack() {
    b_.CreateStore(b_.CreateLoad(ptr_, Member(offsetof(Frame, top))), top_);
    b_.CreateStore(b_.CreateLoad(ptr_, Member(offsetof(Frame, limit))), limit_);
  }
  llvm::Value* WordAt(llvm::Value* word, int64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), word, offset);
  }
  // Of the stack, for all that a call saves and its number.
  int64_t WordsOf(const Instruction& call) const;

  // Values on their way from cells to others, all at once; of a small tensor, where its elements
  // are. An object's last reader gives it away.
  using Moving = std::vector<llvm::Value*>;
  Moving Take(const std::vector<uint32_t>& from, const std::vector<bool>& is_last,
              const std::vector<uint32_t>& to);
  void Put(const Moving& moving, const std::vector<uint32_t>& to);

  void WriteSubroutineCall(uint32_t at, const Instruction& op);

  void WriteBegin(uint32_t at, const Instruction& op);

  // The blocks of the calls that may have led here take what they saved, last in, first out.
  void WriteReturn(uint32_t at, const Instruction& op);

  const Region& region_;
  const uint32_t loop_;
  const bool stands_alone_;
  const uint32_t start_;  // the loop's first instruction
  const uint32_t first_subroutine_;
  const ScalarBitcode& scalars_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  Addresses& addresses_;
  llvm::IRBuilder<> b_;
  llvm::PointerType* ptr_ = nullptr;
  llvm::Function* function_ = nullptr;
  llvm::Value* frame_ = nullptr;
  llvm::Value* cells_ = nullptr;
  llvm::Value* tensors_ = nullptr;
  llvm::Value* iterations_in_frame_ = nullptr;
  std::vector<llvm::AllocaInst*> iterations_;  // by loop
  llvm::AllocaInst* until_look_ = nullptr;
  llvm::AllocaInst* top_ = nullptr;  // of the stack of calls, and where that ends
  llvm::AllocaInst* limit_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, llvm::BasicBlock*> stops_;  // see StopBefore
  std::vector<llvm::BasicBlock*> blocks_;  // by instruction; null: it is the interpreter's
  std::vector<llvm::Value*> slots_;        // by cell; of constant tensors, the constants
  std::vector<OpenEnd> open_ends_;         // by cell
};

}  // namespace gyre::compiled

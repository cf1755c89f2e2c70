#include "compiled/llvm/generator.h"

#include <cstddef>
#include <cstring>
#include <map>

#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace gyre::compiled {
namespace {

void Retain(const Object* object) { object->Ref(); }
void Release(const Object* object) { object->Unref(); }
const void* ElementsOf(const Tensor* tensor) { return tensor->raw_data(); }

// Work between two looks at the clock: some 50 µs to a few ms.
constexpr int32_t kLookEvery = 1 << 16;
constexpr uint64_t kTensorAlign = 32;

// The number of the instruction with which subroutines begin; that of all, if there are none.
uint32_t FirstSubroutine(const Region& region) {
  uint32_t at = 0;
  while (at < region.instructions.size() && region.instructions[at].action != Action::kBegin) ++at;
  return at;
}

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
class Generator {
 public:
  Generator(const Region& region, uint32_t loop, const ScalarBitcode& scalars, llvm::Module& module)
      : region_(region),
        loop_(loop),
        start_(region.starts[loop]),
        scalars_(scalars),
        context_(module.getContext()),
        module_(module),
        b_(context_) {}

  void Generate() {
    ptr_ = llvm::PointerType::getUnqual(context_);
    auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr_}, false);
    function_ =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, EntryName(loop_), module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    frame_ = function_->getArg(0);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    blocks_.resize(region_.instructions.size());
    uint32_t end = start_;
    do {
      MakeBlock(end);
    } while (!IsEndOf(end++, loop_));
    for (uint32_t at = FirstSubroutine(region_); at < blocks_.size(); ++at) MakeBlock(at);
    WriteEntry();
    for (uint32_t at = 0; at < blocks_.size(); ++at) {
      if (!IsInside(at)) continue;
      b_.SetInsertPoint(blocks_[at]);
      Write(at, region_.instructions[at]);
    }
  }

 private:
  void MakeBlock(uint32_t at) {
    if (blocks_[at] == nullptr)
      blocks_[at] = llvm::BasicBlock::Create(context_, "at" + std::to_string(at), function_);
  }
  bool IsEndOf(uint32_t at, uint32_t loop) const {
    const Instruction& op = region_.instructions[at];
    return op.action == Action::kEnd || op.action == Action::kReturn ||
           (op.action == Action::kAgain && op.loop == loop);
  }
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
  llvm::Value* TensorSlot(uint32_t cell) {
    llvm::AllocaInst* const slot =
        Slot(llvm::ArrayType::get(TypeOf(cell), region_.cells[cell].elements));
    slot->setAlignment(llvm::Align(kTensorAlign));
    return slot;
  }
  llvm::Value* ConstantTensor(llvm::StringRef bytes) {
    auto* const value = llvm::ConstantDataArray::getString(context_, bytes, /*AddNull=*/false);
    auto* const table = new llvm::GlobalVariable(module_, value->getType(), /*isConstant=*/true,
                                                 llvm::GlobalValue::PrivateLinkage, value);
    table->setAlignment(llvm::Align(kTensorAlign));
    return table;
  }

  llvm::Value* Member(size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_, offset);
  }
  llvm::Value* CellInFrame(uint32_t cell) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), cells_, region_.cells[cell].word);
  }

  void WriteEntry() {
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
      slots_[cell] = IsObject(cell)       ? CellInFrame(cell)
                     : IsTensorCell(cell) ? TensorSlot(cell)
                                          : Slot(TypeOf(cell));
    }
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

  llvm::Value* IterationInFrame(uint32_t loop) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), iterations_in_frame_, loop);
  }
  // What the interpreter may look at while native code waits or when it has stopped.
  void StoreState() {
    for (uint32_t loop = 0; loop < iterations_.size(); ++loop)
      b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), iterations_[loop]), IterationInFrame(loop));
    if (HasSubroutines()) b_.CreateStore(b_.CreateLoad(ptr_, top_), Member(offsetof(Frame, top)));
  }

  void Copy(llvm::Value* to, llvm::Value* from, uint32_t bytes, llvm::Align align) {
    b_.CreateMemCpy(to, align, from, align, bytes);
  }
  // A cell takes the low bytes of its words in the frame, where objects are all the time.
  void LoadCell(uint32_t cell) {
    if (IsObject(cell)) return;
    if (IsTensorCell(cell)) {
      Copy(slots_[cell], CellInFrame(cell), region_.cells[cell].bytes(), llvm::Align(8));
      return;
    }
    b_.CreateStore(b_.CreateLoad(TypeOf(cell), CellInFrame(cell)), slots_[cell]);
  }
  void StoreCell(uint32_t cell) {
    if (IsObject(cell)) return;
    if (IsTensorCell(cell)) {
      Copy(CellInFrame(cell), slots_[cell], region_.cells[cell].bytes(), llvm::Align(8));
      return;
    }
    llvm::Value* const value = b_.CreateLoad(TypeOf(cell), slots_[cell]);
    b_.CreateStore(b_.CreateZExt(value, b_.getInt64Ty()), CellInFrame(cell));
  }

  // Objects.

  bool IsObject(uint32_t cell) const { return region_.cells[cell].is_object(); }
  llvm::Value* Address(const void* of) {
    return b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uint64_t>(of)), ptr_);
  }
  void CallWith(void (*function)(const Object*), llvm::Value* object) {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getInt64Ty()}, false);
    b_.CreateCall(type, Address(reinterpret_cast<const void*>(function)), {object})
        ->setDoesNotThrow();
  }
  llvm::Value* LoadObject(uint32_t cell) { return b_.CreateLoad(b_.getInt64Ty(), slots_[cell]); }
  void Empty(uint32_t cell) { b_.CreateStore(b_.getInt64(0), slots_[cell]); }
  // Gives back what the cell still holds.
  void ReleaseCell(uint32_t cell) {
    llvm::Value* const object = LoadObject(cell);
    auto* const held = llvm::BasicBlock::Create(context_, "held", function_);
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    Branch(b_.CreateICmpEQ(object, b_.getInt64(0)), then, held);
    b_.SetInsertPoint(held);
    CallWith(&Release, object);
    b_.CreateBr(then);
    b_.SetInsertPoint(then);
    Empty(cell);
  }
  void ReleaseOutputs(const Instruction& op) {
    for (const uint32_t cell : op.outputs)
      if (IsObject(cell)) ReleaseCell(cell);
  }

  void WriteObject(uint32_t at, const Instruction& op) {
    ReleaseOutputs(op);
    WriteQuick(at, op);
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
      CallWith(&Retain, value);  // the function takes one, the cell keeps the other
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
    for (llvm::Value* const value : retained) CallWith(&Release, value);
    CallInterpreter(at, op);
    b_.SetInsertPoint(then);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.is_last[i]) continue;
      if (kinds[i] == 't') {
        Drop(TensorAt(op.inputs[i]));
        continue;
      }
      if (kinds[i] == 'o') CallWith(&Release, LoadObject(op.inputs[i]));
      Empty(op.inputs[i]);
    }
    for (const auto& [cell, result] : results)
      b_.CreateStore(b_.CreateLoad(TypeOf(cell), result), slots_[cell]);
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (op.object->outputs[i] == 'T' && IsTensorCell(op.outputs[i]))
        TakeTensor(at, op, op.outputs[i]);
    b_.CreateBr(BlockAt(at + 1));
  }
  // What `quick` can do is done, inlined. All else goes on behind this. Operands and results travel
  // through slots of their own, which become registers.
  void WriteQuick(uint32_t at, const Instruction& op) {
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
      if (kinds[i] == 'o') CallWith(&Release, LoadObject(op.inputs[i]));
      Empty(op.inputs[i]);
    }
    for (size_t i = 0; i < results.size(); ++i)
      b_.CreateStore(b_.CreateLoad(TypeOf(op.outputs[i]), results[i]), slots_[op.outputs[i]]);
    b_.CreateBr(BlockAt(at + 1));
    b_.SetInsertPoint(otherwise);
  }
  // For functions that handle tensors: of a cell one, and back.
  bool IsVariableTensorCell(uint32_t reg) const {
    return IsTensorCell(reg) && !llvm::isa<llvm::GlobalVariable>(slots_[reg]);
  }
  void MakeTensor(uint32_t at, uint32_t cell) {
    StoreCell(cell);
    StoreState();
    GoOnIf(CallBack(offsetof(Frame, make_tensor), {b_.getInt32(at), b_.getInt32(cell)}),
           StopBefore(at, kStopped));
  }
  void TakeTensor(uint32_t at, const Instruction& op, uint32_t cell) {
    llvm::Value* const fits =
        CallBack(offsetof(Frame, take_tensor), {b_.getInt32(at), b_.getInt32(cell)});
    GoOnIf(fits, StopBehind(at, [&](uint32_t live) {
             return IsTensorCell(live) && llvm::is_contained(op.outputs, live);
           }));
    LoadCell(cell);
  }
  void GoOnIf(llvm::Value* condition, llvm::BasicBlock* otherwise) {
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    Branch(condition, then, otherwise);
    b_.SetInsertPoint(then);
  }
  void Drop(llvm::Value* tensor) {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {ptr_}, false);
    b_.CreateCall(type, b_.CreateLoad(ptr_, Member(offsetof(Frame, drop))), {tensor})
        ->setDoesNotThrow();
  }
  static bool IsTensor(char kind) { return kind == 't' || kind == 'T'; }
  llvm::Value* TensorAt(uint32_t reg) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), tensors_, reg * sizeof(Tensor));
  }
  // Of the inputs that are operands.
  static std::vector<char> OperandKinds(const Instruction& op) {
    std::vector<char> kinds;
    for (const char kind : op.object->inputs)
      if (kind != '-') kinds.push_back(kind);
    return kinds;
  }

  void WriteMove(uint32_t at, const Instruction& op) {
    const uint32_t from = op.inputs[0], to = op.outputs[0];
    ReleaseOutputs(op);
    if (IsTensorCell(from)) {
      Copy(slots_[to], slots_[from], region_.cells[to].bytes(), llvm::Align(kTensorAlign));
    } else {
      b_.CreateStore(b_.CreateLoad(TypeOf(from), slots_[from]), slots_[to]);
    }
    if (IsObject(from)) {
      if (op.is_last[0]) {
        Empty(from);
      } else {
        CallWith(&Retain, LoadObject(from));
      }
    }
    b_.CreateBr(BlockAt(at + 1));
  }

  // Leaves native code: what `live` says is stored, and `result` returned.
  void WriteStop(const std::vector<uint32_t>& live, uint32_t result) {
    for (const uint32_t cell : live) StoreCell(cell);
    StoreState();
    b_.CreateRet(b_.getInt32(result));
  }
  // A block that does, before instruction `at`.
  llvm::BasicBlock* StopBefore(uint32_t at, uint32_t result) {
    llvm::BasicBlock*& block = stops_[{at, result}];
    if (block != nullptr) return block;
    block = llvm::BasicBlock::Create(context_, "stop", function_);
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(block);
    WriteStop(region_.instructions[at].live, result);
    return block;
  }

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

  void Write(uint32_t at, const Instruction& op) {
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

  // The operands travel through slots of their own, so that those of the cells are never seen from
  // outside and can become registers, inlined or not.
  void WriteScalar(uint32_t at, const Instruction& op) {
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
    const llvm::FunctionCallee callee = scalars_.Import(*op.code, module_);
    llvm::Value* const has_result = b_.CreateCall(callee, {list, result});
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    Branch(has_result, then, StopBefore(at, at));
    b_.SetInsertPoint(then);
    b_.CreateStore(b_.CreateLoad(TypeOf(output), result), slots_[output]);
    b_.CreateBr(BlockAt(at + 1));
  }

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

  void WriteElementwise(uint32_t at, const Instruction& op) {
    const uint32_t output = op.outputs[0];
    if (op.code->row != nullptr && op.dims.size() == 1 && op.dims[0].strides[0] == 1) {
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
  // Dimensions from `d` on; `places` are the elements of inputs and output at which they begin.
  void WriteElements(const Instruction& op, size_t d, const std::vector<llvm::Value*>& places,
                     llvm::BasicBlock* stop) {
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
  void WriteElementAt(const Instruction& op, const std::vector<llvm::Value*>& places,
                      llvm::BasicBlock* stop) {
    auto* const list_type = llvm::ArrayType::get(ptr_, op.inputs.size());
    llvm::AllocaInst* const list = Slot(list_type);
    for (size_t i = 0; i < op.inputs.size(); ++i)
      b_.CreateStore(ElementOf(op.inputs[i], places[i]),
                     b_.CreateConstInBoundsGEP2_64(list_type, list, 0, i));
    llvm::Value* const has_result = b_.CreateCall(scalars_.Import(*op.code, module_),
                                                  {list, ElementOf(op.outputs[0], places.back())});
    GoOnIf(has_result, stop);
  }

  // Scalars travel through slots of their own, as those of WriteScalar do.
  void WriteDense(uint32_t at, const Instruction& op) {
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
        auto* const type = llvm::FunctionType::get(ptr_, {ptr_}, false);
        inputs.push_back(b_.CreateCall(type, Address(reinterpret_cast<const void*>(&ElementsOf)),
                                       {TensorAt(reg)}));
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
      if (!IsTensorCell(cell))
        b_.CreateStore(b_.CreateLoad(TypeOf(cell), outputs[i]), slots_[cell]);
    }
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (op.is_last[i] && !IsCell(op.inputs[i])) Drop(TensorAt(op.inputs[i]));
    b_.CreateBr(BlockAt(at + 1));
  }

  void WriteTake(uint32_t at, const Instruction& op) {
    for (const Stretch& part : op.stretches) {
      const uint32_t to = op.outputs[part.output];
      const uint32_t bytes = region_.cells[to].element_bytes;
      if (part.input == kZeros) {
        b_.CreateMemSet(ElementOf(to, part.to), b_.getInt8(0), part.size * bytes,
                        llvm::Align(bytes));
      } else {
        Copy(ElementOf(to, part.to), ElementOf(op.inputs[part.input], part.from), part.size * bytes,
             llvm::Align(bytes));
      }
    }
    b_.CreateBr(BlockAt(at + 1));
  }

  // The first element of the part of `cell` that indices from input `first` on name; where there is
  // none, native code stops.
  llvm::Value* PartOf(uint32_t at, const Instruction& op, uint32_t cell, size_t first) {
    llvm::Value* place = b_.getInt64(0);
    int64_t rest = region_.cells[cell].elements;
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
      rest /= op.sizes[k];
    }
    return ElementOf(cell, b_.CreateMul(place, b_.getInt64(rest)));
  }
  void WriteElement(uint32_t at, const Instruction& op) {
    const Cell& output = region_.cells[op.outputs[0]];
    llvm::Value* const part = PartOf(at, op, op.inputs[0], 1);
    Copy(slots_[op.outputs[0]], part, output.bytes(), llvm::Align(output.element_bytes));
    b_.CreateBr(BlockAt(at + 1));
  }
  void WriteSetElement(uint32_t at, const Instruction& op) {
    const uint32_t output = op.outputs[0];
    const Cell& value = region_.cells[op.inputs[1]];
    Copy(slots_[output], slots_[op.inputs[0]], region_.cells[output].bytes(),
         llvm::Align(kTensorAlign));
    Copy(PartOf(at, op, output, 2), slots_[op.inputs[1]], value.bytes(),
         llvm::Align(value.element_bytes));
    b_.CreateBr(BlockAt(at + 1));
  }

  void WriteJumpByIndex(const Instruction& op) {
    llvm::Value* const index = b_.CreateLoad(b_.getInt32Ty(), slots_[op.inputs[0]]);
    llvm::SwitchInst* const jump = b_.CreateSwitch(index, BlockAt(op.targets.back()));
    for (uint32_t i = 0; i + 1 < op.targets.size(); ++i)
      jump->addCase(b_.getInt32(i), BlockAt(op.targets[i]));
  }

  // Calls one of the frame's functions; what it returns.
  llvm::Value* CallBack(size_t member, std::initializer_list<llvm::Value*> more) {
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

  // Has the interpreter run the instruction, and goes on behind it. Requirement: its outputs hold
  // no objects.
  void CallInterpreter(uint32_t at, const Instruction& op) {
    for (const uint32_t reg : op.inputs)
      if (IsCell(reg) && !region_.cells[reg].is_constant) StoreCell(reg);
    StoreState();
    llvm::Value* const goes_on = CallBack(offsetof(Frame, call), {b_.getInt32(at)});
    GoOnIf(goes_on,
           StopBehind(at, [&](uint32_t cell) { return llvm::is_contained(op.outputs, cell); }));
    for (const uint32_t reg : op.outputs)
      if (IsCell(reg)) LoadCell(reg);
    b_.CreateBr(BlockAt(at + 1));
  }

  void WriteStart(uint32_t at, uint32_t loop) {
    b_.CreateStore(b_.getInt64(0), iterations_[loop]);
    b_.CreateBr(BlockAt(at + 1));
  }

  // Of instructions [begin, end]: about how many of scalars they are worth.
  int32_t Work(uint32_t begin, uint32_t end) const {
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

  void WriteAgain(uint32_t at, const Instruction& op) {
    llvm::AllocaInst* const count = iterations_[op.loop];
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), count), b_.getInt64(1)), count);
    const uint32_t start = op.targets[0];
    WriteLook(start, op.loop, Work(start, at));
  }
  // Goes on at `start`, having looked at the clock if there has been enough work since.
  void WriteLook(uint32_t start, uint32_t loop, int32_t work) {
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

  // Subroutines.

  bool HasSubroutines() const { return FirstSubroutine(region_) < region_.instructions.size(); }
  void LoadStack() {
    b_.CreateStore(b_.CreateLoad(ptr_, Member(offsetof(Frame, top))), top_);
    b_.CreateStore(b_.CreateLoad(ptr_, Member(offsetof(Frame, limit))), limit_);
  }
  llvm::Value* WordAt(llvm::Value* word, int64_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), word, offset);
  }
  // Of the stack, for all that a call saves and its number.
  int64_t WordsOf(const Instruction& call) const {
    int64_t words = 1 + static_cast<int64_t>(call.saved_loops.size());
    for (const uint32_t cell : call.saved) words += NumWords(region_.cells[cell]);
    return words;
  }

  // Values on their way from cells to others, all at once. An object's last reader gives it away.
  struct Moving {
    std::vector<llvm::Value*> values;  // of a small tensor, where its elements are
  };
  Moving Take(const std::vector<uint32_t>& from, const std::vector<bool>& is_last,
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
        moving.values.push_back(at);
        continue;
      }
      moving.values.push_back(b_.CreateLoad(TypeOf(cell), slots_[cell]));
      if (!IsObject(cell)) continue;
      is_last[i] ? Empty(cell) : CallWith(&Retain, moving.values.back());
    }
    return moving;
  }
  void Put(const Moving& moving, const std::vector<uint32_t>& to) {
    for (size_t i = 0; i < to.size(); ++i) {
      const uint32_t cell = to[i];
      if (IsTensorCell(cell)) {
        if (moving.values[i] != slots_[cell])
          Copy(slots_[cell], moving.values[i], region_.cells[cell].bytes(),
               llvm::Align(kTensorAlign));
        continue;
      }
      if (IsObject(cell)) ReleaseCell(cell);
      b_.CreateStore(moving.values[i], slots_[cell]);
    }
  }

  void WriteSubroutineCall(uint32_t at, const Instruction& op) {
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
    for (const uint32_t cell : op.kept) StoreCell(cell);
    llvm::Value* const top = b_.CreateLoad(ptr_, top_);
    int64_t word = 0;
    for (const uint32_t cell : op.saved) {
      if (IsTensorCell(cell)) {
        Copy(WordAt(top, word), slots_[cell], region_.cells[cell].bytes(), llvm::Align(8));
      } else {
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

  void WriteBegin(uint32_t at, const Instruction& op) {
    uint32_t end = at;
    while (region_.instructions[end].action != Action::kReturn) ++end;
    WriteLook(at + 1, op.loop, Work(at, end));
  }

  // The blocks of the calls that may have led here take what they saved, last in, first out.
  void WriteReturn(uint32_t at, const Instruction& op) {
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
      for (const uint32_t cell : call.kept) LoadCell(cell);
      b_.CreateStore(saved, top_);
      b_.CreateBr(BlockAt(caller + 1));
    }
  }

  const Region& region_;
  const uint32_t loop_;
  const uint32_t start_;  // the loop's first instruction
  const ScalarBitcode& scalars_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
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
};

}  // namespace

std::string EntryName(uint32_t loop) { return "gyre_loop_" + std::to_string(loop); }

std::vector<uint32_t> LoopsToGenerate(const Region& region) {
  constexpr size_t kMostInstructions = 640;         // of all functions
  std::vector<std::pair<size_t, uint32_t>> others;  // with the sizes
  size_t size = 0;
  uint32_t begin = 0;  // of the last subroutine
  for (uint32_t at = 0; at < region.instructions.size(); ++at) {
    const Instruction& op = region.instructions[at];
    if (op.action == Action::kBegin) begin = at;
    if (op.action != Action::kAgain && op.action != Action::kEnd && op.action != Action::kReturn)
      continue;
    // Subroutines have each other in them.
    const size_t of_subroutines = region.instructions.size() - FirstSubroutine(region);
    const uint32_t loop = op.action == Action::kReturn ? region.instructions[begin].loop : op.loop;
    const size_t of_loop = at + 1 - region.starts[loop] + of_subroutines;
    loop == 0 ? void(size = of_loop) : others.push_back({of_loop, loop});
  }
  llvm::sort(others);
  std::vector<uint32_t> loops = {0};
  for (const auto& [of_loop, loop] : others) {
    size += of_loop;
    if (size > kMostInstructions) break;
    loops.push_back(loop);
  }
  return loops;
}

std::unique_ptr<llvm::Module> Generate(const Region& region, const ScalarBitcode& scalars,
                                       llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>(region.name, context);
  for (const uint32_t loop : LoopsToGenerate(region))
    Generator(region, loop, scalars, *module).Generate();
  return module;
}

}  // namespace gyre::compiled

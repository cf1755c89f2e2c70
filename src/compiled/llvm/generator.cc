#include "compiled/llvm/generator.h"

#include <cstddef>

#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace gyre::compiled {
namespace {

// Instructions between two looks at the clock: some 50 to 500 µs of native code.
constexpr int32_t kLookEvery = 1 << 16;

// One region's function. Cells are stack slots, which LLVM turns into registers:
//
//   entry:        slots of the cells that instruction 0 reads are loaded from the frame
//   at0, at1, …:  one block an instruction
//   stop blocks:  store what is live there into the frame and return the instruction's number
class Generator {
 public:
  Generator(const Region& region, const ScalarBitcode& scalars, llvm::LLVMContext& context)
      : region_(region),
        scalars_(scalars),
        context_(context),
        module_(std::make_unique<llvm::Module>(region.name, context)),
        b_(context) {}

  std::unique_ptr<llvm::Module> Generate() {
    ptr_ = llvm::PointerType::getUnqual(context_);
    auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr_}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kEntryName, *module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    frame_ = function_->getArg(0);
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    for (size_t at = 0; at < region_.instructions.size(); ++at)
      blocks_.push_back(llvm::BasicBlock::Create(context_, "at" + std::to_string(at), function_));
    WriteEntry();
    for (uint32_t at = 0; at < region_.instructions.size(); ++at) {
      b_.SetInsertPoint(blocks_[at]);
      Write(at, region_.instructions[at]);
    }
    return std::move(module_);
  }

 private:
  llvm::Type* TypeOf(uint32_t cell) { return b_.getIntNTy(8 * region_.cell_bytes[cell]); }

  llvm::AllocaInst* Slot(llvm::Type* type) {
    llvm::IRBuilder<> at_entry(entry_, entry_->begin());
    return at_entry.CreateAlloca(type);
  }

  llvm::Value* Member(size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame_, offset);
  }
  llvm::Value* CellInFrame(uint32_t cell) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), cells_, cell);
  }

  void WriteEntry() {
    b_.SetInsertPoint(entry_);
    cells_ = b_.CreateLoad(ptr_, Member(offsetof(Frame, cells)));
    slots_.resize(region_.cell_bytes.size());
    for (uint32_t cell = 0; cell < slots_.size(); ++cell)
      if (region_.cell_bytes[cell] != 0) slots_[cell] = Slot(TypeOf(cell));
    for (const auto& [cell, value] : region_.constants)
      b_.CreateStore(llvm::ConstantInt::get(TypeOf(cell), value), slots_[cell]);
    for (const uint32_t cell : region_.instructions[0].live) LoadCell(cell);
    iteration_ = Slot(b_.getInt64Ty());
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), Member(offsetof(Frame, iteration))), iteration_);
    until_look_ = Slot(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(kLookEvery), until_look_);
    b_.CreateBr(blocks_[0]);
  }

  // A cell takes the low bytes of its eight in the frame.
  void LoadCell(uint32_t cell) {
    b_.CreateStore(b_.CreateLoad(TypeOf(cell), CellInFrame(cell)), slots_[cell]);
  }
  void StoreCell(uint32_t cell) {
    llvm::Value* const value = b_.CreateLoad(TypeOf(cell), slots_[cell]);
    b_.CreateStore(b_.CreateZExt(value, b_.getInt64Ty()), CellInFrame(cell));
  }

  // Leaves native code: what `live` says is stored, and `result` returned.
  void WriteStop(const std::vector<uint32_t>& live, uint32_t result) {
    for (const uint32_t cell : live) StoreCell(cell);
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), iteration_), Member(offsetof(Frame, iteration)));
    b_.CreateRet(b_.getInt32(result));
  }
  // A block that does, before instruction `at`.
  llvm::BasicBlock* StopBefore(uint32_t at, uint32_t result) {
    auto* const block = llvm::BasicBlock::Create(context_, "stop", function_);
    const llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(block);
    WriteStop(region_.instructions[at].live, result);
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
      case Action::kMove:
        b_.CreateStore(b_.CreateLoad(TypeOf(op.inputs[0]), slots_[op.inputs[0]]),
                       slots_[op.outputs[0]]);
        b_.CreateBr(blocks_[at + 1]);
        return;
      case Action::kLeave:
        return Branch(IsTrue(op.inputs[0]), blocks_[at + 1], StopBefore(at, at));
      case Action::kJump:
        b_.CreateBr(blocks_[op.targets[0]]);
        return;
      case Action::kJumpUnless:
        b_.CreateCondBr(IsTrue(op.inputs[0]), blocks_[at + 1], blocks_[op.targets[0]]);
        return;
      case Action::kJumpByIndex:
        return WriteJumpByIndex(op);
      case Action::kCall:
        return WriteCall(at, op);
      case Action::kSkip:
        b_.CreateBr(blocks_[at + 1]);
        return;
      case Action::kAgain:
        return WriteAgain();
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
    const llvm::FunctionCallee callee = scalars_.Import(*op.code, *module_);
    llvm::Value* const has_result = b_.CreateCall(callee, {list, result});
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    Branch(has_result, then, StopBefore(at, at));
    b_.SetInsertPoint(then);
    b_.CreateStore(b_.CreateLoad(TypeOf(output), result), slots_[output]);
    b_.CreateBr(blocks_[at + 1]);
  }

  void WriteJumpByIndex(const Instruction& op) {
    llvm::Value* const index = b_.CreateLoad(b_.getInt32Ty(), slots_[op.inputs[0]]);
    llvm::SwitchInst* const jump = b_.CreateSwitch(index, blocks_[op.targets.back()]);
    for (uint32_t i = 0; i + 1 < op.targets.size(); ++i)
      jump->addCase(b_.getInt32(i), blocks_[op.targets[i]]);
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
  void StoreIteration() {
    b_.CreateStore(b_.CreateLoad(b_.getInt64Ty(), iteration_), Member(offsetof(Frame, iteration)));
  }

  void WriteCall(uint32_t at, const Instruction& op) {
    for (const uint32_t cell : op.inputs) StoreCell(cell);
    StoreIteration();
    llvm::Value* const goes_on = CallBack(offsetof(Frame, call), {b_.getInt32(at)});
    auto* const then = llvm::BasicBlock::Create(context_, "then", function_);
    auto* const stop = llvm::BasicBlock::Create(context_, "stop", function_);
    Branch(goes_on, then, stop);
    b_.SetInsertPoint(stop);
    std::vector<uint32_t> live;  // behind the instruction, but for what it was to make
    for (const uint32_t cell : region_.instructions[at + 1].live)
      if (!llvm::is_contained(op.outputs, cell)) live.push_back(cell);
    WriteStop(live, kStopped);
    b_.SetInsertPoint(then);
    for (const uint32_t cell : op.outputs) LoadCell(cell);
    b_.CreateBr(blocks_[at + 1]);
  }

  void WriteAgain() {
    llvm::Value* const iteration = b_.CreateLoad(b_.getInt64Ty(), iteration_);
    b_.CreateStore(b_.CreateAdd(iteration, b_.getInt64(1)), iteration_);
    const auto spent = static_cast<uint32_t>(region_.instructions.size());
    llvm::Value* const left =
        b_.CreateSub(b_.CreateLoad(b_.getInt32Ty(), until_look_), b_.getInt32(spent));
    b_.CreateStore(left, until_look_);
    auto* const look = llvm::BasicBlock::Create(context_, "look", function_);
    Branch(b_.CreateICmpSGT(left, b_.getInt32(0)), blocks_[0], look);
    b_.SetInsertPoint(look);
    b_.CreateStore(b_.getInt32(kLookEvery), until_look_);
    StoreIteration();
    llvm::Value* const goes_on = CallBack(offsetof(Frame, look), {});
    Branch(goes_on, blocks_[0], StopBefore(0, kStopped));
  }

  const Region& region_;
  const ScalarBitcode& scalars_;
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  llvm::PointerType* ptr_ = nullptr;
  llvm::Function* function_ = nullptr;
  llvm::Value* frame_ = nullptr;
  llvm::Value* cells_ = nullptr;
  llvm::AllocaInst* iteration_ = nullptr;
  llvm::AllocaInst* until_look_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace

std::unique_ptr<llvm::Module> Generate(const Region& region, const ScalarBitcode& scalars,
                                       llvm::LLVMContext& context) {
  return Generator(region, scalars, context).Generate();
}

}  // namespace gyre::compiled

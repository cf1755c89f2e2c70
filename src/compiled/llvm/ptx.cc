#include "compiled/ptx.h"

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "compiled/llvm/gpu_bitcode.h"
#include "compiled/llvm/optimize.h"
#include "compiled/llvm/runtime.h"
#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetOptions.h"
#include "ops/elementwise_table.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace gyre::compiled {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
// The oldest that the driver of today takes and that has what is used here.
constexpr const char* kProcessor = "sm_60";
constexpr const char* kNoResult = "gyre_no_result";
constexpr unsigned kGlobal = 1;  // the address space of a GPU's memory

// No contraction, as on the host; divisions and square roots round to nearest by default.
std::unique_ptr<llvm::TargetMachine> Gpu(std::string& why) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kTriple, why);
  if (target == nullptr) return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(kTriple, kProcessor, "+ptx60", options, llvm::Reloc::PIC_));
}

// Writes the kernel.
class KernelWriter {
 public:
  KernelWriter(const PtxRequest& request, const ScalarBitcode& scalars, llvm::Module& module)
      : request_(request), module_(module), b_(module.getContext()) {
    auto* const i64 = b_.getInt64Ty();
    table_type_ = llvm::ArrayType::get(i64, sizeof(ElementwiseTable) / sizeof(uint64_t));
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    kernel_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "gyre_elementwise",
                                     module);
    kernel_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    kernel_->addParamAttr(0, llvm::Attribute::getWithByValType(module.getContext(), table_type_));
    kernel_->addParamAttr(0,
                          llvm::Attribute::getWithAlignment(module.getContext(), llvm::Align(8)));
    auto* const function =
        llvm::FunctionType::get(b_.getInt1Ty(), {b_.getPtrTy(), b_.getPtrTy()}, false);
    Addresses of_process;  // a call to one of these is an Objection
    Write(request.function != nullptr ? module.getOrInsertFunction(request.function, function)
                                      : scalars.Import(*request.code, module, of_process));
  }

 private:
  llvm::Value* WordAt(llvm::Value* number) {
    llvm::Value* const at = b_.CreateGEP(table_type_, kernel_->getArg(0), {b_.getInt64(0), number});
    return b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8));
  }
  llvm::Value* Word(size_t offset) { return WordAt(b_.getInt64(offset / sizeof(uint64_t))); }
  llvm::Value* InputWord(uint32_t k, size_t offset) {
    return Word(offsetof(ElementwiseTable, inputs) + k * sizeof(ElementwiseTable::Input) + offset);
  }
  llvm::Value* Register(llvm::Intrinsic::ID id) {
    return b_.CreateZExt(b_.CreateIntrinsic(id, {}, {}), b_.getInt64Ty());
  }
  llvm::BasicBlock* Block(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, kernel_);
  }
  llvm::Type* Bits(uint32_t bytes) { return b_.getIntNTy(8 * bytes); }

  void Write(llvm::FunctionCallee scalar) {
    llvm::BasicBlock* const entry = Block("entry");
    b_.SetInsertPoint(entry);
    auto* const pointers = b_.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), 3));
    std::array<llvm::Value*, 3> elements{};
    for (uint32_t k = 0; k < request_.num_inputs; ++k)
      elements[k] = b_.CreateAlloca(Bits(request_.input_bytes[k]));
    llvm::Value* const result = b_.CreateAlloca(Bits(request_.output_bytes));
    llvm::Value* const n = Word(offsetof(ElementwiseTable, n));
    llvm::Value* const width = Register(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
    llvm::Value* const first =
        b_.CreateAdd(b_.CreateMul(Register(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), width),
                     Register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x));
    llvm::Value* const step =
        b_.CreateMul(Register(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), width);
    llvm::BasicBlock* const head = Block("head");
    llvm::BasicBlock* const body = Block("body");
    llvm::BasicBlock* const end = Block("end");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* const i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(first, entry);
    b_.CreateCondBr(b_.CreateICmpULT(i, n), body, end);
    b_.SetInsertPoint(body);
    for (uint32_t k = 0; k < request_.num_inputs; ++k) {
      b_.CreateStore(Element(k, i), elements[k]);
      b_.CreateStore(elements[k], b_.CreateConstGEP1_32(b_.getPtrTy(), pointers, k));
    }
    llvm::Value* const has_result = b_.CreateCall(scalar, {pointers, result});
    llvm::BasicBlock* const none = Block("none");
    llvm::BasicBlock* const store = Block("store");
    b_.CreateCondBr(has_result, store, none);
    b_.SetInsertPoint(none);
    b_.CreateCall(module_.getOrInsertFunction(kNoResult, b_.getVoidTy()));
    b_.CreateBr(store);
    b_.SetInsertPoint(store);
    llvm::Type* const type = Bits(request_.output_bytes);
    b_.CreateAlignedStore(b_.CreateLoad(type, result),
                          Address(Word(offsetof(ElementwiseTable, output)), i, type),
                          llvm::Align(request_.output_bytes));
    i->addIncoming(b_.CreateAdd(i, step), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(end);
    b_.CreateRetVoid();
  }

  llvm::Value* Address(llvm::Value* base, llvm::Value* offset, llvm::Type* type) {
    return b_.CreateGEP(type, b_.CreateIntToPtr(base, b_.getPtrTy(kGlobal)), offset);
  }

  // Element i of the result's, of input k.
  llvm::Value* Element(uint32_t k, llvm::Value* i) {
    using Input = ElementwiseTable::Input;
    llvm::Type* const type = Bits(request_.input_bytes[k]);
    llvm::Value* const kind = InputWord(k, offsetof(Input, kind));
    llvm::Value* const low = InputWord(k, offsetof(Input, low));
    llvm::BasicBlock* const value = Block("value");
    llvm::BasicBlock* const strided = Block("strided");
    llvm::BasicBlock* const memory = Block("memory");
    llvm::BasicBlock* const done = Block("done");
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::SwitchInst* const which = b_.CreateSwitch(kind, memory, 2);
    which->addCase(b_.getInt64(Input::kValue), value);
    which->addCase(b_.getInt64(Input::kStrided), strided);

    b_.SetInsertPoint(value);
    llvm::Value* bits = low;
    if (request_.input_bytes[k] == 16) {
      llvm::Value* const high = b_.CreateZExt(InputWord(k, offsetof(Input, high)), type);
      bits = b_.CreateOr(b_.CreateShl(high, 64), b_.CreateZExt(low, type));
    } else {
      bits = b_.CreateTrunc(low, type);
    }
    b_.CreateBr(done);

    b_.SetInsertPoint(strided);
    llvm::Value* const offset = Strided(k, i);
    llvm::BasicBlock* const after = b_.GetInsertBlock();
    b_.CreateBr(memory);

    b_.SetInsertPoint(memory);
    llvm::PHINode* const place = b_.CreatePHI(b_.getInt64Ty(), 2);
    place->addIncoming(i, before);
    place->addIncoming(offset, after);
    llvm::Value* const loaded =
        b_.CreateAlignedLoad(type, Address(low, place, type), llvm::Align(request_.input_bytes[k]));
    b_.CreateBr(done);

    b_.SetInsertPoint(done);
    llvm::PHINode* const element = b_.CreatePHI(type, 2);
    element->addIncoming(bits, value);
    element->addIncoming(loaded, memory);
    return element;
  }

  // Where that element is, by the sizes of the dimensions, innermost first.
  llvm::Value* Strided(uint32_t k, llvm::Value* i) {
    using Input = ElementwiseTable::Input;
    constexpr size_t kSizes = offsetof(ElementwiseTable, sizes) / sizeof(uint64_t);
    const size_t strides =
        (offsetof(ElementwiseTable, inputs) + k * sizeof(Input) + offsetof(Input, strides)) /
        sizeof(uint64_t);
    llvm::Value* const rank = Word(offsetof(ElementwiseTable, rank));
    llvm::BasicBlock* const before = b_.GetInsertBlock();
    llvm::BasicBlock* const head = Block("dimensions");
    llvm::BasicBlock* const body = Block("dimension");
    llvm::BasicBlock* const end = Block("offset");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    std::array<llvm::PHINode*, 3> phis{};
    for (llvm::PHINode*& phi : phis) phi = b_.CreatePHI(b_.getInt64Ty(), 2);
    const auto [d, rest, offset] = phis;
    d->addIncoming(b_.getInt64(0), before);
    rest->addIncoming(i, before);
    offset->addIncoming(b_.getInt64(0), before);
    b_.CreateCondBr(b_.CreateICmpULT(d, rank), body, end);
    b_.SetInsertPoint(body);
    llvm::Value* const size = WordAt(b_.CreateAdd(d, b_.getInt64(kSizes)));
    llvm::Value* const stride = WordAt(b_.CreateAdd(d, b_.getInt64(strides)));
    llvm::Value* const quotient = b_.CreateUDiv(rest, size);
    llvm::Value* const index = b_.CreateSub(rest, b_.CreateMul(quotient, size));
    d->addIncoming(b_.CreateAdd(d, b_.getInt64(1)), body);
    rest->addIncoming(quotient, body);
    offset->addIncoming(b_.CreateAdd(offset, b_.CreateMul(index, stride)), body);
    b_.CreateBr(head);
    b_.SetInsertPoint(end);
    return offset;
  }

  const PtxRequest& request_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Type* table_type_ = nullptr;
  llvm::Function* kernel_ = nullptr;
};

// What a GPU computes as a processor does.
bool IsExact(const llvm::IntrinsicInst& call) {
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end:
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x:
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
    case llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x:
    case llvm::Intrinsic::nvvm_barrier0:
      return true;
    default:
      return false;
  }
}

bool IsOfAType(const llvm::Type* type) {
  if (type->isIntegerTy()) return type->getIntegerBitWidth() <= 128;
  return type->isVoidTy() || type->isHalfTy() || type->isFloatTy() || type->isDoubleTy() ||
         type->isPointerTy() || type->isLabelTy() || type->isMetadataTy();
}

// Why the code generator must not see this instruction: it ends the process where it does not know
// what to make of one.
std::string Objection(const llvm::Instruction& instruction) {
  if (!IsOfAType(instruction.getType())) return "a type that GPUs have not";
  for (const llvm::Use& operand : instruction.operands())
    if (!IsOfAType(operand->getType())) return "a type that GPUs have not";
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return IsExact(*intrinsic) ? "" : intrinsic->getCalledFunction()->getName().str();
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    const llvm::Function* const callee = call->getCalledFunction();
    if (callee == nullptr) return "a function of the host";
    if (callee->getName() == kNoResult) return "that an element may have no result";
    // All others have been inlined.
    return callee->isDeclaration() ? callee->getName().str() : "a function that calls itself";
  }
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FRem:
      return "fmod";
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
    case llvm::Instruction::Mul:
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::FPToUI:
      return instruction.getType()->getIntegerBitWidth() > 64 ? "integers of 128 bits" : "";
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP:
      return instruction.getOperand(0)->getType()->getIntegerBitWidth() > 64
                 ? "integers of 128 bits"
                 : "";
    default:
      return "";
  }
}

std::string Objection(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      std::string why = Objection(instruction);
      if (!why.empty()) return why;
    }
  }
  return "";
}

// For a GPU, of functions that were compiled for the host.
void Retarget(llvm::Module& module, const llvm::TargetMachine& machine) {
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function& function : module) {
    for (const char* of_the_host : {"target-cpu", "target-features", "tune-cpu", "probe-stack",
                                    "stack-protector-buffer-size", "frame-pointer"})
      function.removeFnAttr(of_the_host);
    if (function.isDeclaration() || function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    if (function.hasPersonalityFn()) function.setPersonalityFn(nullptr);
  }
}

// What is only declared would be looked for when the kernel is loaded.
void DropUnused(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  }
}

// The module's text, once it is one function: with all that it calls. Empty, or why not.
template <typename Request>
std::string Write(const Request& request, llvm::Module& module, llvm::TargetMachine& machine,
                  CompileError& error) {
  std::string why;
  Retarget(module, machine);
  llvm::raw_string_ostream mistakes(why);
  if (llvm::verifyModule(module, &mistakes)) return why;
  Optimize(module, machine, error, false);
  if (error.is_stopped) return "it was stopped";
  why = Objection(module);
  if (!why.empty()) return "it needs " + why;
  DropUnused(module);
  llvm::SmallString<4096> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return "LLVM has no printer for it";
  passes.run(module);
  request.take(request.to, text.data(), text.size());
  return "";
}

// Empty, or why not.
std::string Make(const PtxRequest& request, CompileError& error) {
  std::string why;
  const std::unique_ptr<llvm::TargetMachine> machine = Gpu(why);
  if (machine == nullptr) return why;
  llvm::LLVMContext context;
  auto scalars = ScalarBitcode::Load(context);
  if (!scalars) return llvm::toString(scalars.takeError());
  auto library = GpuBitcode::Load(context);
  if (!library) return llvm::toString(library.takeError());
  if (request.function != nullptr && !library->Has(request.function))
    return "a function that is not written for GPUs";
  llvm::Module module("elementwise", context);
  KernelWriter(request, *scalars, module);
  if (llvm::Error error = scalars->LinkInto(module)) return llvm::toString(std::move(error));
  if (llvm::Error error = library->LinkInto(module)) return llvm::toString(std::move(error));
  return Write(request, module, *machine, error);
}

std::string Make(const GpuKernelRequest& request, CompileError& error) {
  std::string why;
  const std::unique_ptr<llvm::TargetMachine> machine = Gpu(why);
  if (machine == nullptr) return why;
  llvm::LLVMContext context;
  auto library = GpuBitcode::Load(context);
  if (!library) return llvm::toString(library.takeError());
  if (!library->Has(request.name)) return "a kernel that is not written for GPUs";
  llvm::Module module(request.name, context);
  module.getOrInsertFunction(request.name, library->TypeOf(request.name));
  if (llvm::Error error = library->LinkInto(module)) return llvm::toString(std::move(error));
  module.getFunction(request.name)->setCallingConv(llvm::CallingConv::PTX_Kernel);
  return Write(request, module, *machine, error);
}

// False, having said why, or that there is no memory.
template <typename Request>
bool Answer(const Request& request, CompileError* error) {
  if (!HasReserve()) {
    error->lacks_memory = true;
    return false;
  }
  const std::string why = Make(request, *error);
  if (!why.empty()) error->say(error, why.c_str());
  return why.empty();
}

}  // namespace

bool MakePtx(const PtxRequest& request, CompileError* error) { return Answer(request, error); }
bool MakeGpuKernel(const GpuKernelRequest& request, CompileError* error) {
  return Answer(request, error);
}

}  // namespace gyre::compiled

// A Region as an object file.
#include "compiled/object.h"

#include <cstring>
#include <memory>
#include <string>

#include "compiled/library.h"
#include "compiled/llvm/generator.h"
#include "compiled/llvm/loop_generator.h"
#include "compiled/llvm/optimize.h"
#include "compiled/llvm/runtime.h"
#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

namespace gyre::compiled {
namespace {

// What an instruction asks of its process: an interpreter, or functions of the library.
bool NeedsProcess(const Instruction& op, const ScalarBitcode& scalars) {
  switch (op.action) {
    case Action::kCall:
    case Action::kObject:
    case Action::kDense:
    case Action::kRelease:
      return true;
    case Action::kScalar:
    case Action::kElementwise:
      return !scalars.Has(*op.code);
    default:
      return false;
  }
}

// Null: it cannot be had, and `why`; or there is no such processor.
std::unique_ptr<llvm::TargetMachine> MachineOf(const char* cpu, std::string& why, bool& knows_cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (target == nullptr) return nullptr;
  const bool is_native = std::strcmp(cpu, "native") == 0;
  const std::string name = is_native ? llvm::sys::getHostCPUName().str() : cpu;
  // Of one that is none, a target machine would tell the user on stderr.
  const std::unique_ptr<llvm::MCSubtargetInfo> any(target->createMCSubtargetInfo(triple, "", ""));
  knows_cpu = any != nullptr && any->isCPUStringValid(name);
  if (!knows_cpu) return nullptr;
  std::string features;
  if (is_native) {
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features += (feature.getValue() ? ",+" : ",-") + feature.getKey().str();
    if (!features.empty()) features.erase(0, 1);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, name, features, options, llvm::Reloc::PIC_));
  if (machine == nullptr) why = "LLVM cannot write code for " + triple;
  return machine;
}

// The function around that of the region: it moves bytes between structures and cells.
class EntryWriter {
 public:
  EntryWriter(const ObjectRequest& request, llvm::Function* region, llvm::Module& module)
      : request_(request),
        region_(*request.region),
        body_(region),
        module_(module),
        b_(module.getContext()) {}

  void Write() {
    auto* const ptr = llvm::PointerType::getUnqual(module_.getContext());
    auto* const type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr}, false);
    auto* const function =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, request_.symbol, module_);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    const auto block = [&](const char* name) {
      return llvm::BasicBlock::Create(module_.getContext(), name, function);
    };
    b_.SetInsertPoint(block("entry"));
    llvm::Value* const cells = Words(region_.num_words);
    for (uint32_t i = 0; i < request_.num_inputs; ++i)
      Move(request_.inputs[i], cells, function->getArg(0), /*is_input=*/true);
    llvm::Value* const result = b_.CreateCall(body_, {Frame(cells)});
    llvm::BasicBlock* const done = block("done");
    llvm::BasicBlock* const too_deep = block("too_deep");
    llvm::BasicBlock* const failed = block("failed");
    llvm::SwitchInst* const way = b_.CreateSwitch(result, failed);
    way->addCase(b_.getInt32(EndOf()), done);
    way->addCase(b_.getInt32(kStopped), too_deep);
    b_.SetInsertPoint(done);
    for (uint32_t i = 0; i < request_.num_outputs; ++i)
      Move(request_.outputs[i], cells, function->getArg(1), /*is_input=*/false);
    b_.CreateRet(b_.getInt32(0));
    b_.SetInsertPoint(too_deep);
    b_.CreateRet(b_.getInt32(static_cast<uint32_t>(-1)));
    b_.SetInsertPoint(failed);
    b_.CreateRet(b_.CreateAdd(result, b_.getInt32(1)));
  }

 private:
  // Zeros.
  llvm::Value* Words(uint32_t count) {
    auto* const type = llvm::ArrayType::get(b_.getInt64Ty(), count);
    llvm::AllocaInst* const words = b_.CreateAlloca(type);
    words->setAlignment(llvm::Align(kTensorAlign));
    b_.CreateMemSet(words, b_.getInt8(0), uint64_t{8} * count, llvm::Align(8));
    return words;
  }
  void Move(const ObjectMember& member, llvm::Value* cells, llvm::Value* structure, bool is_input) {
    const Cell& cell = region_.cells[member.cell];
    llvm::Value* const in_cells = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), cells, cell.word);
    llvm::Value* const in_structure =
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), structure, member.offset);
    const llvm::Align align(8), packed(cell.element_bytes);
    if (is_input) {
      b_.CreateMemCpy(in_cells, align, in_structure, packed, cell.bytes());
    } else {
      b_.CreateMemCpy(in_structure, packed, in_cells, align, cell.bytes());
    }
  }
  uint32_t EndOf() const {
    uint32_t at = 0;
    while (region_.instructions[at].action != Action::kEnd) ++at;
    return at;
  }
  // The stack for subroutines does not grow.
  llvm::Function* Grow() {
    auto* const ptr = llvm::PointerType::getUnqual(module_.getContext());
    auto* const type =
        llvm::FunctionType::get(b_.getInt1Ty(), {ptr, b_.getInt32Ty(), b_.getInt64Ty()}, false);
    auto* const function =
        llvm::Function::Create(type, llvm::Function::InternalLinkage, "grow", module_);
    llvm::IRBuilder<> at(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    at.CreateRet(at.getInt1(false));
    return function;
  }
  llvm::Value* Frame(llvm::Value* cells) {
    using Members = compiled::Frame;
    llvm::Value* const frame = Words(sizeof(Members) / sizeof(uint64_t));
    const auto set = [&](size_t offset, llvm::Value* value) {
      b_.CreateStore(value, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), frame, offset));
    };
    set(offsetof(Members, cells), cells);
    set(offsetof(Members, iterations), Words(static_cast<uint32_t>(region_.starts.size())));
    if (FirstSubroutine(region_) == region_.instructions.size()) return frame;
    const uint32_t num_words = request_.stack_bytes / sizeof(uint64_t) + 1;
    llvm::AllocaInst* const stack =
        b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), num_words));
    stack->setAlignment(llvm::Align(8));
    b_.CreateStore(b_.getInt64(kNoCall), stack);
    const auto word = [&](uint32_t i) {
      return b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), stack, i);
    };
    set(offsetof(Members, top), word(1));
    set(offsetof(Members, limit), word(num_words));
    set(offsetof(Members, grow), Grow());
    return frame;
  }

  const ObjectRequest& request_;
  const Region& region_;
  llvm::Function* const body_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
};

// For the processor that is asked for, whatever kernels' own functions were compiled for; and no
// name of theirs is seen from outside.
void MakePrivate(llvm::Module& module, llvm::StringRef symbol) {
  for (llvm::Function& function : module) {
    for (const char* of_the_build : {"target-cpu", "target-features", "tune-cpu", "probe-stack",
                                     "stack-protector-buffer-size", "frame-pointer"})
      function.removeFnAttr(of_the_build);
    if (function.isDeclaration() || function.getName() == symbol) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
  }
}

// What is called of Gyre or of the C++ library; empty: nothing is.
std::string Missing(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with("_Z"))
      return function.getName().str();
  return "";
}

// Empty, or why not.
std::string Make(const ObjectRequest& request, ObjectRefusal& refusal, CompileError& error) {
  const Region& region = *request.region;
  std::string why;
  const std::unique_ptr<llvm::TargetMachine> machine =
      MachineOf(request.cpu, why, refusal.knows_cpu);
  if (!refusal.knows_cpu) return "there is no such processor";
  if (machine == nullptr) return why;
  llvm::LLVMContext context;
  auto scalars = ScalarBitcode::Load(context);
  if (!scalars) return llvm::toString(scalars.takeError());
  for (uint32_t at = 0; at < region.instructions.size(); ++at) {
    if (!NeedsProcess(region.instructions[at], *scalars)) continue;
    refusal.instruction = at;
    return "it has no code of its own";
  }
  llvm::Module module(region.name, context);
  Addresses none;
  llvm::Function* const body =
      LoopGenerator(region, 0, *scalars, module, none, /*stands_alone=*/true).Generate();
  EntryWriter(request, body, module).Write();
  if (llvm::Error error = scalars->LinkInto(module)) return llvm::toString(std::move(error));
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  MakePrivate(module, request.symbol);
  llvm::raw_string_ostream mistakes(why);
  if (llvm::verifyModule(module, &mistakes)) return why;
  if (request.may_contract) AllowContraction(module);
  Optimize(module, *machine, error);
  if (error.is_stopped) return "it was stopped";
  if (const std::string missing = Missing(module); !missing.empty()) return "it calls " + missing;
  llvm::SmallString<4096> file;
  llvm::raw_svector_ostream stream(file);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return "LLVM writes no object files for it";
  passes.run(module);
  request.take(request.to, file.data(), file.size());
  return "";
}

}  // namespace

bool MakeObject(const ObjectRequest& request, ObjectRefusal* refusal, CompileError* error) {
  if (!HasReserve()) {
    error->lacks_memory = true;
    return false;
  }
  const std::string why = Make(request, *refusal, *error);
  if (!why.empty()) error->say(error, why.c_str());
  return why.empty();
}

}  // namespace gyre::compiled

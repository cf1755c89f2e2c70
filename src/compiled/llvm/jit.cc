// Compiling a Region: LLVM's pipeline, and the memory that the code lives in.
#include <mutex>
#include <optional>
#include <utility>

#include "compiled/library.h"
#include "compiled/llvm/generator.h"
#include "compiled/llvm/optimize.h"
#include "compiled/llvm/runtime.h"
#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

namespace gyre::compiled {

void AllowContraction(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(true);
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, CompileError& error,
              bool vectorize) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl known(machine.getTargetTriple());
  known.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(known); });
  llvm::PipelineTuningOptions tuning;
  if (!vectorize) tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef, llvm::Any) {
    if (!error.is_stopped && error.must_stop != nullptr) error.is_stopped = error.must_stop();
    return !error.is_stopped;
  });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

namespace {

namespace orc = llvm::orc;

// The machine that this process runs on. a * b + c rounds twice, as in kernels, but where
// AllowContraction has been.
llvm::Expected<orc::JITTargetMachineBuilder> ThisMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto machine = orc::JITTargetMachineBuilder::detectHost();
  if (!machine) return machine.takeError();
  machine->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return machine;
}

// Errors of LLVM as one: the code of the first, the texts of all.
struct Errors {
  void Add(llvm::Error error) {
    llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& info) {
      if (text.empty()) code = info.convertToErrorCode();
      text += (text.empty() ? "" : "; ") + info.message();
    });
  }

  std::error_code code;
  std::string text;
};

class LlvmCode final : public NativeCode {
 public:
  // Null: it has been stopped, and `stop` says so.
  static llvm::Expected<std::unique_ptr<LlvmCode>> Make(const Region& region, CompileError& stop) {
    auto machine = ThisMachine();
    if (!machine) return machine.takeError();
    auto target = machine->createTargetMachine();
    if (!target) return target.takeError();
    auto context = std::make_unique<llvm::LLVMContext>();
    auto scalars = ScalarBitcode::Load(*context);
    if (!scalars) return scalars.takeError();
    std::unique_ptr<llvm::Module> module = Generate(region, *scalars, *context);
    if (llvm::Error error = scalars->LinkInto(*module)) return error;
    module->setDataLayout((*target)->createDataLayout());
    std::string mistake;
    llvm::raw_string_ostream stream(mistake);
    if (llvm::verifyModule(*module, &stream)) return llvm::createStringError(mistake);
    if (region.may_contract) AllowContraction(*module);
    Optimize(*module, **target, stop);
    if (stop.is_stopped) return nullptr;
    auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
    if (!jit) return jit.takeError();
    auto code = std::make_unique<LlvmCode>();
    // What goes wrong behind a lookup is said here; the lookup's own error says less.
    (*jit)->getExecutionSession().setErrorReporter(
        [to = code.get()](llvm::Error error) { to->reported_.Add(std::move(error)); });
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*jit)->getDataLayout().getGlobalPrefix());
    if (!process) return process.takeError();
    (*jit)->getMainJITDylib().addGenerator(std::move(*process));
    if (llvm::Error error =
            (*jit)->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))))
      return error;
    code->jit_ = std::move(*jit);
    code->entries_.resize(region.starts.size());
    for (const uint32_t loop : LoopsToGenerate(region)) {
      auto entry = code->jit_->lookup(EntryName(loop));
      if (!entry) {
        code->reported_.Add(entry.takeError());
        return llvm::createStringError(code->reported_.code, code->reported_.text);
      }
      code->entries_[loop] = entry->toPtr<Entry>();
    }
    return code;
  }

 private:
  Errors reported_;
  std::unique_ptr<orc::LLJIT> jit_;  // owns the memory of the code
};

const NativeCode* Compile(const Region& region, CompileError* error) {
  if (!HasReserve()) {
    error->lacks_memory = true;
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<LlvmCode>> code = LlvmCode::Make(region, *error);
  if (code) return code->release();
  Errors errors;
  errors.Add(code.takeError());
  error->lacks_memory = errors.code == std::errc::not_enough_memory;
  error->say(error, errors.text.c_str());
  return nullptr;
}

}  // namespace
}  // namespace gyre::compiled

extern "C" __attribute__((visibility("default")))
const gyre::compiled::CompilerLibrary gyre_compiled = {
    .compile = &gyre::compiled::Compile,
    .ptx = &gyre::compiled::MakePtx,
    .object = &gyre::compiled::MakeObject,
    .gpu_kernel = &gyre::compiled::MakeGpuKernel};

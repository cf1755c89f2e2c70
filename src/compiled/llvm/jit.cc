// Compiling a Region: LLVM's pipeline, and the memory that the code lives in.
#include <mutex>
#include <optional>
#include <utility>

#include "compiled/library.h"
#include "compiled/llvm/generator.h"
#include "compiled/llvm/optimize.h"
#include "compiled/llvm/runtime.h"
#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h"
#include "llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
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
  machine->setRelocationModel(llvm::Reloc::PIC_);  // Addresses lie anywhere
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

// What an object file is made of: what is the same here makes the same code everywhere.
std::string KeyOf(const llvm::Module& module, const llvm::TargetMachine& machine,
                  bool may_contract) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::WriteBitcodeToFile(module, stream);
  stream << LLVM_VERSION_STRING << ' ' << machine.getTargetTriple().str() << ' '
         << machine.getTargetCPU() << ' ' << machine.getTargetFeatureString() << ' '
         << may_contract;
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

std::unique_ptr<llvm::MemoryBuffer> Find(const CodeStore& store, const std::string& key) {
  std::unique_ptr<llvm::MemoryBuffer> found;
  const auto take = [](void* to, const char* bytes, size_t size) {
    *static_cast<std::unique_ptr<llvm::MemoryBuffer>*>(to) =
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(bytes, size), "kept");
  };
  return store.find(&store, key.c_str(), take, &found) ? std::move(found) : nullptr;
}

class LlvmCode final : public NativeCode {
 public:
  // Null: it has been stopped, and `stop` says so.
  static llvm::Expected<std::unique_ptr<LlvmCode>> Make(const Region& region,
                                                        const CodeStore* store,
                                                        CompileError& stop) {
    auto machine = ThisMachine();
    if (!machine) return machine.takeError();
    auto target = machine->createTargetMachine();
    if (!target) return target.takeError();
    llvm::LLVMContext context;
    auto scalars = ScalarBitcode::Load(context);
    if (!scalars) return scalars.takeError();
    Addresses addresses;
    std::unique_ptr<llvm::Module> module = Generate(region, *scalars, context, addresses);
    if (llvm::Error error = scalars->LinkInto(*module)) return error;
    module->setDataLayout((*target)->createDataLayout());
    std::string mistake;
    llvm::raw_string_ostream stream(mistake);
    if (llvm::verifyModule(*module, &stream)) return llvm::createStringError(mistake);

    const std::string key = store == nullptr ? "" : KeyOf(*module, **target, region.may_contract);
    if (store != nullptr) {
      if (std::unique_ptr<llvm::MemoryBuffer> object = Find(*store, key)) {
        auto code = Load(region, *machine, addresses, std::move(object));
        if (code) return code;
        llvm::consumeError(code.takeError());  // it is made again
      }
    }
    if (region.may_contract) AllowContraction(*module);
    Optimize(*module, **target, stop);
    if (stop.is_stopped) return nullptr;
    auto object = orc::SimpleCompiler(**target)(*module);
    if (!object) return object.takeError();
    module = nullptr;  // it is large
    if (store != nullptr)
      store->keep(store, key.c_str(), (*object)->getBufferStart(), (*object)->getBufferSize());
    return Load(region, *machine, addresses, std::move(*object));
  }

 private:
  static llvm::Expected<std::unique_ptr<LlvmCode>> Load(
      const Region& region, const orc::JITTargetMachineBuilder& machine, const Addresses& addresses,
      std::unique_ptr<llvm::MemoryBuffer> object) {
    // A layer as it is: LLJIT's own would tell libgcc how to unwind the code, through which nothing
    // is thrown, and libgcc does not outlive a lack of memory there.
    auto jit =
        orc::LLJITBuilder()
            .setJITTargetMachineBuilder(machine)
            .setObjectLinkingLayerCreator(
                [](orc::ExecutionSession& session,
                   const llvm::Triple&) -> llvm::Expected<std::unique_ptr<orc::ObjectLayer>> {
                  return std::make_unique<orc::ObjectLinkingLayer>(session);
                })
            .create();
    if (!jit) return jit.takeError();
    auto code = std::make_unique<LlvmCode>();
    if (!region.names.empty()) {
      TellDebuggers(**jit);
      if (llvm::Error error = code->FindSizes(region, *object)) return error;
    }
    // What goes wrong behind a lookup is said here; the lookup's own error says less.
    (*jit)->getExecutionSession().setErrorReporter(
        [to = code.get()](llvm::Error error) { to->reported_.Add(std::move(error)); });
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        (*jit)->getDataLayout().getGlobalPrefix());
    if (!process) return process.takeError();
    orc::JITDylib& library = (*jit)->getMainJITDylib();
    library.addGenerator(std::move(*process));
    if (llvm::Error error = library.define(
            orc::absoluteSymbols(addresses.Definitions((*jit)->getExecutionSession()))))
      return error;
    if (llvm::Error error = (*jit)->addObjectFile(std::move(object))) return error;
    code->jit_ = std::move(*jit);
    code->entries_.resize(region.starts.size());
    for (const uint32_t loop : LoopsToGenerate(region)) {
      auto entry = code->jit_->lookup(EntryName(region, loop));
      if (!entry) {
        code->reported_.Add(entry.takeError());
        return llvm::createStringError(code->reported_.code, code->reported_.text);
      }
      code->entries_[loop] = entry->toPtr<Entry>();
    }
    return code;
  }

  // By the interface that gdb and lldb have for it.
  static void TellDebuggers(orc::LLJIT& jit) {
    auto* const layer = llvm::dyn_cast<orc::ObjectLinkingLayer>(&jit.getObjLinkingLayer());
    if (layer == nullptr) return;
    orc::ExecutionSession& session = jit.getExecutionSession();
    layer->addPlugin(std::make_unique<orc::DebugObjectManagerPlugin>(
        session,
        std::make_unique<orc::EPCDebugObjectRegistrar>(
            session, orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper)),
        /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
  }

  llvm::Error FindSizes(const Region& region, const llvm::MemoryBuffer& object) {
    auto file = llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef());
    if (!file) return file.takeError();
    const auto* const elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
    sizes_.resize(region.starts.size());
    for (uint32_t loop = 0; elf != nullptr && loop < sizes_.size(); ++loop) {
      for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
        llvm::Expected<llvm::StringRef> name = symbol.getName();
        if (!name) return name.takeError();
        if (*name == EntryName(region, loop)) sizes_[loop] = symbol.getSize();
      }
    }
    return llvm::Error::success();
  }

  Errors reported_;
  std::unique_ptr<orc::LLJIT> jit_;  // owns the memory of the code
};

const NativeCode* Compile(const Region& region, const CodeStore* store, CompileError* error) {
  if (!HasReserve()) {
    error->lacks_memory = true;
    return nullptr;
  }
  llvm::Expected<std::unique_ptr<LlvmCode>> code = LlvmCode::Make(region, store, *error);
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

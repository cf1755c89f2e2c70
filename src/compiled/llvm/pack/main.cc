// pack_scalars OUT IN...: from kernels' files as bitcode to one file with the functions that
// compute single elements (ops/scalar_code.h), and with quick code of objects (ops/object_code.h),
// under the names by which generated code asks for them.
//
// Kept are those that stand for themselves: which call nothing but what is kept with them and the C
// library, and read nothing but constants. Of others, kernels' addresses are called.
#include <set>
#include <string>

#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

namespace gyre::compiled {
namespace {

[[noreturn]] void Fail(const std::string& why) {
  llvm::errs() << "pack_scalars: " << why << "\n";
  std::exit(1);
}

bool StandsForItself(const llvm::Constant& constant, std::set<const llvm::Value*>& seen);

// Whether a function needs nothing that stays behind.
bool StandsForItself(const llvm::Function& function, std::set<const llvm::Value*>& seen) {
  if (!seen.insert(&function).second) return true;
  if (function.isIntrinsic()) return true;
  if (function.isDeclaration()) return !function.getName().starts_with("_Z");
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    for (const llvm::Use& operand : instruction.operands()) {
      const auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get());
      if (constant != nullptr && !StandsForItself(*constant, seen)) return false;
    }
  }
  return true;
}

bool StandsForItself(const llvm::Constant& constant, std::set<const llvm::Value*>& seen) {
  if (const auto* function = llvm::dyn_cast<llvm::Function>(&constant))
    return StandsForItself(*function, seen);
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
    if (!seen.insert(variable).second) return true;
    if (!variable->isConstant() || !variable->hasInitializer()) return false;
  }
  for (const llvm::Use& operand : constant.operands())
    if (!StandsForItself(*llvm::cast<llvm::Constant>(operand.get()), seen)) return false;
  return true;
}

// A square root is an instruction, whatever the C library does beside it.
void ReplaceSquareRoots(llvm::Module& module) {
  for (const char* name : {"sqrt", "sqrtf"}) {
    llvm::Function* const function = module.getFunction(name);
    if (function == nullptr || !function->isDeclaration()) continue;
    function->replaceAllUsesWith(llvm::Intrinsic::getDeclaration(&module, llvm::Intrinsic::sqrt,
                                                                 {function->getReturnType()}));
  }
}

// By which generated code asks for a function; empty for those for which it does not.
std::string SymbolOf(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  for (const llvm::StringRef suffix : {kScalarSuffix, kQuickSuffix}) {
    const size_t at = name.find(suffix);
    if (at != llvm::StringRef::npos) return (name.substr(0, at) + suffix).str();
  }
  return "";
}

// Leaves of the module what is to be kept; the names are added to `kept`.
void Reduce(llvm::Module& module, std::set<std::string>& kept) {
  llvm::StripDebugInfo(module);
  ReplaceSquareRoots(module);
  if (llvm::GlobalVariable* const start = module.getGlobalVariable("llvm.global_ctors"))
    start->eraseFromParent();
  if (llvm::GlobalVariable* const used = module.getGlobalVariable("llvm.used"))
    used->eraseFromParent();
  std::vector<llvm::Function*> wanted;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.setComdat(nullptr);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    // Not for what machine they were compiled, nor how.
    function.setAttributes(function.getAttributes().removeFnAttributes(module.getContext()));
    std::set<const llvm::Value*> seen;
    if (SymbolOf(function).empty() || !StandsForItself(function, seen)) continue;
    wanted.push_back(&function);
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    variable.setComdat(nullptr);
    if (!variable.isDeclaration()) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  for (llvm::GlobalAlias& alias : llvm::make_early_inc_range(module.aliases())) {
    alias.replaceAllUsesWith(alias.getAliasee());
    alias.eraseFromParent();
  }
  for (llvm::Function* const function : wanted) {
    const std::string symbol = SymbolOf(*function);
    if (!kept.insert(symbol).second) {
      if (llvm::StringRef(symbol).contains("_GLOBAL__N_"))
        Fail("two kernels are called " + symbol + ", each in a file of its own: rename one");
      continue;  // one template, used by two files
    }
    function->setName(symbol);
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    llvm::AttrBuilder attributes(module.getContext());
    attributes.addAttribute(llvm::Attribute::AlwaysInline).addAttribute(llvm::Attribute::NoUnwind);
    function->addFnAttrs(attributes);
    function->addRetAttr(llvm::Attribute::ZExt);
  }
  for (llvm::NamedMDNode& node : llvm::make_early_inc_range(module.named_metadata()))
    node.eraseFromParent();
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder().registerModuleAnalyses(modules);
  llvm::FunctionAnalysisManager functions;
  llvm::GlobalDCEPass().run(module, modules);
}

int Main(int argc, char** argv) {
  if (argc < 3) Fail("usage: pack_scalars OUT IN...");
  llvm::LLVMContext context;
  llvm::Module all("scalars", context);
  std::set<std::string> kept;
  for (int i = 2; i < argc; ++i) {
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> module = llvm::parseIRFile(argv[i], problem, context);
    if (module == nullptr) Fail(std::string(argv[i]) + ": " + problem.getMessage().str());
    all.setDataLayout(module->getDataLayout());
    all.setTargetTriple(module->getTargetTriple());
    Reduce(*module, kept);
    if (llvm::Linker::linkModules(all, std::move(module))) Fail("cannot be linked");
  }
  if (kept.empty()) Fail("no function of a single element was found");
  std::error_code error;
  llvm::raw_fd_ostream out(argv[1], error, llvm::sys::fs::OF_None);
  if (error) Fail(std::string(argv[1]) + ": " + error.message());
  llvm::WriteBitcodeToFile(all, out);
  return 0;
}

}  // namespace
}  // namespace gyre::compiled

int main(int argc, char** argv) { return gyre::compiled::Main(argc, argv); }

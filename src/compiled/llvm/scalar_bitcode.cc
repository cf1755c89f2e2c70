#include "compiled/llvm/scalar_bitcode.h"

#include <cstdint>
#include <utility>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

// What the build packed, as bytes of this library.
asm(R"(
  .section .rodata
  .balign 16
gyre_scalar_bitcode:
  .incbin ")" GYRE_SCALAR_BITCODE R"("
gyre_scalar_bitcode_end:
  .byte 0
  .text
)");
extern "C" {
extern const char gyre_scalar_bitcode[] __attribute__((visibility("hidden")));
extern const char gyre_scalar_bitcode_end[] __attribute__((visibility("hidden")));
}

namespace gyre::compiled {
namespace {

// The name that a member of this suffix has in the bitcode: "N4gyre5UnaryI…E" becomes
// "_ZN4gyre5UnaryI…" with the member behind it.
std::string SymbolOf(const std::type_info& kernel, llvm::StringRef suffix) {
  std::string symbol = "_Z" + std::string(kernel.name());
  symbol.pop_back();
  return symbol + suffix.str();
}

}  // namespace

llvm::Expected<ScalarBitcode> ScalarBitcode::Load(llvm::LLVMContext& context) {
  const llvm::StringRef bytes(gyre_scalar_bitcode,
                              static_cast<size_t>(gyre_scalar_bitcode_end - gyre_scalar_bitcode));
  auto library =
      llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "scalar functions"), context);
  if (!library) return library.takeError();
  return ScalarBitcode(std::move(*library));
}

bool ScalarBitcode::Has(const ScalarCode& code) const {
  return library_->getFunction(SymbolOf(code.kernel, kScalarSuffix)) != nullptr;
}

llvm::FunctionCallee ScalarBitcode::Import(const ScalarCode& code, llvm::Module& module,
                                           Addresses& addresses) const {
  llvm::LLVMContext& context = module.getContext();
  auto* const ptr = llvm::PointerType::getUnqual(context);
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt1Ty(context), {ptr, ptr}, false);
  const std::string symbol = SymbolOf(code.kernel, kScalarSuffix);
  if (library_->getFunction(symbol) != nullptr) return module.getOrInsertFunction(symbol, type);
  return {type, addresses.Symbol(reinterpret_cast<const void*>(code.function), module)};
}

llvm::FunctionCallee ScalarBitcode::Import(const QuickCode& code, llvm::Module& module) const {
  llvm::LLVMContext& context = module.getContext();
  const std::string symbol = SymbolOf(code.code, kQuickSuffix);
  if (library_->getFunction(symbol) == nullptr) return {};
  auto* const ptr = llvm::PointerType::getUnqual(context);
  return module.getOrInsertFunction(
      symbol, llvm::FunctionType::get(llvm::Type::getInt1Ty(context), {ptr}, false));
}

llvm::Error ScalarBitcode::LinkInto(llvm::Module& module) {
  module.setDataLayout(library_->getDataLayout());
  module.setTargetTriple(library_->getTargetTriple());
  if (llvm::Linker::linkModules(module, std::move(library_), llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("the scalar functions cannot be linked");
  for (llvm::Function& function : module) {
    const llvm::StringRef name = function.getName();
    if (function.isDeclaration() || (!name.contains(kScalarSuffix) && !name.contains(kQuickSuffix)))
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return llvm::Error::success();
}

}  // namespace gyre::compiled

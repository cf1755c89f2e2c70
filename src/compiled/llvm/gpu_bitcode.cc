#include "compiled/llvm/gpu_bitcode.h"

#include <utility>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"

// What the build compiled, as bytes of this library.
asm(R"(
  .section .rodata
  .balign 16
gyre_gpu_bitcode:
  .incbin ")" GYRE_GPU_BITCODE R"("
gyre_gpu_bitcode_end:
  .byte 0
  .text
)");
extern "C" {
extern const char gyre_gpu_bitcode[] __attribute__((visibility("hidden")));
extern const char gyre_gpu_bitcode_end[] __attribute__((visibility("hidden")));
}

namespace gyre::compiled {

llvm::Expected<GpuBitcode> GpuBitcode::Load(llvm::LLVMContext& context) {
  const llvm::StringRef bytes(gyre_gpu_bitcode,
                              static_cast<size_t>(gyre_gpu_bitcode_end - gyre_gpu_bitcode));
  auto library = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "code for GPUs"), context);
  if (!library) return library.takeError();
  return GpuBitcode(std::move(*library));
}

llvm::Error GpuBitcode::LinkInto(llvm::Module& module) {
  module.setDataLayout(library_->getDataLayout());
  module.setTargetTriple(library_->getTargetTriple());
  if (llvm::Linker::linkModules(module, std::move(library_), llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("the code for GPUs cannot be linked");
  return llvm::Error::success();
}

}  // namespace gyre::compiled

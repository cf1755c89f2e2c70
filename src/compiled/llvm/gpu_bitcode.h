// GpuBitcode: the code for GPUs that is written in C++ (src/compiled/gpu), as the build compiled
// it: kernels, and functions of floating-point numbers under the C library's names.
#pragma once

#include <memory>

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace gyre::compiled {

class GpuBitcode {
 public:
  static llvm::Expected<GpuBitcode> Load(llvm::LLVMContext& context);

  bool Has(llvm::StringRef name) const { return library_->getFunction(name) != nullptr; }
  llvm::FunctionType* TypeOf(llvm::StringRef name) const {
    return library_->getFunction(name)->getFunctionType();
  }
  // Defines what the module declares and this has. Once; the module is one for GPUs from then on.
  llvm::Error LinkInto(llvm::Module& module);

 private:
  explicit GpuBitcode(std::unique_ptr<llvm::Module> library) : library_(std::move(library)) {}

  std::unique_ptr<llvm::Module> library_;  // functions are read when they are linked
};

}  // namespace gyre::compiled

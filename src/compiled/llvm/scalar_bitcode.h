// ScalarBitcode: the functions that kernels compute single elements with, as the build compiled
// them to bitcode from the kernels' own source (ops/scalar_code.h, pack_scalars.cc).
#pragma once

#include <memory>
#include <string>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

// The name that K::Scalar has in the bitcode, for typeid(K).name().
std::string ScalarSymbol(const char* kernel);
// What that name begins with, of whatever K, is this behind its type.
inline constexpr char kScalarSuffix[] = "6ScalarEPKPKvPv";

// For one module, made in the same context.
class ScalarBitcode {
 public:
  static llvm::Expected<ScalarBitcode> Load(llvm::LLVMContext& context);

  // `code` as a function of `module`: by its name if its body is known, else by the address that it
  // has in this process.
  llvm::FunctionCallee Import(const ScalarCode& code, llvm::Module& module) const;
  // Gives `module` the bodies that it names, to be inlined. Once, at the end.
  llvm::Error LinkInto(llvm::Module& module);

 private:
  explicit ScalarBitcode(std::unique_ptr<llvm::Module> library) : library_(std::move(library)) {}
  std::unique_ptr<llvm::Module> library_;  // its functions are read when they are needed
};

}  // namespace gyre::compiled

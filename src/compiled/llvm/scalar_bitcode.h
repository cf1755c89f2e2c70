// ScalarBitcode: the functions that kernels compute single elements with, or do the common case of
// something to an object with, as the build compiled them to bitcode from the kernels' own source
// (ops/scalar_code.h, ops/object_code.h, pack_scalars.cc).
#pragma once

#include <memory>
#include <string>

#include "compiled/llvm/addresses.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "ops/object_code.h"
#include "ops/scalar_code.h"

namespace gyre::compiled {

// What K::Scalar and K::Quick are called in the bitcode, of whatever K, behind K's own name.
inline constexpr llvm::StringLiteral kScalarSuffix = "6ScalarEPKPKvPv";
inline constexpr llvm::StringLiteral kQuickSuffix = "5QuickEPKPv";

// For one module, made in the same context.
class ScalarBitcode {
 public:
  static llvm::Expected<ScalarBitcode> Load(llvm::LLVMContext& context);

  // Its body is known.
  bool Has(const ScalarCode& code) const;
  // `code` as a function of `module`: by its name if its body is known, else by its address.
  llvm::FunctionCallee Import(const ScalarCode& code, llvm::Module& module,
                              Addresses& addresses) const;
  // The same of quick code; null where its body is not known, since a call is what it is to avoid.
  llvm::FunctionCallee Import(const QuickCode& code, llvm::Module& module) const;
  // Gives `module` the bodies that it names, to be inlined. Once, at the end.
  llvm::Error LinkInto(llvm::Module& module);

 private:
  explicit ScalarBitcode(std::unique_ptr<llvm::Module> library) : library_(std::move(library)) {}
  std::unique_ptr<llvm::Module> library_;  // its functions are read when they are needed
};

}  // namespace gyre::compiled

// From a Region to LLVM's intermediate representation.
#pragma once

#include <memory>
#include <string>

#include "compiled/region.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace gyre::compiled {

class ScalarBitcode;

// The symbol of the generated function, `uint32_t(Frame*)`.
inline constexpr char kEntryName[] = "gyre_region";

// A module with that function, and with the scalar functions that it inlines.
std::unique_ptr<llvm::Module> Generate(const Region& region, const ScalarBitcode& scalars,
                                       llvm::LLVMContext& context);

}  // namespace gyre::compiled

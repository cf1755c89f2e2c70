// From a Region to LLVM's intermediate representation.
#pragma once

#include <memory>
#include <string>

#include "compiled/region.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace gyre::compiled {

class Addresses;
class ScalarBitcode;

// The symbol of the function that runs a loop of the region, `uint32_t(Frame*)`.
std::string EntryName(const Region& region, uint32_t loop);

// The loops that get a function: the outermost one, and as many of the smallest others as fit the
// time that compiling may take. A loop's function has all loops within it once more.
std::vector<uint32_t> LoopsToGenerate(const Region& region);

// A module with those functions; `addresses` are what it names of the process.
std::unique_ptr<llvm::Module> Generate(const Region& region, const ScalarBitcode& scalars,
                                       llvm::LLVMContext& context, Addresses& addresses);

}  // namespace gyre::compiled

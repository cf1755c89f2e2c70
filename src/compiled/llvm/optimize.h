// LLVM's pipeline, as all code of this library goes through it.
#pragma once

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace gyre::compiled {

// LLVM's own -O2, with vectors or without. It knows no function of the C library: what the kernels
// call is called, and not replaced by something that rounds otherwise.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, bool vectorize = true);

}  // namespace gyre::compiled

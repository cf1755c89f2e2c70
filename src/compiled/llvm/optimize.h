// LLVM's pipeline, as all code of this library goes through it.
#pragma once

#include "compiled/region.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace gyre::compiled {

// LLVM's own -O2, with vectors or without. It knows no function of the C library: what the kernels
// call is called, and not replaced by something that rounds otherwise.
// Where `error` says that it must stop, what is left of it is left out, and that is noted there.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, CompileError& error,
              bool vectorize = true);

// Marks what may be rounded once, of the loop itself and of kernels' functions that it inlines.
void AllowContraction(llvm::Module& module);

}  // namespace gyre::compiled

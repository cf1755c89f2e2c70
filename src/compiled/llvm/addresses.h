// Addresses: what generated code names of the process that it runs in (functions, shapes, plans),
// as symbols: the code itself is the same in each process, and can be kept for others (CodeStore).
#pragma once

#include <map>
#include <string>

#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/IR/Module.h"

namespace gyre::compiled {

// Of one module. Not thread-safe.
class Addresses {
 public:
  // A pointer to `of`, which is not null.
  llvm::Value* Symbol(const void* of, llvm::Module& module) {
    const auto [name, is_new] = names_.try_emplace(of);
    if (is_new) name->second = "gyre_address_" + std::to_string(names_.size());
    return module.getOrInsertGlobal(name->second, llvm::Type::getInt8Ty(module.getContext()));
  }

  // What the symbols stand for, here.
  llvm::orc::SymbolMap Definitions(llvm::orc::ExecutionSession& session) const {
    llvm::orc::SymbolMap definitions;
    for (const auto& [address, name] : names_)
      definitions[session.intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                           llvm::JITSymbolFlags::Exported};
    return definitions;
  }

 private:
  std::map<const void*, std::string> names_;
};

}  // namespace gyre::compiled

#include "compiled/llvm/generator.h"

#include "compiled/llvm/loop_generator.h"
#include "compiled/llvm/scalar_bitcode.h"
#include "llvm/ADT/STLExtras.h"

namespace gyre::compiled {

std::string EntryName(const Region& region, uint32_t loop) {
  const std::string number = std::to_string(loop);
  if (region.names.empty()) return "gyre_loop_" + number;
  return "gyre: " + region.names[loop] + (loop == 0 ? "" : " [" + number + "]");
}

std::vector<uint32_t> LoopsToGenerate(const Region& region) {
  constexpr size_t kMostInstructions = 640;         // of all functions
  std::vector<std::pair<size_t, uint32_t>> others;  // with the sizes
  size_t size = 0;
  uint32_t begin = 0;  // of the last subroutine
  // All functions have these in them.
  const size_t of_subroutines = region.instructions.size() - FirstSubroutine(region);
  for (uint32_t at = 0; at < region.instructions.size(); ++at) {
    const Instruction& op = region.instructions[at];
    if (op.action == Action::kBegin) begin = at;
    if (op.action != Action::kAgain && op.action != Action::kEnd && op.action != Action::kReturn)
      continue;
    const uint32_t loop = op.action == Action::kReturn ? region.instructions[begin].loop : op.loop;
    const size_t of_loop = at + 1 - region.starts[loop] + of_subroutines;
    loop == 0 ? void(size = of_loop) : others.push_back({of_loop, loop});
  }
  llvm::sort(others);
  std::vector<uint32_t> loops = {0};
  for (const auto& [of_loop, loop] : others) {
    size += of_loop;
    if (size > kMostInstructions) break;
    loops.push_back(loop);
  }
  return loops;
}

std::unique_ptr<llvm::Module> Generate(const Region& region, const ScalarBitcode& scalars,
                                       llvm::LLVMContext& context, Addresses& addresses) {
  auto module = std::make_unique<llvm::Module>(region.name, context);
  for (const uint32_t loop : LoopsToGenerate(region))
    LoopGenerator(region, loop, scalars, *module, addresses).Generate();
  return module;
}

}  // namespace gyre::compiled

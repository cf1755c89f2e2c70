#include "devices/cuda/code.h"

#include <map>

#include "base/fork.h"
#include "base/status.h"

namespace gyre::cuda {
namespace {

PtxMaker the_maker;

}  // namespace

void UsePtxMaker(const PtxMaker& maker) { the_maker = maker; }
const PtxMaker& ThePtxMaker() { return the_maker; }

absl::StatusOr<std::shared_ptr<Code>> LibraryCode(const std::string& name) {
  using Made = absl::StatusOr<std::shared_ptr<Code>>;
  static auto* const mutex = new std::mutex;
  static auto* const codes = new std::map<std::string, Made>;  // guarded by *mutex
  if (!RunsKernels()) return absl::UnimplementedError("the driver runs none");
  if (the_maker.kernel == nullptr) return absl::UnimplementedError("nothing generates them");
  const NoFork no_fork;
  const std::lock_guard lock(*mutex);
  if (const auto it = codes->find(name); it != codes->end()) return it->second;
  const absl::StatusOr<std::string> ptx = the_maker.kernel(name);
  Made made = ptx.ok() ? Made(std::make_shared<Code>(*ptx, name)) : Made(ptx.status());
  return codes->emplace(name, std::move(made)).first->second;
}

bool RunsKernels() {
  const absl::StatusOr<const Driver*>& driver = TheDriver();
  return driver.ok() && (*driver)->LaunchKernel != nullptr &&
         (*driver)->ModuleLoadData != nullptr && (*driver)->ModuleGetFunction != nullptr;
}

absl::Status Code::LaunchOn(const Gpu& gpu, StreamHandle stream, Grid grid, const void* parameter) {
  GYRE_ASSIGN_OR_RETURN(const FunctionHandle function, On(gpu));
  void* parameters[] = {const_cast<void*>(parameter)};
  return gpu.Check("cuLaunchKernel",
                   gpu.driver().LaunchKernel(function, grid.blocks, 1, 1, grid.threads, 1, 1,
                                             grid.shared, stream, parameters, nullptr));
}

absl::StatusOr<FunctionHandle> Code::On(const Gpu& gpu) {
  std::atomic<FunctionHandle>& loaded = loaded_[static_cast<size_t>(gpu.number())];
  if (FunctionHandle function = loaded.load(std::memory_order_acquire); function != nullptr)
    return function;
  const std::lock_guard lock(mutex_);
  FunctionHandle function = loaded.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  ModuleHandle module = nullptr;
  GYRE_RETURN_IF_ERROR(
      gpu.Check("cuModuleLoadData", gpu.driver().ModuleLoadData(&module, ptx_.c_str())));
  GYRE_RETURN_IF_ERROR(gpu.Check(
      "cuModuleGetFunction", gpu.driver().ModuleGetFunction(&function, module, function_.c_str())));
  loaded.store(function, std::memory_order_release);
  return function;
}

}  // namespace gyre::cuda

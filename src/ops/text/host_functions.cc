#include "ops/text/host_functions.h"

#include <utility>

#include "base/fork.h"

namespace gyre {

HostFunctions& HostFunctions::Global() {
  static auto* const functions = new HostFunctions;
  return *functions;
}

void HostFunctions::Set(absl::string_view token, Function function) {
  auto shared = std::make_shared<const Function>(std::move(function));
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  functions_[std::string(token)] = std::move(shared);
}

bool HostFunctions::Erase(absl::string_view token) {
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  return functions_.erase(std::string(token)) > 0;
}

std::shared_ptr<const HostFunctions::Function> HostFunctions::Find(absl::string_view token) const {
  const NoFork no_fork;
  std::lock_guard lock(mutex_);
  const auto it = functions_.find(std::string(token));
  return it == functions_.end() ? nullptr : it->second;
}

}  // namespace gyre

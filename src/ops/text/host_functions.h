// Functions of the host program that graphs may call by token: what stands behind PyFunc and its
// kin.
//
// Thread-safe. A function stays callable by those that have found it, even after it has been
// removed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"
#include "gyre/core/tensor.h"

namespace gyre {

class GYRE_INTERNAL_EXPORT HostFunctions {
 public:
  // May be called from several threads at once.
  using Function =
      std::function<absl::StatusOr<std::vector<Tensor>>(absl::Span<const Tensor> arguments)>;

  // The process's own; lives for ever.
  static HostFunctions& Global();

  // Adds or replaces.
  void Set(absl::string_view token, Function function);
  // False when there was none.
  bool Erase(absl::string_view token);
  // Null when there is none.
  std::shared_ptr<const Function> Find(absl::string_view token) const;

 private:
  mutable std::mutex mutex_;  // of all below
  std::map<std::string, std::shared_ptr<const Function>> functions_;
};

}  // namespace gyre

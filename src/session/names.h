// Names: which values and nodes of a program's main graph people mean. Immutable; the program must
// outlive it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "analysis/run_signature.h"
#include "base/hash_map.h"
#include "gyre/core/session.h"
#include "ir/program.h"

namespace gyre {

// "node:slot" in its parts; "node" means slot 0. INVALID_ARGUMENT for a slot that is no number.
struct TensorName {
  absl::string_view node;
  int32_t slot = 0;
};
absl::StatusOr<TensorName> ParseTensorName(absl::string_view name);

class MainNames {
 public:
  explicit MainNames(const Program& program);

  // The tensor of that name. NOT_FOUND suggests names that are close; INVALID_ARGUMENT.
  absl::StatusOr<Endpoint> FindEndpoint(absl::string_view name) const;
  // "node"; "node:0" will do.
  absl::StatusOr<NodeId> FindTarget(absl::string_view name) const;
  // What a run is asked for by these names, in their order.
  absl::StatusOr<RunSignature> FindSignature(const std::vector<std::string>& feeds,
                                             const std::vector<std::string>& fetches,
                                             const std::vector<std::string>& targets = {}) const;

 private:
  const Function& main_;
  HashMap<std::string, NodeId> ids_;
};

// What Session::Prepare and Session::Callable::Run take of feeds.
std::vector<std::string> NamesOf(const Feeds& feeds);
std::vector<Tensor> ValuesOf(const Feeds& feeds);

}  // namespace gyre

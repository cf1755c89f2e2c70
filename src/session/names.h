// Names: which values and nodes of a program's main graph people mean. Immutable; the program must
// outlive it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "ir/program.h"

namespace gyre {

class MainNames {
 public:
  explicit MainNames(const Program& program);

  // "node:slot"; "node" means slot 0. NOT_FOUND, INVALID_ARGUMENT.
  absl::StatusOr<Endpoint> FindEndpoint(absl::string_view name) const;
  // "node"; "node:0" will do.
  absl::StatusOr<NodeId> FindTarget(absl::string_view name) const;

 private:
  const Function& main_;
  HashMap<std::string, NodeId> ids_;
};

}  // namespace gyre

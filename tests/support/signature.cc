#include "support/signature.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace gyre::testing {

absl::StatusOr<Endpoint> FindEndpoint(const Program& program, const std::string& name) {
  std::string node_name = name;
  int slot = 0;
  if (const size_t colon = name.rfind(':'); colon != std::string::npos) {
    if (!absl::SimpleAtoi(name.substr(colon + 1), &slot))
      return absl::InvalidArgumentError(name + " is no endpoint");
    node_name = name.substr(0, colon);
  }
  const Node* node = program.main().FindNode(node_name);
  if (node == nullptr) return absl::NotFoundError(absl::StrCat("no node ", node_name));
  if (node->op != nullptr && slot >= node->num_outputs())
    return absl::InvalidArgumentError(absl::StrCat("no output ", name));
  return Endpoint{node->id, slot};
}

absl::StatusOr<RunSignature> SignatureOf(const Program& program,
                                         const std::vector<std::string>& feeds,
                                         const std::vector<std::string>& fetches,
                                         const std::vector<std::string>& targets) {
  RunSignature signature;
  for (const std::string& name : feeds) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint e, FindEndpoint(program, name));
    signature.feeds.push_back(e);
  }
  for (const std::string& name : fetches) {
    GYRE_ASSIGN_OR_RETURN(const Endpoint e, FindEndpoint(program, name));
    signature.fetches.push_back(e);
  }
  for (const std::string& name : targets) {
    const Node* node = program.main().FindNode(name);
    if (node == nullptr) return absl::NotFoundError(absl::StrCat("no node ", name));
    signature.targets.push_back(node->id);
  }
  return signature;
}

}  // namespace gyre::testing

// SessionNames: the names of nodes in graphs that follow the rules of TensorFlow's sessions
// (GraphState::FollowSessionRules). Programs look nodes up by these names, so they must be its own:
// a node of no given name is called after the function that makes it there ("add" of +, "Sum"); of
// two names that differ in case at most, the later one gets a suffix; names of scopes count, too.
//
// Not thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "base/hash_map.h"
#include "base/internal_export.h"

namespace gyre::internal {

class GYRE_INTERNAL_EXPORT SessionNames {
 public:
  // What a node of this op is called when nobody says.
  static absl::string_view DefaultName(absl::string_view op);

  // `wanted` within the current scope, with a suffix if that is taken. It is taken from now on,
  // unless it is only asked for.
  std::string Claim(absl::string_view wanted, bool take = true);
  // The same for a name that the current scope is not put in front of.
  std::string ClaimAbsolute(std::string wanted, bool take = true);

  // Empty: the outermost. Otherwise without a slash at its end.
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }

 private:
  std::string scope_;
  HashMap<std::string, int> taken_;  // in lower case; how many asked for each
};

}  // namespace gyre::internal

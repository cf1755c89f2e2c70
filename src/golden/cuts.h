// What of a golden case's programs the borders between devices cross, where it runs on several.
// Stateless; any thread.
#pragma once

#include <string>

#include "golden/case.h"
#include "gyre/core/session.h"

namespace gyre::golden {

// Of all different runs of a case together.
struct CaseCuts {
  int edges = 0;        // that placement may cut
  int cut = 0;          // that it does cut
  std::string why_not;  // there is no such edge; empty: there are some

  // "3 of 17 edges cut"
  std::string ToString() const;
};

// `session` has loaded the case; `options` are its own, with devices or a cluster.
CaseCuts CountCuts(const Case& golden, const Session& session, const SessionOptions& options);

}  // namespace gyre::golden

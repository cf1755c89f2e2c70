// Status helpers shared by every layer: early-return macros and the two error grammars.
//
// A user's mistake is reported with a canonical code and a sentence (use the absl::*Error
// functions). A broken invariant of Gyre itself is reported with `BugError`, never with an abort:
// data, graphs and messages must not be able to end the process. See CONTRIBUTING.md, "Errors".
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gyre/core/export.h"

namespace gyre {

// INTERNAL, worded as a bug in Gyre. `invariant` says what should have been true.
GYRE_EXPORT absl::Status BugError(absl::string_view invariant);

// The same code and payloads, with `context` put in front of the message ("context: message").
// An OK status stays OK.
GYRE_EXPORT absl::Status Annotate(const absl::Status& status, absl::string_view context);

// True for errors that follow from another one (cancelled, aborted): they never mask the first.
GYRE_EXPORT bool IsDerivedError(const absl::Status& status);

}  // namespace gyre

// Returns the status of `expr` from the enclosing function unless it is OK.
#define GYRE_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                 \
    if (::absl::Status gyre_status_ = (expr); !gyre_status_.ok()) return gyre_status_; \
  } while (false)

#define GYRE_CONCAT_INNER_(a, b) a##b
#define GYRE_CONCAT_(a, b) GYRE_CONCAT_INNER_(a, b)

// `GYRE_ASSIGN_OR_RETURN(auto x, Compute());` unwraps a StatusOr or returns its status.
#define GYRE_ASSIGN_OR_RETURN(lhs, expr) \
  GYRE_ASSIGN_OR_RETURN_IMPL_(GYRE_CONCAT_(gyre_statusor_, __LINE__), lhs, expr)
#define GYRE_ASSIGN_OR_RETURN_IMPL_(var, lhs, expr) \
  auto var = (expr);                                \
  if (!var.ok()) return std::move(var).status();    \
  lhs = *std::move(var)

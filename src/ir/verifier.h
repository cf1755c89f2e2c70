// The verifier: what must be true of a program, as a table of rules.
//
// Run after import, and by the pass pipeline after every pass in debug builds. The first rule that
// does not hold is reported, with the function and node where it fails.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/program.h"

namespace gyre {

enum class Dialect {
  // What holds for every program, also for one that was just read from a file: the parts of it that
  // no run needs may
  // call functions that don't fit, or have frames that make no sense.
  kAny,
  // Control flow is If, Case, While, For and calls.
  kStructured,
  // Control flow may be Switch, Merge, Enter, Exit and NextIteration.
  kDataflow,
};

struct VerifierRule {
  absl::string_view name;
  absl::string_view doc;  // one sentence: what must be true
  unsigned dialects = 0;  // bit `1 << dialect` is set for those that have the rule
  // One of these is set. Status messages say what is wrong; the verifier adds where.
  absl::Status (*check_function)(const Program&, const Function&) = nullptr;
  absl::Status (*check_node)(const Program&, const Function&, const Node&) = nullptr;

  bool IsIn(Dialect dialect) const { return (dialects >> static_cast<int>(dialect)) & 1; }
};

// In the order in which they are checked: later rules rely on earlier ones.
absl::Span<const VerifierRule> VerifierRules();

// OK, or the code of the rule's own error (mostly INVALID_ARGUMENT), worded
// "rule unique-names does not hold in function body at node x: …".
absl::Status Verify(const Program& program, Dialect dialect);

}  // namespace gyre

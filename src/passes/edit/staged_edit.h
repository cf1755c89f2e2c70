// StagedEdit: a staged program under change, function by function.
//
// Functions that a pass has already changed are seen as they are now. Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/effects.h"
#include "base/hash_map.h"
#include "passes/edit/body.h"
#include "passes/edit/rewrite.h"
#include "passes/staged.h"

namespace gyre::passes {

class StagedEdit {
 public:
  explicit StagedEdit(const Staged& staged);

  const OpLookup& ops() const { return staged_.program->ops(); }
  // As it was before any change.
  const Program& program() const { return *staged_.program; }
  const Function& main() const;
  const RunSignature& run() const { return staged_.signature; }
  // Null when there is none.
  const Function* Find(absl::string_view name) const;
  // The functions that the main graph uses, directly or not: called, named by attributes, or the
  // gradient functions of such. Callees come before their callers, as far as calls are no cycle.
  std::vector<std::string> CalleesFirst() const;
  std::string UniqueFunctionName(absl::string_view wanted);

  // Starts changing a function, or the main graph for "".
  Rewrite Change(absl::string_view name) const;
  // Takes what has become of it, if it was changed.
  absl::Status Take(absl::string_view name, Rewrite rewrite);
  void SetFunction(Function function);
  // Erases the functions that the main graph does not use any more.
  void EraseUnused();

  Staged Finish() &&;

 private:
  Staged staged_;
  HashMap<std::string, int> numbers_;  // the last one given to each wanted name
  std::unique_ptr<Function> main_;     // null: not changed
  std::map<std::string, std::unique_ptr<Function>> functions_;  // changed; null: erased
};

// Changes the main graph and every function that it uses, each by itself; those with primitives are
// left alone. `edit` gets the name, "" for the main graph.
absl::StatusOr<Staged> RewriteEach(
    const Staged& staged,
    const std::function<absl::Status(absl::string_view name, Rewrite& rewrite)>& edit);

// The same for passes that look from callers into what they call: callees come before their
// callers, which see them changed. `edit` gets what is known of the function before its change.
absl::Status RewriteCalleesFirst(
    StagedEdit& staged_edit, const Effects& effects,
    const std::function<absl::Status(const std::string& name, const BodyFacts& body,
                                     Rewrite& rewrite)>& edit);

}  // namespace gyre::passes

// "Did you mean": names that somebody who mistyped one may have meant. Stateless; any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gyre {

// Inserted, deleted, replaced or swapped neighbouring characters that lead from `a` to `b`.
int EditDistance(absl::string_view a, absl::string_view b);

// At most three of `names`, closest first: those that differ from `typed` by a few characters or in
// case alone, and those that end in "/typed".
std::vector<std::string> CloseNames(absl::string_view typed, absl::Span<const std::string> names);

// "; did you mean 'a' or 'b'?", or "" when nothing is close.
std::string DidYouMean(absl::string_view typed, absl::Span<const std::string> names);

}  // namespace gyre

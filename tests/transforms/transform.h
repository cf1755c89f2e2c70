// What passes, lowering, gradients, vectorising and cutting make of a program, as text. Stateless.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "transforms/text_case.h"

namespace gyre::testing {

// The text of the program that comes out, and of which feed, fetch or target is another node there;
// "unchanged" for the very program that went in; "error: CODE: message" for a refusal.
// INVALID_ARGUMENT, NOT_FOUND: the case itself is wrong. INTERNAL: what comes out is not sound.
absl::StatusOr<std::string> ComesOut(const TextCase& text_case);

}  // namespace gyre::testing

// Letters of Unicode in the other case. Stateless; any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ops/kernel.h"

namespace gyre {

// Appends a text in UTF-8 with its letters in upper (lower) case, as SpecialCasing.txt of Unicode
// has it without a language: a letter may become several, and a sigma at the end of a word has a
// form of its own. Malformed bytes become U+FFFD. UNIMPLEMENTED where the C library knows no
// letters.
absl::Status AppendUpper(const KernelContext& ctx, absl::string_view text, std::string& out);
absl::Status AppendLower(const KernelContext& ctx, absl::string_view text, std::string& out);

}  // namespace gyre

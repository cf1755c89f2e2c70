// Messages quote names that files hold, which may be megabytes long: shortened where people read
// them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "base/internal_export.h"

namespace gyre {

// The message with the first 200 bytes and "…" of each word, which is what stands between white
// space, of more than 1,000. Characters of UTF-8 stay whole.
GYRE_INTERNAL_EXPORT std::string CutLongWords(absl::string_view message);

}  // namespace gyre

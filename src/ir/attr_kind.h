// What kinds of attributes are called. Stateless.
#pragma once

#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "ir/op_def.h"

namespace gyre {

// As schemas write it: "int", "func", …
GYRE_INTERNAL_EXPORT absl::string_view AttrKindName(AttrKind kind);

}  // namespace gyre

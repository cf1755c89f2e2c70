// What kinds of attributes are called. Stateless.
#pragma once

#include "absl/strings/string_view.h"
#include "ir/op_def.h"

namespace gyre {

// As schemas write it: "int", "func", …
absl::string_view AttrKindName(AttrKind kind);

}  // namespace gyre

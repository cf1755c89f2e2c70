// Attributes of a TensorListPushBack by which a loop saves a value for its gradient.
#pragma once

#include "absl/strings/string_view.h"

namespace gyre {

// The loop, as FUNCTION/NAME, or NAME in the main graph; and the value in its body.
inline constexpr absl::string_view kSavingLoopAttr = "_gyre_saving_loop";
inline constexpr absl::string_view kSavedValueAttr = "_gyre_saved_value";

}  // namespace gyre

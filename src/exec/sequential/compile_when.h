// When loops become native code.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gyre {

struct CompileWhen {
  enum class Mode : uint8_t {
    kHot,    // once a loop has run for some milliseconds, in the background; where it runs then, it
             // goes on as native code at the end of an iteration
    kFirst,  // before the first run: an error where there is no code generator
    kNever,
  };
  Mode mode = Mode::kHot;
  // For tests of kHot: after so many kernels, at once, on the thread that runs the loop.
  std::optional<int64_t> at_once_after;
};

// Of "auto" (or ""), "always", "never", or, for tests, "after:KERNELS". INVALID_ARGUMENT for
// others.
absl::StatusOr<CompileWhen> ParseCompileWhen(absl::string_view text);

}  // namespace gyre

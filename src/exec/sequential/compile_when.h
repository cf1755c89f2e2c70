// When loops become native code.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "gyre/core/options.h"

namespace gyre {

// kAuto: where a loop runs when its code is made, it goes on as native code at the end of an
// iteration.
struct CompileWhen {
  CompileMode mode = CompileMode::kAuto;
  // Of CompilesFirst: conditionals that stand in no loop, too, although most are too small to gain
  // by it.
  bool conditionals = false;
  // For tests of kAuto: after so many kernels, at once, on the thread that runs the loop.
  std::optional<int64_t> at_once_after;
};

// What `mode` says, or, if that is kAuto, the environment variable GYRE_COMPILE: "auto" (or ""),
// "always", "never", "contract", or, for tests, "after:KERNELS". INVALID_ARGUMENT for others; errors
// of CodeCache::Get.
absl::StatusOr<CompileWhen> CompileWhenOf(CompileMode mode);

}  // namespace gyre

#include "exec/sequential/compile_when.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "compiled/code_cache.h"

namespace gyre {

absl::StatusOr<CompileWhen> CompileWhenOf(CompileMode mode) {
  GYRE_RETURN_IF_ERROR(compiled::CodeCache::Get().status());  // nothing to find out amid a run
  if (mode != CompileMode::kAuto) return CompileWhen{.mode = mode};
  const char* const variable = std::getenv("GYRE_COMPILE");
  const absl::string_view text = variable == nullptr ? "" : variable;
  if (text.empty()) return CompileWhen{};
  if (const absl::StatusOr<CompileMode> said = ParseCompileMode(text); said.ok())
    return CompileWhen{.mode = *said};
  absl::string_view number = text;
  int64_t kernels = 0;
  if (absl::ConsumePrefix(&number, "after:") && absl::SimpleAtoi(number, &kernels) && kernels > 0)
    return CompileWhen{.at_once_after = kernels};
  return absl::InvalidArgumentError(
      absl::StrCat("GYRE_COMPILE is '", text,
                   "', which says of no loop when to compile it: auto, always, never or contract"));
}

}  // namespace gyre

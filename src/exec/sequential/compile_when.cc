#include "exec/sequential/compile_when.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gyre {

absl::StatusOr<CompileWhen> ParseCompileWhen(absl::string_view text) {
  using Mode = CompileWhen::Mode;
  if (text.empty() || text == "auto") return CompileWhen{};
  if (text == "always") return CompileWhen{.mode = Mode::kFirst};
  if (text == "never") return CompileWhen{.mode = Mode::kNever};
  absl::string_view number = text;
  int64_t kernels = 0;
  if (absl::ConsumePrefix(&number, "after:") && absl::SimpleAtoi(number, &kernels) && kernels > 0)
    return CompileWhen{.at_once_after = kernels};
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not when loops can be compiled: auto, always or never"));
}

}  // namespace gyre

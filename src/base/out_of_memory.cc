#include "base/out_of_memory.h"

#include "absl/strings/str_cat.h"

namespace gyre {

absl::Status OutOfMemoryError(absl::string_view what) noexcept {
  try {
    return absl::ResourceExhaustedError(absl::StrCat("the machine has no memory left for ", what));
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

absl::Status MisuseError(const std::logic_error& thrown) {
  return absl::InternalError(absl::StrCat("a kernel misuses a tensor: ", thrown.what()));
}

}  // namespace gyre

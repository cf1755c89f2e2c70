#include "front/error.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace gyre {

Error::Error(absl::Status status)
    : std::runtime_error(status.ToString(absl::StatusToStringMode::kWithNoExtraData)), status_(std::move(status)) {}

namespace internal {

namespace {
thread_local LineProvider line_provider = nullptr;
}  // namespace

LineProvider SetLineProvider(LineProvider provider) {
  return std::exchange(line_provider, provider);
}

std::string LineOf(const std::source_location& where) {
  if (line_provider != nullptr) return line_provider();
  return absl::StrCat(where.file_name(), ":", where.line());
}

void Throw(absl::Status status) { throw Error(std::move(status)); }

void ThrowInvalid(absl::string_view message, const std::source_location& where) {
  const std::string line = LineOf(where);
  Throw(absl::InvalidArgumentError(line.empty() ? std::string(message)
                                                : absl::StrCat(message, "\n  at ", line)));
}

}  // namespace internal
}  // namespace gyre

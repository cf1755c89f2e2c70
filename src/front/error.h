// How the front end says what is wrong: statuses of the core become Errors that name a line.
// Stateless.
#pragma once

#include <source_location>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gyre/value.h"

namespace gyre::internal {

// "file.cc:12".
std::string LineOf(const std::source_location& where);

[[noreturn]] void Throw(absl::Status status);
// INVALID_ARGUMENT with the line.
[[noreturn]] void ThrowInvalid(absl::string_view message, const std::source_location& where);

template <typename T>
T ValueOrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) Throw(std::move(result).status());
  return *std::move(result);
}

}  // namespace gyre::internal

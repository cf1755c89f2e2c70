// How the front end says what is wrong: statuses of the core become Errors that name a line.
// Stateless.
#pragma once

#include <source_location>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/internal_export.h"
#include "gyre/value.h"

namespace gyre::internal {

// "file.cc:12", or what this thread's line provider says.
GYRE_INTERNAL_EXPORT std::string LineOf(const std::source_location& where);

// Asked on this thread for the line that is being traced, from now on: for bindings of languages
// whose users have no std::source_location. Null: the one of C++ counts. May throw. Returns the
// provider before.
using LineProvider = std::string (*)();
GYRE_INTERNAL_EXPORT LineProvider SetLineProvider(LineProvider provider);

[[noreturn]] void Throw(absl::Status status);
// INVALID_ARGUMENT with the line.
[[noreturn]] void ThrowInvalid(absl::string_view message, const std::source_location& where);

template <typename T>
T ValueOrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) Throw(std::move(result).status());
  return *std::move(result);
}

}  // namespace gyre::internal

// What becomes of std::bad_alloc. Inside, code may throw it, and leaves what it works on whole; at
// the end of each thread's way through the engine (a call from outside, a run's part, a completion)
// it becomes an error. So does what a kernel of a plug-in throws that reads a tensor as what it is
// not (BadTensorAccess). Stateless; any thread.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gyre {

// RESOURCE_EXHAUSTED: "the machine has no memory left for" `what`; without words when there is no
// memory for them either.
absl::Status OutOfMemoryError(absl::string_view what) noexcept;

// INTERNAL, with the words of what was thrown.
absl::Status MisuseError(const std::logic_error& thrown);

// What `f` returns, a Status or a StatusOr, or OutOfMemoryError(what) when it runs out of memory:
// containers throw std::length_error where they are asked for more than any machine has. Of any
// other std::logic_error, MisuseError.
template <typename F>
auto CatchOutOfMemory(absl::string_view what, F&& f) -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  } catch (const std::logic_error& thrown) {
    return MisuseError(thrown);
  }
  return OutOfMemoryError(what);
}

}  // namespace gyre

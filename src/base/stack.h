// The stack of a thread: functions that call themselves as deep as a program nests ask for it, and
// end in an error (CheckStack, base/work.h), or know less. Stateless; any thread, of its own stack.
#pragma once

#include "absl/status/status.h"

namespace gyre {

// Whether a quarter of the stack is left, or less; at least 48 KiB, which whatever does not nest
// can do with, or half of a smaller one; at most 1 MiB. False where the stack's size is not known.
// Some nanoseconds.
bool StackIsNearlyFull();
// RESOURCE_EXHAUSTED: why what is nested deeply goes no deeper.
absl::Status StackError();

}  // namespace gyre

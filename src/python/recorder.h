// Recorders: what gradient tapes see of ops that run at once.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "ir/op_def.h"
#include "python/eager.h"
#include "python/python.h"

namespace gyre::python {

// Whether one is active on this thread.
bool HasRecorders();
// Tells the active ones of an op that has run. `formals`: of which formal input each input is.
void RecordOp(const OpDef& op, EagerOp& eager, absl::Span<const nb::handle> inputs,
              absl::Span<const int> formals, absl::Span<const nb::object> outputs);

}  // namespace gyre::python

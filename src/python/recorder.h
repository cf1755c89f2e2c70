// Recorders: what gradient tapes see, of ops that run at once and of graphs that are built.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "front/tape_record.h"
#include "ir/op_def.h"
#include "python/eager.h"
#include "python/python.h"

namespace gyre::python {

// Whether one is active on this thread.
bool HasRecorders();
// Tells the active ones of an op that has run. `formals`: of which formal input each input is.
void RecordOp(const OpDef& op, EagerOp& eager, absl::Span<const nb::handle> inputs,
              absl::Span<const int> formals, absl::Span<const nb::object> outputs);

class GraphCore;

// What a Recorder saw of a graph that is current. TypeError for what is no Recorder.
gyre::internal::TapeRecord RecordOf(nb::handle recorder, const GraphCore& graph);

}  // namespace gyre::python

// Tapes in Python: the recording of src/eager, and what Python records beside ops.
#pragma once

#include "eager/plan_graph.h"
#include "front/tape_record.h"
#include "python/python.h"
#include "python/tensor.h"

namespace gyre::python {

class GraphCore;

inline eager::EagerTensor ToEager(const PyTensor& tensor) {
  return {tensor.eager, tensor.id, tensor.owner};
}

// What a Tape saw of a graph that is current. TypeError for what is no Tape.
gyre::internal::TapeRecord RecordOf(nb::handle tape, const GraphCore& graph);

// A graph for plans, in which Python can replay what it has recorded. As when a Graph is entered:
// throws what handlers raise for signals that have come just before.
std::unique_ptr<eager::PlanGraph> NewPlanGraph();

}  // namespace gyre::python

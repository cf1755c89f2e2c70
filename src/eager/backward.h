// Backwards through what a tape recorded.
//
// The steps between sources and targets become a Plan: a graph in which these ops stand again, with
// their gradients. What was computed before is fed, not computed (or effected) again, so that only
// the gradients run. Plans are kept by the structure of the steps: a training step is traced once.
//
// Steps that go back by themselves (custom gradients, calls) part the others into segments, which
// are gone through from the last to the first:
//
//     sources ──[ segment ]── custom ──[ segment ]── targets
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "base/hash_map.h"
#include "base/internal_export.h"
#include "eager/step.h"
#include "eager/tape.h"

namespace gyre::eager {

class Context;

// Of each source, in order; what is not in `watched` has none.
GYRE_INTERNAL_EXPORT std::vector<Adjoint> Backward(
    Context& context, absl::Span<const std::shared_ptr<const Step>> steps,
    absl::Span<const Target> targets, absl::Span<const EagerTensor> sources,
    const HashSet<uint64_t>& watched);

}  // namespace gyre::eager

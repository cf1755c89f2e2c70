// TapeRecord: what a gradient tape saw of graphs that were being built, and gradients through that
// alone.
//
// A graph keeps all of its nodes. What a tape has recorded are those that were added while it was
// recording, and that depend on what it watched by then; all else counts as constant.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "base/internal_export.h"
#include "gyre/gradients.h"

namespace gyre::internal {

// Counts the nodes that any graph of this process has been given: what is added later has a greater
// number. Thread-safe.
GYRE_INTERNAL_EXPORT uint64_t BuildClock();

struct TapeRecord {
  // The nodes whose numbers are in [begin, end).
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  struct Watched {
    Value value;
    uint64_t since = 0;
  };
  std::vector<Span> spans;
  std::vector<Watched> watched;  // in the order of `since`
};

// As sparse_gradients, through what was recorded. A source that was neither watched nor computed
// from what was is not connected.
GYRE_INTERNAL_EXPORT std::vector<SparseGradient> RecordedGradients(const TapeRecord& record,
                                                                   const std::vector<Value>& ys,
                                                                   const std::vector<Source>& xs,
                                                                   const GradientOptions& options,
                                                                   std::source_location where);

}  // namespace gyre::internal

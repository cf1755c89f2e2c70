#include "place/cut_program.h"

#include "base/hash_map.h"
#include "base/status.h"
#include "base/work.h"

namespace gyre::place {

absl::StatusOr<CutProgram> Cut(const Program& program, const RunSignature& signature,
                               absl::Span<const DeviceName> devices, const PlaceOptions& options) {
  return RunStage("partitioning", [&]() -> absl::StatusOr<CutProgram> {
    CutProgram cut;
    GYRE_ASSIGN_OR_RETURN(cut.whole, Lower(program, program.main(), signature));
    cut.needed = NeededNodes(cut.whole.function, cut.whole.signature);
    const HashSet<Endpoint> fed(cut.whole.signature.feeds.begin(), cut.whole.signature.feeds.end());
    GYRE_ASSIGN_OR_RETURN(cut.frames,
                          AnalyzeFrames(cut.whole.function, {.nodes = &cut.needed, .fed = &fed}));
    GYRE_ASSIGN_OR_RETURN(cut.placement,
                          Place(cut.whole, cut.frames, cut.needed, devices, options));
    GYRE_ASSIGN_OR_RETURN(cut.partition, Cut(program.ops(), cut.whole, cut.frames, cut.needed,
                                             cut.placement, devices));
    return cut;
  });
}

}  // namespace gyre::place

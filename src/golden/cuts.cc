#include "golden/cuts.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "devices/device_set.h"
#include "exec/engine.h"
#include "golden/runs.h"
#include "place/cut_edges.h"

namespace gyre::golden {
namespace {

absl::StatusOr<std::vector<DeviceName>> DevicesOf(const SessionOptions& options) {
  if (!options.devices.empty()) return ParseDeviceSet(options.devices);
  return options.cluster == nullptr ? std::vector<DeviceName>() : options.cluster->devices();
}

// What the session makes of one run, cut as its engine cuts it.
absl::StatusOr<place::CutEdges> CountOf(const Session& session, const SessionOptions& options,
                                        absl::Span<const DeviceName> devices, const NamedRun& run) {
  GYRE_ASSIGN_OR_RETURN(const Staged staged, StagedRun(session, options, run));
  place::PlaceOptions place;
  place.soft = options.soft_placement;
  place.spread_seed = options.testing.spread_seed;
  GYRE_ASSIGN_OR_RETURN(const place::CutProgram cut,
                        place::Cut(*staged.program, staged.signature, devices, place));
  return place::CountEdges(cut);
}

}  // namespace

std::string CaseCuts::ToString() const {
  return why_not.empty() ? absl::StrCat(cut, " of ", edges, " edges cut")
                         : absl::StrCat("no edge to cut: ", why_not);
}

CaseCuts CountCuts(const Case& golden, const Session& session, const SessionOptions& options) {
  if (golden.is_model()) return {.why_not = "models are run by signature"};
  const absl::StatusOr<std::vector<DeviceName>> devices = DevicesOf(options);
  if (!devices.ok() || devices->size() < 2) return {.why_not = "there is but one device"};
  const std::set<NamedRun> runs = DifferentRuns(golden);
  if (runs.empty()) return {.why_not = "nothing is run"};
  CaseCuts cuts;
  int nodes = 0;
  std::string refusal;
  for (const NamedRun& run : runs) {
    const absl::StatusOr<place::CutEdges> count = CountOf(session, options, *devices, run);
    if (!count.ok()) {
      refusal = std::string(count.status().message());
      continue;
    }
    nodes += count->nodes;
    cuts.edges += count->edges;
    cuts.cut += count->cut;
  }
  if (cuts.edges > 0) return cuts;
  if (!refusal.empty()) {
    cuts.why_not = refusal;
  } else if (nodes <= static_cast<int>(runs.size())) {
    cuts.why_not = "a run needs no more than one node";
  } else {
    cuts.why_not = "what it runs must stand together, or is not connected";
  }
  return cuts;
}

}  // namespace gyre::golden

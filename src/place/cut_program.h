// From a program to what each device runs, in one step.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analysis/run_signature.h"
#include "devices/device_name.h"
#include "ir/frames.h"
#include "lower/lower.h"
#include "place/partition.h"
#include "place/placement.h"

namespace gyre::place {

struct CutProgram {
  Lowered whole;  // before it was cut
  FrameTable frames;
  std::vector<bool> needed;  // by node of `whole`
  Placement placement;
  Partition partition;
};

// Lowers, places and cuts what `signature` needs of the main graph. The program must outlive the
// result. The errors of Lower and Place.
absl::StatusOr<CutProgram> Cut(const Program& program, const RunSignature& signature,
                               absl::Span<const DeviceName> devices, const PlaceOptions& options);

}  // namespace gyre::place

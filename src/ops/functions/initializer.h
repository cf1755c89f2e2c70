// First values of weights: how far they spread. Stateless.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/internal_export.h"

namespace gyre {

// Of random numbers of variance scale / n, n being the number of a unit's inputs ("fan_in"),
// outputs ("fan_out") or their mean ("fan_avg"): the limit of the "uniform" distribution, or what
// numbers of the normal one ("untruncated_normal"), or of it cut at two standard deviations
// ("truncated_normal"), are multiplied by. A unit of a shape [..., inputs, outputs] has as many
// inputs and outputs for each of the dimensions before. INVALID_ARGUMENT for other words, and a
// scale that is not positive.
//
// Sources: Glorot and Bengio, Understanding the difficulty of training deep feedforward networks
// (2010); He et al., Delving deep into rectifiers (2015).
GYRE_INTERNAL_EXPORT absl::StatusOr<double> VarianceSpread(double scale, absl::string_view mode,
                                                           absl::string_view distribution,
                                                           absl::Span<const int64_t> shape);

}  // namespace gyre

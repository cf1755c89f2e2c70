// Which firings somebody watches for a value, and the value. Pure function; any thread.
#pragma once

#include <optional>

#include "gyre/core/observer.h"

namespace gyre {

// What the node of `output` has made. None: it is another node, or the output is dead, or a
// variable without a value. Of a reference: what the variable holds now.
std::optional<Tensor> ValueOf(const WatchedOutput& output, const Firing& firing);

}  // namespace gyre

// WhyUnconnected: why a gradient is not connected, in a sentence.
#pragma once

#include <string>

#include "grad/dependence.h"
#include "ir/program.h"

namespace gyre::grad {

// Requirement: no y depends on x.
std::string WhyUnconnected(const Function& main, const Dependence& dependence,
                           const std::vector<Endpoint>& ys, Endpoint x);

}  // namespace gyre::grad

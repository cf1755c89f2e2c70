#include "gradient_cases.h"
#include "register.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(GradientCases());

}  // namespace gyre::bench

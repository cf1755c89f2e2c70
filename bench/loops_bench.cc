#include "loops_cases.h"
#include "register.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(LoopsCases());

}  // namespace gyre::bench

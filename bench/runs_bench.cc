#include "register.h"
#include "runs_cases.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(RunsCases());

}  // namespace gyre::bench

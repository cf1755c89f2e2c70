#include "ops_cases.h"
#include "register.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(OpsCases());

}  // namespace gyre::bench

#include "native_cases.h"
#include "register.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(NativeCases());

}  // namespace gyre::bench

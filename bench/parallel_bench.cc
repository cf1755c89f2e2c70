#include "parallel_cases.h"
#include "register.h"

namespace gyre::bench {

[[maybe_unused]] const bool kRegistered = RegisterCases(ParallelCases());

}  // namespace gyre::bench

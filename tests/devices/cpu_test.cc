#include "devices/conformance/conformance.h"

namespace gyre::testing {

GYRE_TEST_DEVICE(Cpu, "CPU");

}  // namespace gyre::testing

// Groups of ranks, for Python. All with the GIL.
#pragma once

#include "python/python.h"

namespace gyre::python {

void BindRanks(nb::module_& m);

}  // namespace gyre::python

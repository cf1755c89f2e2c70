// The items of containers, kept alive while code of the user may run: it can change the container,
// and what nothing but the container held would be gone. With the GIL held.
#pragma once

#include "python/python.h"

namespace gyre::python {

// The items of a list or a tuple as they are now; TypeError, which calls it `what`, for all else.
// Methods of a subclass of list, like __len__, are not asked.
nb::tuple ItemsOf(nb::handle list, absl::string_view what);

// The same of a dict.
nb::dict ItemsOfDict(nb::handle dict, absl::string_view what);

}  // namespace gyre::python

// Which line of the user's program a node gets: what the package's line provider says.
#pragma once

namespace gyre::python {

// From now on, nodes added on this thread get lines of Python. Cheap.
void UseLineProvider();

}  // namespace gyre::python

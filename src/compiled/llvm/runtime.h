// The library's own memory, for when there is no other.
#pragma once

namespace gyre::compiled {

// Whether a compilation may begin: what it allocates will not fail.
bool HasReserve();

}  // namespace gyre::compiled

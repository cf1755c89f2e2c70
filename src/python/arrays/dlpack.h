// DLPack: tensors shared with other libraries, without a copy, both ways.
#pragma once

#include "gyre/core/tensor.h"
#include "python/python.h"

namespace gyre::python {

// The elements that `exporter.__dlpack__()` shows: shared where the layout allows it, else copied.
// BufferError or TypeError for other devices and types.
Tensor FromDLPack(nb::handle exporter);

// Tensor.__dlpack__. Shared and marked as read-only; a copy for consumers of before DLPack 1.0, who
// could write into it.
nb::object ToDLPack(nb::handle self, nb::handle stream, nb::handle max_version,
                    nb::handle dl_device, nb::handle copy);

}  // namespace gyre::python

// Batching of ops on images: the rows' images are one larger batch.
#pragma once

#include "ir/batch_context.h"

namespace gyre {

// For ops whose input 0 is a batch of images, and whose output is one of as many; the other inputs
// must be the same in all rows.
absl::Status BatchOfImages(BatchContext& c);

}  // namespace gyre

// A tensor as `gyre run` prints it. Pure; any thread.
#pragma once

#include <ostream>

#include "absl/strings/string_view.h"
#include "gyre/core/tensor.h"

namespace gyre::cli {

// "name float32[2,3] = …", abridged when it is large.
void PrintTensor(absl::string_view name, const Tensor& tensor, std::ostream& out);

}  // namespace gyre::cli

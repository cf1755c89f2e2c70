// What the fake driver and the fake cuBLAS put into streams, and how calls fail.
#pragma once

#include <functional>
#include <string>

#include "devices/cuda/driver.h"

namespace fake_cuda {

using gyre::cuda::Result;

// What a call called `call` ends with, if it does not begin.
Result Enter(const std::string& call);
// A piece of work, as the GPU does it.
void PutWork(gyre::cuda::StreamHandle stream, std::function<Result()> work);

}  // namespace fake_cuda

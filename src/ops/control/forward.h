// The kernel of every op that hands its input on untouched.
#pragma once

#include "ops/kernel.h"

namespace gyre {

// Output 0 is input 0.
inline absl::Status ForwardInput(KernelContext& ctx) {
  ctx.set_output(0, ctx.TakeInput(0));
  return absl::OkStatus();
}

}  // namespace gyre

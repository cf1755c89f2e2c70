// Limits on text that a kernel is about to make.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ops/kernel.h"

namespace gyre {

// RESOURCE_EXHAUSTED unless `bytes` of text fit into what the run's budget has left. A tensor of
// strings charges the strings, not the text they hold; this keeps text that doubles from step to
// step from taking the whole heap.
inline absl::Status CheckStringBytes(const KernelContext& ctx, int64_t bytes) {
  MemoryBudget* budget = ctx.env().budget;
  if (budget == nullptr) return absl::OkStatus();
  if (!budget->Charge(bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a text of ", bytes, " bytes does not fit into the run's memory budget of ",
                     budget->limit(), " bytes"));
  }
  budget->Release(bytes);
  return absl::OkStatus();
}

}  // namespace gyre

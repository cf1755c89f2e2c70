// The budget and text that a kernel puts together; what is copied from tensor to tensor is counted
// by the Mover.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "ops/kernel.h"
#include "ops/mover.h"

namespace gyre {

// RESOURCE_EXHAUSTED unless `bytes` of text fit into what the run's budget has left. Nothing is
// charged: for a text that still grows.
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

// A scalar that holds `text`, charged to the run's budget.
inline absl::StatusOr<Tensor> TextScalar(const KernelContext& ctx, std::string text) {
  GYRE_ASSIGN_OR_RETURN(Tensor scalar, ctx.Allocate(DType::kString, Shape()));
  Mover<std::string> mover(ctx, scalar);
  if (!mover.Admit(text)) return mover.status();
  scalar.mutable_values<std::string>()[0] = std::move(text);
  return scalar;
}

}  // namespace gyre

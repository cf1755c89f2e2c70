// _ForTrips: how often a For runs its body. Made by lowering.
#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::StatusOr<int64_t> CountTrips(int64_t start, int64_t limit, int64_t delta) {
  const bool sound = (delta > 0 && start <= limit) || (delta < 0 && start >= limit) ||
                     (delta == 0 && start == limit);
  if (!sound) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid start/limit/delta: ", start, "/", limit, "/", delta));
  }
  if (delta == 0) return 0;
  const int64_t distance = limit > start ? limit - start : start - limit;
  const int64_t step = delta > 0 ? delta : -delta;
  return (distance + step - 1) / step;
}

absl::Status ForTrips(KernelContext& ctx) {
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("start, limit and delta must be scalars, but input ", i, " has shape ",
                     ctx.input(i).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t trips,
                        CountTrips(ctx.input(0).scalar<int32_t>(), ctx.input(1).scalar<int32_t>(),
                                   ctx.input(2).scalar<int32_t>()));
  ctx.set_output(0, Tensor::Scalar<int64_t>(trips));
  return absl::OkStatus();
}

}  // namespace

void RegisterForTrips(OpRegistry& ops) {
  ops.Add({.schema = "_ForTrips(start: int32, limit: int32, delta: int32) -> trips: int64",
           .doc = "The number of values start, start + delta, … before limit; an error when delta "
                  "leads away from it.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its value is an integer"),
           .kernel = Compute<ForTrips>()});
}

}  // namespace gyre

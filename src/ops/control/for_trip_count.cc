// _ForTripCount: how often a For runs its body. Made by lowering.
#include "ops/control/for_trip_count.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/registry.h"

namespace gyre {

absl::StatusOr<int64_t> CountIterations(const Tensor& start, const Tensor& limit,
                                        const Tensor& delta) {
  int i = 0;
  for (const Tensor* bound : {&start, &limit, &delta}) {
    if (bound->rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("start, limit and delta must be scalars, but input ", i, " has shape ",
                       bound->shape().ToString()));
    }
    ++i;
  }
  const int64_t first = start.scalar<int32_t>(), last = limit.scalar<int32_t>();
  const int64_t step = delta.scalar<int32_t>();
  if ((step > 0 && first > last) || (step < 0 && first < last) || (step == 0 && first != last)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid start/limit/delta: ", first, "/", last, "/", step));
  }
  if (step == 0) return 0;
  return (std::abs(last - first) + std::abs(step) - 1) / std::abs(step);
}

namespace {

absl::Status ForTripCount(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const int64_t iterations,
                        CountIterations(ctx.input(0), ctx.input(1), ctx.input(2)));
  ctx.set_output(0, Tensor::Scalar<int64_t>(iterations));
  return absl::OkStatus();
}

}  // namespace

void RegisterForTripCount(OpRegistry& ops) {
  ops.Add({.schema = "_ForTripCount(start: int32, limit: int32, delta: int32) -> iterations: int64",
           .doc = "The number of values start, start + delta, … before limit; an error when delta "
                  "leads away from it.",
           .shape = shape::Scalar,
           .gradient = NotDifferentiable("its value is an integer"),
           .kernel = Compute<ForTripCount>()});
}

}  // namespace gyre

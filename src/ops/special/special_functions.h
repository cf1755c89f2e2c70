// Special functions of one to three real numbers, as elementwise kernels.
//
// Those that Eigen has are taken from it: they are what TensorFlow's kernels call, to the last
// bits. Pure functions; any thread. None of them fails, loops for ever or raises a trap: what has
// no value is NaN.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/linalg/eigen_steps.h"
#include "ops/math/broadcast.h"
#include "ops/math/elementwise.h"
// clang-format off: behind what sets it up
#include <eigen3/Eigen/Core>
#include <eigen3/unsupported/Eigen/SpecialFunctions>
// clang-format on

namespace gyre {

// y = F(x0, …) of operands that broadcast, some of which take a microsecond for each element.
template <typename F, typename T, int kOperands>
struct SlowElementwise {
  using C = ComputeType<T>;

  static absl::Status Run(KernelContext& ctx) {
    std::array<const Shape*, kOperands> shapes;
    std::array<const T*, kOperands> from;
    for (int i = 0; i < kOperands; ++i) {
      shapes[i] = &ctx.input(i).shape();
      from[i] = ctx.input(i).values<T>().data();
    }
    GYRE_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast(shapes));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, plan.shape));
    T* to = out.mutable_values<T>().data();
    const BroadcastPlan::Offsets& steps = plan.dims.back().strides;
    constexpr int64_t kGrain = 1024;
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(plan.shape.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
          ForEachStretch(
              plan, begin, end, [&](const BroadcastPlan::Offsets& at, int64_t position, int64_t n) {
                for (int64_t j = 0; j < n; ++j)
                  to[position + j] = One(from, at, steps, j, std::make_index_sequence<kOperands>());
              });
        }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  template <size_t... kI>
  static T One(const std::array<const T*, kOperands>& from, const BroadcastPlan::Offsets& at,
               const BroadcastPlan::Offsets& steps, int64_t j, std::index_sequence<kI...>) {
    return static_cast<T>(F::Apply(static_cast<C>(from[kI][at[kI] + j * steps[kI]])...));
  }
};

// `schema`, without types and braces; pure, elementwise and broadcasting.
void AddSpecialOp(OpRegistry& ops, absl::string_view schema, std::vector<absl::string_view> api,
                  absl::string_view types, absl::string_view doc, KernelFactory kernel,
                  Gradient gradient);

}  // namespace gyre

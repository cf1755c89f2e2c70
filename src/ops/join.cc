#include "ops/join.h"

#include <algorithm>

#include "ops/dispatch.h"
#include "ops/mover.h"

namespace gyre {

absl::StatusOr<Tensor> JoinParts(const KernelContext& ctx, DType dtype, const Shape& shape,
                                 absl::Span<const Tensor> parts, int64_t missing) {
  constexpr int64_t kPollEvery = int64_t{1} << 16;  // elements
  GYRE_ASSIGN_OR_RETURN(Tensor joined, ctx.Allocate(dtype, shape));
  GYRE_RETURN_IF_ERROR(VisitElement(dtype, [&](auto tag) -> absl::Status {
    using T = typename decltype(tag)::type;
    T* to = joined.mutable_values<T>().data();
    Mover<T> mover(ctx, joined);
    int64_t until_poll = kPollEvery;
    for (const Tensor& part : parts) {
      const int64_t n = part.has_value() ? part.num_elements() : missing;
      if (part.has_value()) {
        mover.Copy(part.values<T>().data(), n, to);
      } else {
        std::fill_n(to, n, T());
      }
      to += n;
      until_poll -= n + 1;
      if (until_poll <= 0) {
        GYRE_RETURN_IF_ERROR(ctx.Poll());
        until_poll = kPollEvery;
      }
    }
    return mover.status();
  }));
  return joined;
}

}  // namespace gyre

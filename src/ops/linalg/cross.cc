// Cross: the products of vectors of length 3.
#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/registry.h"

namespace gyre {
namespace {

template <typename T>
struct CrossKernel {
  using C = std::conditional_t<kIsSmallFloat<T>, float, T>;

  static absl::Status Run(KernelContext& ctx) {
    const Shape& shape = ctx.input(0).shape();
    if (shape != ctx.input(1).shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Both inputs must be of same shape: ", shape.ToString(), " vs. ",
                       ctx.input(1).shape().ToString()));
    }
    if (shape.rank() < 1 || shape.dim(shape.rank() - 1) != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cross-products are only defined for 3-element vectors, but the shape is ",
                       shape.ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    const T* a = ctx.input(0).values<T>().data();
    const T* b = ctx.input(1).values<T>().data();
    T* to = out.mutable_values<T>().data();
    GYRE_RETURN_IF_ERROR(
        ctx.ParallelRun(shape.num_elements() / 3, 1 << 13, [&](int64_t begin, int64_t end) {
          for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
            to[i] = Minor(a[i + 1], b[i + 2], a[i + 2], b[i + 1]);
            to[i + 1] = Minor(a[i + 2], b[i], a[i], b[i + 2]);
            to[i + 2] = Minor(a[i], b[i + 1], a[i + 1], b[i]);
          }
        }));
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

 private:
  // x y - z w; integers wrap around.
  static T Minor(T x, T y, T z, T w) {
    if constexpr (std::is_integral_v<T>) {
      using U = uint64_t;
      return static_cast<T>(static_cast<U>(x) * static_cast<U>(y) -
                            static_cast<U>(z) * static_cast<U>(w));
    } else {
      return static_cast<T>(static_cast<C>(x) * static_cast<C>(y) -
                            static_cast<C>(z) * static_cast<C>(w));
    }
  }
};

absl::Status CrossShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(shape::SameForAll(c));
  const PartialShape& a = c.input(0);
  if (a.has_rank() && (a.rank() < 1 || (a.dim(a.rank() - 1) >= 0 && a.dim(a.rank() - 1) != 3))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Cross-products are only defined for 3-element vectors, but the shape is ", a.ToString()));
  }
  return absl::OkStatus();
}

void CrossGradient(GradientContext& g) {
  if (g.wants(0)) g.Add(0, g.op("Cross", {g.input(1), g.grad()}));
  if (g.wants(1)) g.Add(1, g.op("Cross", {g.grad(), g.input(0)}));
}

}  // namespace

void RegisterCross(OpRegistry& ops) {
  ops.Add({
      .schema = "Cross(a: T, b: T) -> product: T {T: realnumbertype}",
      .doc = "The cross product of vectors of length 3 in the last dimension.",
      .api = {"linalg.cross"},
      .shape = CrossShape,
      .gradient = {CrossGradient},
      .batch = {batch::Stacked},
      .kernel = ForTypes<CrossKernel, RealTypes>("T"),
  });
}

}  // namespace gyre

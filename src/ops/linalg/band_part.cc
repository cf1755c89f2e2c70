// MatrixBandPart: matrices of which only diagonals near the main one stay.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/linalg/matrices.h"
#include "ops/mover.h"
#include "ops/registry.h"

namespace gyre {
namespace {

absl::Status LimitError(absl::string_view name, absl::string_view of, int64_t most, int64_t got) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be negative or less or equal to number of ", of, " (", most, ") got: ", got));
}

absl::Status BandPart(KernelContext& ctx) {
  GYRE_ASSIGN_OR_RETURN(const MatrixBatch batch, MatricesOf(ctx, 0, "input"));
  if (!ctx.input(1).shape().IsScalar() || !ctx.input(2).shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_lower and num_upper must be scalars, but their shapes are ",
                     ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t lower, ctx.IntScalar(1, "num_lower"));
  GYRE_ASSIGN_OR_RETURN(const int64_t upper, ctx.IntScalar(2, "num_upper"));
  const int64_t m = batch.rows, n = batch.columns;
  if (lower > m) return LimitError("num_lower", "rows", m, lower);
  if (upper > n) return LimitError("num_upper", "columns", n, upper);
  const Tensor input = ctx.input(0);
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(input.dtype(), input.shape()));
  if (out.num_elements() > 0) {
    GYRE_RETURN_IF_ERROR(VisitElement(input.dtype(), [&](auto tag) -> absl::Status {
      using E = typename decltype(tag)::type;
      const E* from = static_cast<const E*>(input.raw_data());
      E* to = static_cast<E*>(out.mutable_raw_data());
      Mover<E> mover(ctx, out);
      const int64_t grain = std::max<int64_t>(1, (1 << 15) / n);
      GYRE_RETURN_IF_ERROR(ctx.ParallelRun(batch.count * m, grain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r % m, at = r * n;
          const int64_t first = std::min(n, lower < 0 ? 0 : std::max<int64_t>(0, i - lower));
          const int64_t last = std::max(first, upper < 0 ? n : std::min(n, i + upper + 1));
          mover.Fill(E(), first, to + at);
          mover.Copy(from + at + first, last - first, to + at + first);
          mover.Fill(E(), n - last, to + at + last);
        }
      }));
      return mover.status();
    }));
  }
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status BandPartShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(2));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, matrix_shape::Matrices(c, 0, "input"));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

void BandPartGradient(GradientContext& g) {
  g.Add(0, g.op("MatrixBandPart", {g.grad(), g.input(1), g.input(2)}));
}

}  // namespace

void RegisterBandPart(OpRegistry& ops) {
  ops.Add({
      .schema = "MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> band: T "
                "{T: type; Tindex: {int32, int64} = int64}",
      .doc = "Matrices of which only so many diagonals below and above the main one stay "
             "(negative: all).",
      .shape = BandPartShape,
      .gradient = {BandPartGradient},
      .batch = {batch::FirstStacked},
      .kernel = Compute<&BandPart>(),
  });
}

}  // namespace gyre

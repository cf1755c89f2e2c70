// CheckNumerics: fails when a tensor holds NaN or an infinity.
#include <atomic>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/batch_context.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/math/elementwise.h"

namespace gyre {
namespace {

struct CheckNumericsAttrs {
  explicit CheckNumericsAttrs(const Node& node) : message(NodeAttr<std::string>(node, "message")) {}
  std::string message;
};

template <typename T>
struct CheckNumericsKernel {
  static absl::Status Run(KernelContext& ctx, const CheckNumericsAttrs& attrs) {
    const T* x = ctx.input(0).values<T>().data();
    std::atomic<bool> has_nan{false};
    std::atomic<bool> has_inf{false};
    GYRE_RETURN_IF_ERROR(
        ForPieces(ctx, ctx.input(0).num_elements(), [&](int64_t begin, int64_t end) {
          bool nan = false;
          bool inf = false;
          for (int64_t i = begin; i < end; ++i) {
            const auto value = static_cast<ComputeType<T>>(x[i]);
            nan |= std::isnan(value);
            inf |= std::isinf(value);
          }
          if (nan) has_nan.store(true, std::memory_order_relaxed);
          if (inf) has_inf.store(true, std::memory_order_relaxed);
        }));
    if (has_nan || has_inf) {
      const absl::string_view what = has_nan && has_inf ? "Inf and NaN" : has_nan ? "NaN" : "Inf";
      return absl::InvalidArgumentError(
          absl::StrCat(attrs.message, " : Tensor had ", what, " values"));
    }
    ctx.set_output(0, ctx.TakeInput(0));
    return absl::OkStatus();
  }
};

void CheckNumericsGradient(GradientContext& g) {
  const std::string message =
      absl::StrCat("Not a number (NaN) or infinity (Inf) values detected in gradient. ",
                   g.attr<std::string>("message", ""));
  g.Add(0, g.op("CheckNumerics", {g.grad()}, {{"message", message}}));
}

absl::Status CheckNumericsBatch(BatchContext& c) {
  return c.Emit({c.input(0)}, {}, {c.rows_of(0)});
}

}  // namespace

void RegisterCheckNumerics(OpRegistry& ops) {
  ops.Add({.schema = "CheckNumerics(tensor: T) -> output: T {T: {bfloat16, half, float, double}; "
                     "message: string}",
           .doc = "Its input, unless that holds NaN or an infinity: then an error that begins with "
                  "`message`.",
           .traits = {.effect = Effect::kIo, .elementwise = true, .hands_on = true},
           .shape = shape::SameAsInput,
           .gradient = {CheckNumericsGradient},
           .batch = {CheckNumericsBatch},
           .kernel = ForTypes<CheckNumericsKernel, FloatTypes>("T")});
}

}  // namespace gyre

// Multinomial: classes drawn by their logits.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/array/integers.h"
#include "ops/dispatch.h"
#include "ops/first_error.h"
#include "ops/random/draws.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kPollWork = 1 << 14;

template <typename T>
double DoubleOf(T x) {
  if constexpr (kIsSmallFloat<T>) {
    return static_cast<double>(static_cast<float>(x));
  } else {
    return static_cast<double>(x);
  }
}

struct MultinomialAttrs {
  explicit MultinomialAttrs(const Node& node)
      : seed(node.attrs.GetOr<int64_t>("seed", 0)), seed2(node.attrs.GetOr<int64_t>("seed2", 0)) {}
  int64_t seed, seed2;
};

// Running sums of exp(logits - max), leaving out logits that are not finite.
template <typename T>
double RunningSums(const T* logits, int64_t n, double* sums) {
  double most = -std::numeric_limits<double>::max();
  for (int64_t j = 0; j < n; ++j) {
    const double x = DoubleOf(logits[j]);
    if (std::isfinite(x)) most = std::max(most, x);
  }
  double total = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double x = DoubleOf(logits[j]);
    if (std::isfinite(x)) total += std::exp(x - most);
    sums[j] = total;
  }
  return total;
}

absl::StatusOr<Philox> GeneratorOf(const KernelContext& ctx, const MultinomialAttrs& attrs) {
  if (ctx.num_inputs() > 2) {
    GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 2));
    return seeded.generator();
  }
  const auto [key, stream] = ctx.RandomKey(attrs.seed, attrs.seed2);
  return Philox(key, 0, stream);
}

template <typename T>
struct MultinomialKernel {
  static absl::Status Run(KernelContext& ctx, const MultinomialAttrs& attrs) {
    const Tensor& logits = ctx.input(0);
    if (logits.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("logits should be a matrix, got shape ", logits.shape().ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const int64_t samples, IntegerScalar(ctx.input(1), "num_samples"));
    const int64_t rows = logits.dim(0), classes = logits.dim(1);
    if (samples < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be non-negative, got ", samples));
    }
    if (classes < 1 || classes > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_classes should be in [1, 2^31), got ", classes));
    }
    GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorOf(ctx, attrs));
    GYRE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, samples}));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
    if (shape.num_elements() > 0) {
      GYRE_RETURN_IF_ERROR(VisitType<IndexTypes>(out.dtype(), [&](auto tag) {
        using Class = typename decltype(tag)::type;
        return Draw(ctx, generator, rows, classes, samples, logits.values<T>().data(),
                    out.mutable_values<Class>().data());
      }));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }

  template <typename Class>
  static absl::Status Draw(const KernelContext& ctx, const Philox& first, int64_t rows,
                           int64_t classes, int64_t samples, const T* logits, Class* out) {
    FirstError error;
    const int64_t grain = std::max<int64_t>(1, kPollWork / (classes + samples));
    GYRE_RETURN_IF_ERROR(ctx.ParallelRun(rows, grain, [&](int64_t begin, int64_t end) {
      absl::StatusOr<Tensor> room = ctx.Allocate(DType::kDouble, Shape::Vector(classes));
      if (!room.ok()) return error.Set(begin, room.status());
      double* const sums = room->template mutable_values<double>().data();
      for (int64_t b = begin; b < end; ++b) {
        // One row after the other, two numbers for a draw.
        const uint64_t before = 2 * static_cast<uint64_t>(b) * static_cast<uint64_t>(samples);
        Philox generator = first;
        generator.Skip(before / 4);
        Draws draws(generator);
        for (uint64_t i = 0; i < before % 4; ++i) draws.Bits();
        const double total = RunningSums(logits + b * classes, classes, sums);
        for (int64_t j = 0; j < samples; ++j) {
          if (j % kPollWork == kPollWork - 1 && !ctx.Poll().ok()) return;
          const double wanted = draws.Double() * total;
          const int64_t found = std::upper_bound(sums, sums + classes, wanted) - sums;
          out[b * samples + j] = static_cast<Class>(std::min(found, classes - 1));
        }
      }
    }));
    GYRE_RETURN_IF_ERROR(error.status());
    return ctx.Poll();  // pieces may have ended half-way
  }
};

absl::Status MultinomialShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  if (c.num_inputs() > 2)
    GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(2)).status());
  const int64_t samples = c.input_int(1).value_or(-1);
  if (samples < -1) return absl::InvalidArgumentError("num_samples must not be negative");
  c.set_output(0, PartialShape(Dims{c.input(0).has_rank() ? c.input(0).dim(0) : -1, samples}));
  return absl::OkStatus();
}

}  // namespace

void RegisterMultinomial(OpRegistry& ops) {
  ops.Add({
      .schema = "Multinomial(logits: T, num_samples: int32) -> output: output_dtype {seed: int = "
                "0; seed2: int = 0; T: realnumbertype; output_dtype: {int32, int64} = int64}",
      .doc =
          "Classes drawn with the probabilities softmax(logits) of each row, new ones each time.",
      .traits = {.effect = Effect::kRandom},
      .shape = MultinomialShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = ForTypes<MultinomialKernel, RealTypes>("T"),
  });
  ops.Add({
      .schema = "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> output: "
                "output_dtype {T: realnumbertype; Tseed: indextype = int64; output_dtype: {int32, "
                "int64} = int64}",
      .doc = "Classes drawn with the probabilities softmax(logits) of each row, determined by a "
             "seed.",
      .shape = MultinomialShape,
      .gradient = NotDifferentiable("its result is integers"),
      .kernel = ForTypes<MultinomialKernel, RealTypes>("T"),
  });
}

}  // namespace gyre

// ParameterizedTruncatedNormal, StatelessParameterizedTruncatedNormal: normal numbers between
// bounds, each with a mean, a deviation and bounds of its own.
//
// C. Robert, "Simulation of truncated normal variables", 1995: draws of a normal distribution where
// the bounds leave enough of it, of an exponential one or of an even one elsewhere, which are
// accepted with what is left of their probability. Number for number as the peer draws them, as
// long as it does so in one piece.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/first_error.h"
#include "ops/random/seeding.h"
#include "ops/random/uniform_bits.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int kMostDraws = 1000;  // for one element

// Blocks of T's numbers, as the distributions make them.
template <typename T>
struct Blocks {
  using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr int kSize = std::is_same_v<T, double> ? 2 : 4;

  // As T rounds it.
  static F Round(F x) { return static_cast<F>(static_cast<T>(x)); }

  void Uniform(F* out) {
    const Philox::Block bits = generator.Next();
    for (int i = 0; i < kSize; ++i) {
      if constexpr (std::is_same_v<T, double>) {
        out[i] = UniformDouble(bits[2 * i], bits[2 * i + 1]);
      } else {
        out[i] = static_cast<float>(UniformOf<T>(bits[i]));
      }
    }
  }
  void Normal(F* out) {
    const Philox::Block bits = generator.Next();
    if constexpr (std::is_same_v<T, double>) {
      BoxMuller(UniformDouble(bits[0], bits[1]), UniformDouble(bits[2], bits[3]), out);
    } else {
      for (int i = 0; i < kSize; i += 2)
        BoxMuller(UniformFloat(bits[i]), UniformFloat(bits[i + 1]), out + i);
    }
    for (int i = 0; i < kSize; ++i) out[i] = Round(out[i]);
  }

  Philox generator;
};

// One distribution.
template <typename T>
class Truncated {
 public:
  using F = typename Blocks<T>::F;

  static absl::StatusOr<Truncated> Make(F mean, F deviation, F low, F high) {
    if (!(deviation > 0) || !(low < high) || (!std::isfinite(low) && !std::isfinite(high)) ||
        std::isnan(mean)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid parameters: mean ", mean, ", deviation ", deviation, ", bounds ", low, " and ",
          high, "; the deviation must be positive, and the bounds in order, one of them finite"));
    }
    // One bound is the lower one then, and both are positive, unless they lie on either side.
    if ((std::isinf(low) && low < 0) || high < mean) {
      std::swap(low, high);
      deviation = -deviation;
    }
    Truncated t;
    t.mean_ = mean;
    t.deviation_ = deviation;
    t.low_ = Round(Round(low - mean) / deviation);
    t.high_ = Round(Round(high - mean) / deviation);
    return t;
  }

  // Calls set(i, number) for i of [0, n). False: draws are refused again and again.
  template <typename Set>
  bool Draw(Blocks<T>& blocks, int64_t n, const Set& set) const {
    // A normal number is accepted about every other time from here on.
    const F least = Round(F{1.3F});
    if ((low_ < -least && high_ >= 0) || (high_ > least && low_ <= 0)) {
      return DrawNormal(blocks, n, set);
    }
    const F root = Round(std::sqrt(Round(Round(low_ * low_) + F{4})));
    const F power = Round(F{0.5} + Round(Round(low_ * Round(low_ - root)) / F{4}));
    const F cutoff = Round(Round(F{2} * Round(std::exp(power))) / Round(low_ + root));
    const F width = Round(high_ - low_);
    return width < cutoff ? DrawEven(blocks, n, width, set)
                          : DrawExponential(blocks, n, Round(Round(low_ + root) / F{2}), set);
  }

 private:
  static F Round(F x) { return Blocks<T>::Round(x); }
  T Result(F z) const { return static_cast<T>(Round(Round(z * deviation_) + mean_)); }

  template <typename Set>
  bool DrawNormal(Blocks<T>& blocks, int64_t n, const Set& set) const {
    int refused = 0;
    for (int64_t done = 0; done < n;) {
      F z[Blocks<T>::kSize];
      blocks.Normal(z);
      for (int i = 0; i < Blocks<T>::kSize && done < n; ++i) {
        if (z[i] >= low_ && z[i] <= high_) {
          set(done++, Result(z[i]));
          refused = 0;
        } else if (++refused > kMostDraws) {
          return false;
        }
      }
    }
    return true;
  }

  template <typename Set>
  bool DrawEven(Blocks<T>& blocks, int64_t n, F width, const Set& set) const {
    const F plus = low_ < 0 ? F{0} : Round(low_ * low_);
    int refused = 0;
    for (int64_t done = 0; done < n;) {
      F z[Blocks<T>::kSize], u[Blocks<T>::kSize];
      blocks.Uniform(z);
      blocks.Uniform(u);
      for (int i = 0; i < Blocks<T>::kSize && done < n; ++i) {
        const F x = Round(Round(z[i] * width) + low_);
        const F power = Round(Round(plus - Round(x * x)) / F{2});
        if (u[i] <= Round(std::exp(power))) {
          set(done++, Result(x));
          refused = 0;
        } else if (++refused >= kMostDraws) {
          return false;
        }
      }
    }
    return true;
  }

  template <typename Set>
  bool DrawExponential(Blocks<T>& blocks, int64_t n, F alpha, const Set& set) const {
    int refused = 0;
    for (int64_t done = 0; done < n;) {
      F u[Blocks<T>::kSize];
      blocks.Uniform(u);
      for (int i = 0; i < Blocks<T>::kSize && done < n; i += 2) {
        const F z = Round(Round(-Round(std::log(u[i])) / alpha) + low_);
        const F x = low_ < alpha ? Round(alpha - z) : Round(low_ - alpha);
        const F chance = Round(std::exp(Round(Round(-x * x) / F{2})));
        if (u[i + 1] <= chance && z < high_) {
          set(done++, Result(z));
          refused = 0;
        } else if (++refused >= kMostDraws) {
          return false;
        }
      }
    }
    return true;
  }

  F mean_, deviation_, low_, high_;
};

// Mean, deviation, lower and upper bound, which are broadcast together.
template <typename T>
class Parameters {
 public:
  static constexpr int kCount = 4;

  // The inputs from `first` on, as tensors of these shapes.
  static absl::StatusOr<Parameters> Make(const KernelContext& ctx, int first,
                                         const std::array<Shape, kCount>& shapes) {
    Parameters result;
    PartialShape common = shapes[0];
    for (int i = 1; i < kCount; ++i) {
      GYRE_ASSIGN_OR_RETURN(common, shape::BroadcastShapes(common, shapes[i]));
    }
    GYRE_ASSIGN_OR_RETURN(result.shape_, Shape::Make(common.dims()));
    for (int i = 0; i < kCount; ++i) {
      result.data_[i] = static_cast<const T*>(ctx.input(first + i).raw_data());
      result.strides_[i].assign(result.shape_.rank(), 0);
      int64_t step = 1;
      for (int own = shapes[i].rank(), d = result.shape_.rank(); own-- > 0;) {
        --d;
        if (shapes[i].dim(own) != 1) result.strides_[i][d] = step;
        step *= shapes[i].dim(own);
      }
    }
    return result;
  }

  const Shape& shape() const { return shape_; }
  // Those of distribution `b`.
  absl::StatusOr<Truncated<T>> At(int64_t b) const {
    std::array<int64_t, kCount> at = {};
    for (int d = shape_.rank(); d-- > 0;) {
      for (int i = 0; i < kCount; ++i) at[i] += b % shape_.dim(d) * strides_[i][d];
      b /= shape_.dim(d);
    }
    const auto value = [&](int i) { return static_cast<typename Blocks<T>::F>(data_[i][at[i]]); };
    return Truncated<T>::Make(value(0), value(1), value(2), value(3));
  }

 private:
  Shape shape_;
  const T* data_[kCount];
  std::array<Dims, kCount> strides_;
};

absl::Status NothingAccepted() {
  return absl::InvalidArgumentError(
      absl::StrCat("none of ", kMostDraws,
                   " numbers lies within the bounds: they leave next to nothing of the "
                   "distribution"));
}

// `each` numbers of each distribution; number s of distribution b is element b * stride_b + s *
// stride_s.
template <typename T>
absl::Status FillAll(const KernelContext& ctx, const Philox& generator,
                     const Parameters<T>& parameters, int64_t each, int64_t stride_b,
                     int64_t stride_s, T* out) {
  // Pieces of so many elements start from generators that are far enough apart.
  constexpr int64_t kPiece = 2048;
  const int64_t total = parameters.shape().num_elements() * each;
  FirstError error;
  GYRE_RETURN_IF_ERROR(
      ctx.ParallelRun((total + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) {
          if (!ctx.Poll().ok()) return;
          int64_t element = piece * kPiece;
          const int64_t last = std::min(total, element + kPiece);
          Blocks<T> blocks{generator};
          blocks.generator.Skip(
              (static_cast<uint64_t>(element) * 2 * kMostDraws + Blocks<T>::kSize - 1) /
              Blocks<T>::kSize);
          while (element < last) {
            const int64_t b = element / each, first = element % each;
            const int64_t n = std::min(each - first, last - element);
            const absl::StatusOr<Truncated<T>> one = parameters.At(b);
            if (!one.ok()) return error.Set(piece, one.status());
            const bool is_full = one->Draw(blocks, n, [&](int64_t i, T value) {
              out[b * stride_b + (first + i) * stride_s] = value;
            });
            if (!is_full) return error.Set(piece, NothingAccepted());
            element += n;
          }
        }
      }));
  GYRE_RETURN_IF_ERROR(error.status());
  return ctx.Poll();
}

// Parameters are broadcast together; the output's shape ends with theirs.
template <typename T>
struct StatelessKernel {
  static absl::Status Run(KernelContext& ctx) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
    GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 1));
    std::array<Shape, Parameters<T>::kCount> shapes;
    for (int i = 0; i < Parameters<T>::kCount; ++i) shapes[i] = ctx.input(2 + i).shape();
    GYRE_ASSIGN_OR_RETURN(const auto parameters, Parameters<T>::Make(ctx, 2, shapes));
    const Shape& own = parameters.shape();
    const int lead = shape.rank() - own.rank();
    const auto dims = shape.dims();
    if (lead < 0 || !std::equal(dims.begin() + lead, dims.end(), own.dims().begin())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape ", shape.ToString(), " must end with that of the parameters, broadcast together, ",
          own.ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      const int64_t batches = own.num_elements();
      GYRE_RETURN_IF_ERROR(FillAll<T>(ctx, seeded.generator(), parameters,
                                      out.num_elements() / batches, 1, batches,
                                      static_cast<T*>(out.mutable_raw_data())));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

// Parameters are numbers, or have one for each row of the output.
template <typename T>
struct StatefulKernel {
  static absl::Status Run(KernelContext& ctx, const SeedAttrs& seeds) {
    GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
    if (shape.rank() < 1) return absl::InvalidArgumentError("shape must not be empty");
    const int64_t rows = shape.dim(0);
    std::array<Shape, Parameters<T>::kCount> shapes;
    for (int i = 0; i < Parameters<T>::kCount; ++i) {
      const Shape& own = ctx.input(1 + i).shape();
      shapes[i] = Shape::Vector(own.num_elements());
      if (own.rank() <= 1 && (own.num_elements() == 1 || own.num_elements() == rows)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(ctx.node().op->inputs[1 + i].name,
                       " must be a scalar, or a vector with an element for each of the ", rows,
                       " rows of the output, but has shape ", own.ToString()));
    }
    GYRE_ASSIGN_OR_RETURN(const auto parameters, Parameters<T>::Make(ctx, 1, shapes));
    GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DTypeOf<T>, shape));
    if (out.num_elements() > 0) {
      // One distribution for all rows, or one for each.
      const int64_t each = out.num_elements() / parameters.shape().num_elements();
      GYRE_RETURN_IF_ERROR(FillAll<T>(ctx, seeds.generator(ctx), parameters, each, each, 1,
                                      static_cast<T*>(out.mutable_raw_data())));
    }
    ctx.set_output(0, std::move(out));
    return absl::OkStatus();
  }
};

absl::Status StatelessShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(1)).status());
  PartialShape all = c.input(2);
  for (int i = 3; i < 6; ++i) {
    GYRE_ASSIGN_OR_RETURN(all, shape::BroadcastShapes(all, c.input(i)));
  }
  return ShapedByInput(c);
}

absl::Status StatefulShape(ShapeContext& c) {
  for (int i = 1; i < 5; ++i) {
    if (!c.input(i).has_rank() || c.input(i).rank() <= 1) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "parameters must be scalars or vectors, but have shape ", c.input(i).ToString()));
  }
  return ShapedByInput(c);
}

constexpr absl::string_view kNoGradient = "TensorFlow has none, either";

}  // namespace

void RegisterParameterizedNormal(OpRegistry& ops) {
  ops.Add({
      .schema = "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: "
                "dtype, maxvals: dtype) -> output: dtype {seed: int = 0; seed2: int = 0; dtype: "
                "{half, bfloat16, float, double}; T: indextype}",
      .doc = "Normally distributed random numbers between bounds, new ones each time; rows have "
             "means, deviations and bounds of their own.",
      .traits = {.effect = Effect::kRandom},
      .shape = StatefulShape,
      .gradient = RefusesGradient(kNoGradient),
      .kernel = ForTypes<StatefulKernel, FloatTypes>("dtype"),
  });
  ops.Add({
      .schema = "StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed, means: dtype, "
                "stddevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype {S: indextype; "
                "Tseed: indextype = int64; dtype: {half, float, double}}",
      .doc = "Normally distributed random numbers between bounds, determined by a seed; means, "
             "deviations and bounds are broadcast together.",
      .shape = StatelessShape,
      .gradient = RefusesGradient(kNoGradient),
      .kernel = ForTypes<StatelessKernel, Types<Half, float, double>>("dtype"),
  });
}

}  // namespace gyre

// Gamma, Poisson and binomial random numbers.
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/gradient_context.h"
#include "ir/shape_context.h"
#include "ops/dispatch.h"
#include "ops/random/rejection.h"
#include "ops/random/rng_state.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kGrain = 256;  // elements

// Where the numbers of a node come from, and what they are.
enum class From { kSession, kSeed, kKey };

struct SamplerAttrs {
  explicit SamplerAttrs(const Node& node)
      : seed(node.attrs.GetOr<int64_t>("seed", 0)), seed2(node.attrs.GetOr<int64_t>("seed2", 0)) {}
  int64_t seed, seed2;
};

template <From kFrom>
absl::StatusOr<Philox> GeneratorOf(const KernelContext& ctx, const SamplerAttrs& attrs) {
  if constexpr (kFrom == From::kKey) return GeneratorInputs(ctx, 1);
  if constexpr (kFrom == From::kSeed) {
    GYRE_ASSIGN_OR_RETURN(const KeyAndCounter seeded, SeedInput(ctx, 1));
    return seeded.generator();
  }
  const auto [key, stream] = ctx.RandomKey(attrs.seed, attrs.seed2);
  return Philox(key, 0, stream);
}

// The first input behind those.
template <From kFrom>
constexpr int kFirstParameter = kFrom == From::kSession ? 1
                                : kFrom == From::kSeed  ? 2
                                                        : 4;

// The largest number of the type, at which counts end.
double MostOf(DType dtype) {
  switch (dtype) {
    case DType::kHalf:
      return 65504;
    case DType::kFloat:
      return std::numeric_limits<float>::max();
    case DType::kInt32:
      return std::numeric_limits<int32_t>::max();
    case DType::kInt64:
      return 9223372036854774784.0;  // the largest double below 2^63
    default:
      return std::numeric_limits<double>::max();
  }
}

using ParameterTypes = Types<Half, float, double, int32_t, int64_t>;

// A sampled number as a T. Integers have no NaN: 0 stands for it.
template <typename T>
T ResultOf(double x, double most) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(x)) return 0;
    return static_cast<T>(std::min(std::max(x, 0.0), most));
  } else if constexpr (kIsSmallFloat<T>) {
    return static_cast<T>(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

// The parameter of type `dtype` at `i` as a double.
absl::StatusOr<std::function<double(int64_t)>> Reader(const Tensor& t) {
  std::function<double(int64_t)> read;
  GYRE_RETURN_IF_ERROR(VisitType<ParameterTypes>(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = static_cast<const T*>(t.raw_data());
    read = [from](int64_t i) {
      if constexpr (kIsSmallFloat<T>) {
        return static_cast<double>(static_cast<float>(from[i]));
      } else {
        return static_cast<double>(from[i]);
      }
    };
    return absl::OkStatus();
  }));
  return read;
}

// Fills `out` with `draw(i, element number)`, where i is the element of the parameters. As the peer
// counts them, numbers of one parameter come one after the other.
template <typename Draw>
absl::Status FillWithDraws(const KernelContext& ctx, int64_t parameters, Tensor& out,
                           const Draw& draw) {
  const int64_t total = out.num_elements();
  if (total == 0) return absl::OkStatus();
  const int64_t each = total / parameters;
  const double most = MostOf(out.dtype());
  return VisitType<ParameterTypes>(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const to = out.mutable_values<T>().data();
    return ctx.ParallelRun(total, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t i = n / each, sample = n % each;
        to[sample * parameters + i] = ResultOf<T>(draw(i, static_cast<uint64_t>(n)), most);
      }
    });
  });
}

Philox At(Philox generator, uint64_t element) {
  generator.Skip(rejection::kReserved * element);
  return generator;
}

// INVALID_ARGUMENT unless the shape of a result ends with that of the parameters.
absl::Status RequireEnd(const Shape& shape, const Shape& parameter) {
  const int lead = shape.rank() - parameter.rank();
  bool fits = lead >= 0;
  for (int i = 0; i < parameter.rank() && fits; ++i) fits = shape.dim(lead + i) == parameter.dim(i);
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "shape ", shape.ToString(), " must end with that of the parameters, ", parameter.ToString()));
}

// The shape of the result. With a session's numbers: what is asked for, for each parameter; else it
// is input 0, which ends in the shape of the parameters.
template <From kFrom>
absl::StatusOr<Shape> ResultShape(const KernelContext& ctx, const Shape& parameter) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  if constexpr (kFrom == From::kSession) {
    Dims dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.end(), parameter.dims().begin(), parameter.dims().end());
    return Shape::Make(dims);
  }
  GYRE_RETURN_IF_ERROR(RequireEnd(shape, parameter));
  return shape;
}

template <From kFrom>
absl::Status RandomGamma(KernelContext& ctx, const SamplerAttrs& attrs) {
  const Tensor alpha = ctx.input(kFirstParameter<kFrom>);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ResultShape<kFrom>(ctx, alpha.shape()));
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorOf<kFrom>(ctx, attrs));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  GYRE_ASSIGN_OR_RETURN(const auto read, Reader(alpha));
  GYRE_RETURN_IF_ERROR(
      FillWithDraws(ctx, alpha.num_elements(), out, [&](int64_t i, uint64_t element) {
        return rejection::Gamma(read(i), At(generator, element));
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

template <From kFrom>
absl::Status RandomPoisson(KernelContext& ctx, const SamplerAttrs& attrs) {
  const Tensor rate = ctx.input(kFirstParameter<kFrom>);
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ResultShape<kFrom>(ctx, rate.shape()));
  GYRE_ASSIGN_OR_RETURN(const Philox generator, GeneratorOf<kFrom>(ctx, attrs));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  GYRE_ASSIGN_OR_RETURN(const auto read, Reader(rate));
  const double most = MostOf(out.dtype());
  GYRE_RETURN_IF_ERROR(
      FillWithDraws(ctx, rate.num_elements(), out, [&](int64_t i, uint64_t element) {
        return rejection::Poisson(read(i), most, At(generator, element));
      }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

// Which element of a tensor of shape `from` is at `index` of the shape to which it is broadcast.
int64_t BroadcastIndex(const Shape& from, const Shape& to, int64_t index) {
  int64_t at = 0, step = 1;
  for (int i = to.rank() - 1; i >= 0; --i) {
    const int64_t place = index % to.dim(i);
    index /= to.dim(i);
    const int own = i - (to.rank() - from.rank());
    if (own < 0) continue;
    if (from.dim(own) != 1) at += place * step;
    step *= from.dim(own);
  }
  return at;
}

// Which inputs say how many trials there are, and how likely each is to succeed.
constexpr int kStatelessCounts = 2, kStatefulCounts = 3;

// `generator_for` gives the generator of a result with so many parameters and samples of each.
template <typename GeneratorFor>
absl::Status RandomBinomial(KernelContext& ctx, int first, const Shape& shape,
                            const GeneratorFor& generator_for) {
  const Tensor counts = ctx.input(first), probabilities = ctx.input(first + 1);
  GYRE_ASSIGN_OR_RETURN(const PartialShape common,
                        shape::BroadcastShapes(counts.shape(), probabilities.shape()));
  GYRE_ASSIGN_OR_RETURN(const Shape parameter, Shape::Make(common.dims()));
  GYRE_RETURN_IF_ERROR(RequireEnd(shape, parameter));
  const int64_t parameters = parameter.num_elements();
  GYRE_ASSIGN_OR_RETURN(
      const Philox generator,
      generator_for(parameters, parameters == 0 ? 0 : shape.num_elements() / parameters));
  GYRE_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(ctx.output_dtype(0), shape));
  GYRE_ASSIGN_OR_RETURN(const auto count, Reader(counts));
  GYRE_ASSIGN_OR_RETURN(const auto probability, Reader(probabilities));
  GYRE_RETURN_IF_ERROR(FillWithDraws(ctx, parameters, out, [&](int64_t i, uint64_t element) {
    return rejection::Binomial(count(BroadcastIndex(counts.shape(), parameter, i)),
                               probability(BroadcastIndex(probabilities.shape(), parameter, i)),
                               generator, element);
  }));
  ctx.set_output(0, std::move(out));
  return absl::OkStatus();
}

absl::Status StatelessBinomial(KernelContext& ctx, const SamplerAttrs& attrs) {
  GYRE_ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx));
  return RandomBinomial(ctx, kStatelessCounts, shape,
                        [&](int64_t, int64_t) { return GeneratorOf<From::kSeed>(ctx, attrs); });
}

absl::Status StatefulBinomial(KernelContext& ctx) {
  if (ctx.input(2).rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape must be a vector, but its shape is ", ctx.input(2).shape().ToString()));
  }
  GYRE_ASSIGN_OR_RETURN(const Shape shape, ctx.ShapeInput(2, "shape"));
  return RandomBinomial(ctx, kStatefulCounts, shape, [&](int64_t parameters, int64_t each) {
    // What the peer reserves; the number is part of the format.
    return TakeGenerator(
        ctx, static_cast<uint64_t>(parameters) * 2 * 100 * (static_cast<uint64_t>(each) + 3) / 4);
  });
}

absl::Status StatefulBinomialShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireScalar(0));
  GYRE_RETURN_IF_ERROR(c.RequireScalar(1));
  GYRE_ASSIGN_OR_RETURN(PartialShape shape, c.InputAsShape(2));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

template <From kFrom>
absl::Status SampledShape(ShapeContext& c) {
  if constexpr (kFrom == From::kSeed) {
    GYRE_RETURN_IF_ERROR(PartialShape(Shape::Vector(2)).Intersect(c.input(1)).status());
  }
  if constexpr (kFrom != From::kSession) return ShapedByInput(c);
  GYRE_ASSIGN_OR_RETURN(const PartialShape shape, c.InputAsShape(0));
  if (!shape.has_rank() || !c.input(1).has_rank()) {
    c.set_output(0, PartialShape::Unknown());
    return absl::OkStatus();
  }
  Dims dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.end(), c.input(1).dims().begin(), c.input(1).dims().end());
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

constexpr absl::string_view kNoCounts = "its result is whole numbers";

// How a sample moves with its shape alpha, by implicit differentiation (Figurnov, Mohamed and Mnih,
// "Implicit reparameterization gradients", 2018); summed over the samples of one alpha.
template <From kFrom>
void GammaGradient(GradientContext& g) {
  constexpr int kAlpha = kFirstParameter<kFrom>;
  if (!g.wants(kAlpha)) return;
  const DType dtype = g.output_dtype(0);
  const DType wide = DTypeSize(dtype) < 4 ? DType::kFloat : dtype;
  const Expr moved =
      g.op("RandomGammaGrad", {Cast(g.input(kAlpha), wide), Cast(g.output(0), wide)});
  g.AddBroadcast(kAlpha, g.grad() * Cast(moved, dtype));
}

}  // namespace

void RegisterRejectionOps(OpRegistry& ops) {
  ops.Add({
      .schema = "RandomGamma(shape: S, alpha: T) -> output: T {seed: int = 0; seed2: int = 0; S: "
                "indextype; T: {half, float, double}}",
      .doc = "Numbers of gamma distributions with these shapes, new ones each time.",
      .traits = {.effect = Effect::kRandom},
      .shape = SampledShape<From::kSession>,
      .gradient = {GammaGradient<From::kSession>},
      .kernel = Compute<&RandomGamma<From::kSession>>(),
  });
  ops.Add({
      .schema = "StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype) -> output: dtype "
                "{dtype: {half, float, double}; T: indextype; Tseed: indextype = int64}",
      .doc = "Numbers of gamma distributions with these shapes, determined by a seed.",
      .shape = SampledShape<From::kSeed>,
      .gradient = {GammaGradient<From::kSeed>},
      .kernel = Compute<&RandomGamma<From::kSeed>>(),
  });
  ops.Add({
      .schema = "StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: "
                "int32, alpha: dtype) -> output: dtype {dtype: {half, float, double}; shape_dtype: "
                "indextype = int32}",
      .doc = "Numbers of gamma distributions with these shapes, determined by key and counter.",
      .shape = SampledShape<From::kKey>,
      .gradient = {GammaGradient<From::kKey>},
      .kernel = Compute<&RandomGamma<From::kKey>>(),
  });
  ops.Add({
      .schema = "RandomPoisson(shape: S, rate: dtype) -> output: dtype {seed: int = 0; seed2: int "
                "= 0; S: indextype; dtype: {half, float, double}}",
      .doc = "Numbers of Poisson distributions with these means, new ones each time.",
      .traits = {.effect = Effect::kRandom},
      .shape = SampledShape<From::kSession>,
      .gradient = NotDifferentiable(kNoCounts),
      .kernel = Compute<&RandomPoisson<From::kSession>>(),
  });
  ops.Add({
      .schema = "RandomPoissonV2(shape: S, rate: R) -> output: dtype {seed: int = 0; seed2: int = "
                "0; S: indextype; R: {half, float, double, int32, int64} = double; dtype: {half, "
                "float, double, int32, int64} = int64}",
      .doc = "Numbers of Poisson distributions with these means, new ones each time.",
      .traits = {.effect = Effect::kRandom},
      .shape = SampledShape<From::kSession>,
      .gradient = NotDifferentiable(kNoCounts),
      .kernel = Compute<&RandomPoisson<From::kSession>>(),
  });
  ops.Add({
      .schema = "StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype) -> output: dtype "
                "{Rtype: {half, float, double, int32, int64}; dtype: {half, float, double, int32, "
                "int64}; T: indextype; Tseed: indextype = int64}",
      .doc = "Numbers of Poisson distributions with these means, determined by a seed.",
      .shape = SampledShape<From::kSeed>,
      .gradient = NotDifferentiable(kNoCounts),
      .kernel = Compute<&RandomPoisson<From::kSeed>>(),
  });
  ops.Add({
      .schema = "StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T) -> output: "
                "dtype {S: indextype; Tseed: indextype = int64; T: {half, float, double, int32, "
                "int64} = double; dtype: {half, float, double, int32, int64} = int64}",
      .doc = "How many of so many trials of these probabilities succeed, determined by a seed.",
      .shape = SampledShape<From::kSeed>,
      .gradient = NotDifferentiable(kNoCounts),
      .kernel = Compute<&StatelessBinomial>(),
  });
  ops.Add({
      .schema = "StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, "
                "probs: T) -> output: dtype {S: indextype; T: {half, float, double, int32, int64} "
                "= double; dtype: {half, float, double, int32, int64} = int64}",
      .doc = "How many of so many trials of these probabilities succeed, from a generator in a "
             "variable, which moves on.",
      .traits = {.effect = Effect::kWrite},
      .shape = StatefulBinomialShape,
      .gradient = NotDifferentiable(kNoCounts),
      .kernel = Compute<&StatefulBinomial>(),
  });
}

}  // namespace gyre

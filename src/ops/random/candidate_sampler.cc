// Candidate samplers: a few classes out of many, to train with instead of all; and which of them
// are among the true ones. Numbers are those of TensorFlow for the same generator.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/hash_map.h"
#include "ir/shape_context.h"
#include "ops/random/draws.h"
#include "ops/random/seeding.h"
#include "ops/registry.h"

namespace gyre {
namespace {

constexpr int64_t kPollWork = 1 << 12;

// How likely each class is.
class ClassDistribution {
 public:
  virtual ~ClassDistribution() = default;
  virtual int64_t range() const = 0;
  virtual int64_t Sample(Draws& draws) const = 0;
  virtual float Probability(int64_t value) const = 0;
};

class Uniform final : public ClassDistribution {
 public:
  explicit Uniform(int64_t range) : range_(range) {}
  int64_t range() const override { return range_; }
  int64_t Sample(Draws& draws) const override {
    return static_cast<int64_t>(draws.Below64(static_cast<uint64_t>(range_)));
  }
  float Probability(int64_t) const override {
    return static_cast<float>(1.0 / static_cast<double>(range_));
  }

 private:
  const int64_t range_;
};

// As words are in texts, sorted by how frequent they are (Zipf).
class LogUniform final : public ClassDistribution {
 public:
  explicit LogUniform(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}
  int64_t range() const override { return range_; }
  int64_t Sample(Draws& draws) const override {
    return (static_cast<int64_t>(std::exp(draws.Double() * log_range_)) - 1) % range_;
  }
  float Probability(int64_t value) const override {
    const auto v = static_cast<double>(value);
    return static_cast<float>(std::log((v + 2.0) / (v + 1.0)) / log_range_);
  }

 private:
  const int64_t range_;
  const double log_range_;
};

// By weights, through Walker's table: a class and its alias share a place.
class Weighted final : public ClassDistribution {
 public:
  explicit Weighted(std::vector<float> weights) : weights_(std::move(weights)) {
    const auto n = static_cast<int64_t>(weights_.size());
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0f);
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    chance_.resize(n);
    alias_.resize(n);
    std::vector<int64_t> low, high;
    std::vector<double> share(n);
    for (int64_t i = 0; i < n; ++i) {
      share[i] = static_cast<double>(weights_[i] * static_cast<float>(n)) / sum;
      alias_[i] = i;
      chance_[i] = 1;
      (share[i] < 1 ? low : high).push_back(i);
    }
    while (!low.empty() && !high.empty()) {
      const int64_t small = low.back(), large = high.back();
      low.pop_back();
      chance_[small] = static_cast<float>(share[small]);
      alias_[small] = large;
      share[large] -= 1 - share[small];
      if (share[large] < 1) {
        high.pop_back();
        low.push_back(large);
      }
    }
  }
  int64_t range() const override { return static_cast<int64_t>(weights_.size()); }
  int64_t Sample(Draws& draws) const override {
    const float chance = draws.Float();
    const auto i = static_cast<int64_t>(draws.Below(static_cast<uint32_t>(weights_.size())));
    return chance < chance_[i] ? i : alias_[i];
  }
  float Probability(int64_t value) const override { return weights_[value] / total_; }

 private:
  const std::vector<float> weights_;
  float total_ = 0;
  std::vector<float> chance_;
  std::vector<int64_t> alias_;
};

struct SamplerAttrs {
  static absl::StatusOr<SamplerAttrs> Make(const Node& node) {
    SamplerAttrs attrs;
    attrs.num_true = NodeAttr<int64_t>(node, "num_true");
    attrs.num_sampled = NodeAttr<int64_t>(node, "num_sampled");
    attrs.unique = NodeAttr<bool>(node, "unique");
    attrs.seed = NodeAttr<int64_t>(node, "seed");
    attrs.seed2 = NodeAttr<int64_t>(node, "seed2");
    const int64_t range = node.attrs.GetOr<int64_t>("range_max", attrs.num_sampled);
    attrs.all = node.op_name == "AllCandidateSampler";
    if (node.op_name == "LogUniformCandidateSampler") {
      attrs.distribution = std::make_shared<LogUniform>(range);
    } else if (node.op_name == "FixedUnigramCandidateSampler") {
      GYRE_ASSIGN_OR_RETURN(attrs.distribution, FixedUnigram(node, range));
    } else {
      attrs.distribution = std::make_shared<Uniform>(range);
    }
    if (attrs.unique && attrs.num_sampled > range) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Sampler's range is too small: ", attrs.num_sampled, " distinct classes of ", range));
    }
    return attrs;
  }

  static absl::StatusOr<std::shared_ptr<const ClassDistribution>> FixedUnigram(const Node& node,
                                                                               int64_t range) {
    const auto& unigrams = NodeAttr<std::vector<float>>(node, "unigrams");
    const int64_t reserved = NodeAttr<int64_t>(node, "num_reserved_ids");
    const int64_t shards = NodeAttr<int64_t>(node, "num_shards");
    const int64_t shard = NodeAttr<int64_t>(node, "shard");
    const float distortion = NodeAttr<float>(node, "distortion");
    if (!NodeAttr<std::string>(node, "vocab_file").empty()) {
      return absl::UnimplementedError(
          "FixedUnigramCandidateSampler reads no vocab_file: give its weights as unigrams");
    }
    if (unigrams.empty()) return absl::InvalidArgumentError("Must provide unigrams");
    constexpr int64_t kMostReserved = 1'000'000;
    if (reserved < 0 || reserved > kMostReserved || shard < 0 || shard >= shards) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_reserved_ids ", reserved, " is not in [0, ", kMostReserved,
                       "], or shard ", shard, " is none of ", shards));
    }
    std::vector<float> weights;
    for (int64_t id = 0; id < reserved; ++id) {
      if (id % shards == shard) weights.push_back(0);
    }
    auto id = static_cast<int64_t>(weights.size());
    for (const float unigram : unigrams) {
      if (id++ % shards != shard) continue;
      const float weight = std::pow(unigram, distortion);
      if (!(weight >= 0) || std::isinf(weight)) {
        return absl::InvalidArgumentError(
            absl::StrCat("unigrams have ", unigram, ": weights must not be negative"));
      }
      weights.push_back(weight);
    }
    const float total = std::accumulate(weights.begin(), weights.end(), 0.0f);
    if (static_cast<int64_t>(weights.size()) != range || !(total > 0) || std::isinf(total)) {
      return absl::InvalidArgumentError(
          absl::StrCat("range is ", range, " must be equal to weights size  ", weights.size(),
                       ", and one of them must be positive"));
    }
    return std::make_shared<Weighted>(std::move(weights));
  }

  int64_t num_true = 1, num_sampled = 1;
  bool unique = false, all = false;
  int64_t seed = 0, seed2 = 0;
  std::shared_ptr<const ClassDistribution> distribution;
};

// How often a class of this probability is expected among so many, drawn in so many tries.
float ExpectedCount(float p, int64_t count, int64_t tries) {
  if (tries == count) return p * static_cast<float>(count);
  return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-p)));
}

// Draws the classes; how many tries that took.
absl::StatusOr<int64_t> DrawClasses(const KernelContext& ctx, const SamplerAttrs& attrs,
                                    Draws& draws, absl::Span<int64_t> classes) {
  if (attrs.all) {
    std::iota(classes.begin(), classes.end(), 0);
    return static_cast<int64_t>(classes.size());
  }
  HashSet<int64_t> used;
  int64_t tries = 0;
  for (size_t i = 0; i < classes.size();) {
    if (++tries % kPollWork == 0) GYRE_RETURN_IF_ERROR(ctx.Poll());
    if (tries >= std::numeric_limits<int32_t>::max()) {
      return absl::ResourceExhaustedError(
          "distinct classes were not found in 2^31 tries: most have no weight");
    }
    const int64_t value = attrs.distribution->Sample(draws);
    if (attrs.unique && !used.insert(value).second) continue;
    classes[i++] = value;
  }
  return tries;
}

absl::Status SampleCandidates(KernelContext& ctx, const SamplerAttrs& attrs) {
  const Tensor& truths = ctx.input(0);
  if (truths.rank() != 2 || truths.dim(1) != attrs.num_true) {
    return absl::InvalidArgumentError(absl::StrCat("true_classes must be [batch, ", attrs.num_true,
                                                   "], but the shape is ",
                                                   truths.shape().ToString()));
  }
  const int64_t range = attrs.distribution->range();
  for (const int64_t value : truths.values<int64_t>()) {
    if (value < 0 || value >= range) {
      return absl::InvalidArgumentError(
          absl::StrCat("`true_candidate` out of range [0, ", range, "), received ", value));
    }
  }
  const Shape sampled = Shape::Vector(attrs.num_sampled);
  GYRE_ASSIGN_OR_RETURN(Tensor candidates, ctx.Allocate(DType::kInt64, sampled));
  GYRE_ASSIGN_OR_RETURN(Tensor true_counts, ctx.Allocate(DType::kFloat, truths.shape()));
  GYRE_ASSIGN_OR_RETURN(Tensor counts, ctx.Allocate(DType::kFloat, sampled));
  const auto [key, stream] = ctx.RandomKey(attrs.seed, attrs.seed2);
  Draws draws(Philox(key, 0, stream));
  GYRE_ASSIGN_OR_RETURN(const int64_t tries,
                        DrawClasses(ctx, attrs, draws, candidates.mutable_values<int64_t>()));
  const auto fill = [&](absl::Span<const int64_t> classes, float* out) -> absl::Status {
    for (size_t i = 0; i < classes.size(); ++i) {
      if (i % kPollWork == kPollWork - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
      out[i] = attrs.all ? 1.0f
                         : ExpectedCount(attrs.distribution->Probability(classes[i]),
                                         attrs.num_sampled, tries);
    }
    return absl::OkStatus();
  };
  GYRE_RETURN_IF_ERROR(fill(candidates.values<int64_t>(), counts.mutable_values<float>().data()));
  GYRE_RETURN_IF_ERROR(fill(truths.values<int64_t>(), true_counts.mutable_values<float>().data()));
  ctx.set_output(0, std::move(candidates));
  ctx.set_output(1, std::move(true_counts));
  ctx.set_output(2, std::move(counts));
  return absl::OkStatus();
}

absl::Status SamplerShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  const int64_t sampled = c.attrs().GetOr<int64_t>("num_sampled", -1);
  c.set_output(0, PartialShape(Dims{sampled}));
  c.set_output(1, PartialShape(Dims{c.input(0).has_rank() ? c.input(0).dim(0) : -1,
                                    c.attrs().GetOr<int64_t>("num_true", -1)}));
  c.set_output(2, PartialShape(Dims{sampled}));
  return absl::OkStatus();
}

struct HitAttrs {
  explicit HitAttrs(const Node& node) : num_true(NodeAttr<int64_t>(node, "num_true")) {}
  int64_t num_true;
};

absl::Status AccidentalHits(KernelContext& ctx, const HitAttrs& attrs) {
  const Tensor& truths = ctx.input(0);
  const Tensor& sampled = ctx.input(1);
  if (truths.rank() != 2 || truths.dim(1) != attrs.num_true || sampled.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("true_classes must be [batch, ", attrs.num_true,
                     "] and sampled_candidates a vector, but their shapes are ",
                     truths.shape().ToString(), " and ", sampled.shape().ToString()));
  }
  const auto candidates = sampled.values<int64_t>();
  HashMap<int64_t, int64_t> places;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i % kPollWork == kPollWork - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    places[candidates[i]] = static_cast<int64_t>(i);
  }
  std::vector<std::pair<int32_t, int64_t>> hits;
  const auto values = truths.values<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % kPollWork == kPollWork - 1) GYRE_RETURN_IF_ERROR(ctx.Poll());
    const auto found = places.find(values[i]);
    if (found == places.end()) continue;
    hits.emplace_back(static_cast<int32_t>(static_cast<int64_t>(i) / attrs.num_true),
                      found->second);
  }
  const Shape shape = Shape::Vector(static_cast<int64_t>(hits.size()));
  GYRE_ASSIGN_OR_RETURN(Tensor indices, ctx.Allocate(DType::kInt32, shape));
  GYRE_ASSIGN_OR_RETURN(Tensor ids, ctx.Allocate(DType::kInt64, shape));
  GYRE_ASSIGN_OR_RETURN(Tensor weights, ctx.Allocate(DType::kFloat, shape));
  for (size_t i = 0; i < hits.size(); ++i) {
    indices.mutable_values<int32_t>()[i] = hits[i].first;
    ids.mutable_values<int64_t>()[i] = hits[i].second;
    weights.mutable_values<float>()[i] = -FLT_MAX;
  }
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(ids));
  ctx.set_output(2, std::move(weights));
  return absl::OkStatus();
}

absl::Status HitsShape(ShapeContext& c) {
  GYRE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  GYRE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  for (int i = 0; i < 3; ++i) c.set_output(i, PartialShape::UnknownOfRank(1));
  return absl::OkStatus();
}

constexpr absl::string_view kInputs =
    "(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float, "
    "sampled_expected_count: float {num_true: int >= 1; num_sampled: int >= 1; unique: bool; ";
constexpr absl::string_view kSeeds = "seed: int = 0; seed2: int = 0}";

void AddSampler(OpRegistry& ops, absl::string_view name, absl::string_view attrs,
                absl::string_view doc) {
  const std::string schema = absl::StrCat(name, kInputs, attrs, kSeeds);
  ops.Add({
      .schema = schema,
      .doc = doc,
      .traits = {.effect = Effect::kRandom},
      .shape = SamplerShape,
      .gradient = NotDifferentiable("random classes do not depend on differentiable inputs"),
      .kernel = Compute<&SampleCandidates>(),
  });
}

}  // namespace

void RegisterCandidateSampler(OpRegistry& ops) {
  AddSampler(ops, "UniformCandidateSampler", "range_max: int >= 1; ",
             "Classes drawn evenly, and how often they and the true ones are expected.");
  AddSampler(
      ops, "LogUniformCandidateSampler", "range_max: int >= 1; ",
      "Classes drawn as words are frequent (P(k) ~ log(1 + 1 / (k + 1))), and how often they "
      "and the true ones are expected.");
  AddSampler(ops, "FixedUnigramCandidateSampler",
             "range_max: int >= 1; vocab_file: string = ''; distortion: float = 1; "
             "num_reserved_ids: int = 0; num_shards: int >= 1 = 1; shard: int >= 0 = 0; unigrams: "
             "list(float) = []; ",
             "Classes drawn by weights, and how often they and the true ones are expected.");
  AddSampler(ops, "AllCandidateSampler", "", "All classes, each of which is expected once.");
  ops.Add({
      .schema = "ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) -> indices: "
                "int32, ids: int64, weights: float {num_true: int; seed: int = 0; seed2: int = 0}",
      .doc = "Which sampled classes are true ones: the row, the place among the sampled, and the "
             "lowest float.",
      .shape = HitsShape,
      .gradient = NotDifferentiable("its inputs are integers"),
      .kernel = Compute<&AccidentalHits>(),
  });
}

}  // namespace gyre

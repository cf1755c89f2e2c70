// What loops keep for their gradients under each memory policy, counted.
#include <cstring>

#include "front/engines.h"
#include "gyre/core/debug.h"

namespace gyre::testing {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

using SavedBytes = OnEngine;
GYRE_ON_EACH_ENGINE(SavedBytes);

// "value: times * bytes" for all that `fetches` save.
std::vector<std::string> SavedBy(Graph& graph, const SessionOptions& options,
                                 const std::vector<Value>& fetches, const FeedList& feeds) {
  GraphSession session(graph, options);
  StepStatistics statistics;
  (void)session.eval(fetches, feeds, {}, {.observer = &statistics});
  std::vector<std::string> lines;
  for (const SavedStatistics& saved : statistics.saved())
    lines.push_back(absl::StrCat(saved.value, ": ", saved.times, " * ", saved.bytes / saved.times));
  return lines;
}

TEST_P(SavedBytes, OfAScalarStepAreItsState) {
  const Value n = Int(), x = Scalar(DType::kDouble), w = Scalar(DType::kDouble);
  const Value y = for_range(n, [&](Value, Value x) { return sin(x * w); }, x);
  const FeedList feeds = {
      {n, I(100)}, {x, Tensor::Scalar<double>(0.5)}, {w, Tensor::Scalar<double>(1.1)}};
  EXPECT_EQ(SavedBy(graph, options(), gradients({y}, {x, w}), feeds),
            std::vector<std::string>({"state: 100 * 8"}));
}

// Invariants (w), constants, shapes, casts of a counter and sums of scalars are there or computed.
TEST_P(SavedBytes, AreNoneOfInvariantsConstantsAndWhatIsCheap) {
  const Value n = Int();
  const Value x = placeholder(DType::kFloat, PartialShape(Dims{4})), w = Float();
  const Value y = for_range(
      n,
      [&](Value i, Value x) {
        const Value scale = cast(i, DType::kFloat) * 0.5f + w;
        return reshape(x, shape_of(x)) * scale + reduce_sum(x) * 0.25f;
      },
      x);
  const Tensor four = Tensor::FromValues<float>(std::vector<float>{1, 2, 3, 4}, Shape::Vector(4));
  // By x, only factors are needed, all of them cheap; by w, the state too (as Reshape hands it on).
  const FeedList feeds = {{n, I(7)}, {x, four}, {w, F(2)}};
  EXPECT_EQ(SavedBy(graph, options(), gradients({y}, {x}), feeds), std::vector<std::string>());
  EXPECT_EQ(SavedBy(graph, options(), gradients({y}, {w}), feeds),
            std::vector<std::string>({"Reshape: 7 * 16"}));
}

TEST_P(SavedBytes, UnderRecomputeAreTheStateOfEachSegmentAndThoseOfOne) {
  const Value n = Int(), x = Scalar(DType::kDouble), w = Scalar(DType::kDouble);
  const Value y = for_range(n, [&](Value, Value x) { return sin(x * w); }, x);
  const FeedList feeds = {
      {n, I(100)}, {x, Tensor::Scalar<double>(0.5)}, {w, Tensor::Scalar<double>(1.1)}};
  const auto g = gradients({y}, {x, w}, {.memory = MemoryPolicy::Recompute(20)});
  EXPECT_EQ(SavedBy(graph, options(), g, feeds),
            std::vector<std::string>({"state: 100 * 8", "state: 5 * 8", "state_index: 5 * 4"}));
}

TEST_P(SavedBytes, ArePutDownToTheirLoops) {
  const Value n = Int(), x = Scalar(DType::kDouble);
  const Value y = for_range(
      n, [&](Value, Value x) { return for_range(n, [&](Value, Value x) { return sin(x); }, x); },
      x);
  const std::vector<Value> g = gradients({y}, {x});
  GraphSession session(graph, options());
  StepStatistics statistics;
  (void)session.eval(g, {{n, I(5)}, {x, Tensor::Scalar<double>(0.5)}}, {},
                     {.observer = &statistics});
  // The inner loop's states, and the lists of these, which hold them once more.
  ASSERT_EQ(statistics.saved().size(), 2);
  const SavedStatistics outer = statistics.saved()[0], inner = statistics.saved()[1];
  EXPECT_NE(outer.loop, inner.loop);
  EXPECT_EQ(outer.times, 5);
  EXPECT_EQ(inner.times, 25);
  EXPECT_EQ(inner.bytes, 25 * 8);
  EXPECT_GE(outer.bytes, inner.bytes);
  EXPECT_GT(statistics.peak_bytes(), 25 * 8);
}

// x = sin(x * w), n times; the gradient by x and w.
struct Sines {
  Sines(DType dtype, const PartialShape& shape, const std::string& memory) {
    const GraphScope in(graph);
    n = Int();
    x = placeholder(dtype, shape);
    w = Scalar(dtype);
    const Value y = for_range(n, [&](Value, Value x) { return sin(x * w); }, x);
    gradient = gradients({y}, {x, w}, {.memory = *ParseMemoryPolicy(memory)});
  }
  // RESOURCE_EXHAUSTED, thrown, when what it makes takes more than the budget.
  std::vector<Tensor> Run(int32_t iterations, const Tensor& at, int64_t budget) {
    GraphSession session(graph);
    return session.eval(gradient, {{n, I(iterations)}, {x, at}, {w, Tensor::Scalar<double>(1.1)}},
                        {}, {.budget_bytes = budget});
  }

  Graph graph;
  Value n, x, w;
  std::vector<Value> gradient;
};

void ExpectSameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape(), b[i].shape());
    EXPECT_EQ(std::memcmp(a[i].raw_data(), b[i].raw_data(), a[i].bytes()), 0) << i;
  }
}

TEST(MemoryPolicy, AMillionScalarStepsTakeSixteenMegabytesOrOne) {
  const Tensor x = Tensor::Scalar<double>(0.5);
  constexpr int32_t kIterations = 1'000'000;
  Sines save(DType::kDouble, PartialShape::Scalar(), "save");
  Sines checkpoint(DType::kDouble, PartialShape::Scalar(), absl::StrCat("checkpoint(", kMiB, ")"));
  ExpectSameBits(save.Run(kIterations, x, 16 * kIterations), checkpoint.Run(kIterations, x, kMiB));
}

TEST(MemoryPolicy, AStateOfFourKilobytesTakesAMegabyte) {
  const std::vector<double> values(512, 0.5);
  const Tensor x = Tensor::FromValues<double>(values, Shape::Vector(512));
  Sines save(DType::kDouble, PartialShape(Dims{512}), "save");
  Sines checkpoint(DType::kDouble, PartialShape(Dims{512}), absl::StrCat("checkpoint(", kMiB, ")"));
  ExpectSameBits(save.Run(1000, x, 0), checkpoint.Run(1000, x, kMiB));
  (void)checkpoint.Run(50'000, x, kMiB);
}

using NestedPolicies = OnEngine;
GYRE_ON_EACH_ENGINE(NestedPolicies);

// Three loops in one another, each under a policy of its own.
TEST_P(NestedPolicies, KeepTheBits) {
  const Value n = Int(), x = Float(), w = Float();
  const auto build = [&](const std::vector<std::string>& memory) {
    const auto loop = [&](int level, const Value& x, const auto& self) -> Value {
      LoopOptions options;
      options.memory = *ParseMemoryPolicy(memory[level]);
      return for_range(
          n,
          [&](Value, Value x) {
            return sin(w * (level + 1 < 3 ? self(level + 1, x, self) : x)) + 0.1f * x;
          },
          x, options);
    };
    return gradients({loop(0, x, loop)}, {x, w});
  };
  const std::vector<Value> save = build({"", "", ""});
  const std::vector<std::vector<std::string>> policies = {
      {"recompute(2)", "recompute(2)", "recompute(2)"},
      {"checkpoint(100)", "checkpoint(100)", "checkpoint(100)"},
      {"", "checkpoint(50)", "recompute(1)"},
      {"recompute(3)", "", "checkpoint(1000)"}};
  for (const std::vector<std::string>& policy : policies) {
    const std::vector<Value> other = build(policy);
    for (const int iterations : {0, 1, 6}) {
      const FeedList feeds = {{n, I(iterations)}, {x, F(0.5f)}, {w, F(1.1f)}};
      for (size_t i = 0; i < 2; ++i)
        EXPECT_EQ(Eval<float>(save[i], feeds), Eval<float>(other[i], feeds))
            << policy[0] << iterations;
    }
  }
}

}  // namespace
}  // namespace gyre::testing

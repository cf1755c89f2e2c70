// What loops that read variables keep for their gradients, and the bits of these, under each memory
// policy.
#include <cmath>
#include <cstring>
#include <map>

#include "front/engines.h"
#include "gyre/core/debug.h"
#include "gyre/training.h"

namespace gyre::testing {
namespace {

using MemoryOfEffects = OnEngine;
GYRE_ON_EACH_ENGINE(MemoryOfEffects);

const char* const kPolicies[] = {"recompute(1)", "recompute(3)", "checkpoint(64)",
                                 "checkpoint(4000)"};

constexpr int64_t kSize = 8;

Value Start() { return fill({kSize}, constant(0.4)); }

void ExpectSameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b,
                    const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape(), b[i].shape()) << what;
    EXPECT_EQ(std::memcmp(a[i].raw_data(), b[i].raw_data(), a[i].bytes()), 0) << what << ", " << i;
  }
}

struct Result {
  std::vector<Tensor> values;
  std::vector<std::string> saved;  // "loop, value: bytes", of what is kept for the gradient
};

Result Ran(Graph& graph, const SessionOptions& options, const std::vector<Value>& fetches) {
  GraphSession session(graph, options);
  session.initialize();
  StepStatistics statistics;
  Result result;
  result.values = session.run(fetches, {}, {.observer = &statistics});
  for (const SavedStatistics& saved : statistics.saved())
    result.saved.push_back(absl::StrCat(saved.loop, ", ", saved.value, ": ", saved.bytes));
  return result;
}

// A loop over x of a program with variables w, of the shape of x, and v, a scalar.
using Program = std::function<Value(const Variable& w, const Variable& v, const LoopOptions&)>;

// The gradient by both variables, each time in a graph of its own.
Result Gradient(const SessionOptions& options, const Program& program, const std::string& memory) {
  Graph graph;
  const GraphScope in(graph);
  const Variable w("w", fill({kSize}, constant(0.9))), v("v", 1.1);
  LoopOptions loop;
  loop.memory = *ParseMemoryPolicy(memory);
  const Value y = program(w, v, loop);
  const std::vector<Value> g = gradients({y}, {w, v}, {.unconnected = Unconnected::kNothing});
  std::vector<Value> fetches{y};
  for (const Value& each : g) {
    if (each.has_value()) fetches.push_back(each);
  }
  return Ran(graph, options, fetches);
}

void ExpectSameGradients(const SessionOptions& options, const Program& program) {
  const Result save = Gradient(options, program, "save");
  ASSERT_GE(save.values.size(), 2u);
  for (const char* memory : kPolicies) {
    const Result other = Gradient(options, program, memory);
    ExpectSameBits(save.values, other.values, memory);
    EXPECT_NE(save.saved, other.saved) << memory << " does nothing";
  }
}

constexpr int kIterations = 7;

TEST_P(MemoryOfEffects, VariablesThatABodyReads) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(
        for_range(kIterations, [&](Value, Value x) { return sin(x * w) * v; }, Start(), loop));
  });
}

TEST_P(MemoryOfEffects, VariablesThatAConditionReads) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(while_loop([&](Value x) { return reduce_sum(x) > v; },
                                 [&](Value x) { return sin(x * w) * v * 0.8; }, Start(), loop));
  });
}

TEST_P(MemoryOfEffects, VariablesThatBranchesRead) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(for_range(
        kIterations,
        [&](Value i, Value x) {
          return cond(equal(i % 2, 0), [&] { return sin(x * w); }, [&] { return tanh(x * v); });
        },
        Start(), loop));
  });
}

TEST_P(MemoryOfEffects, VariablesThatAnInnerLoopReads) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(for_range(
        kIterations,
        [&](Value, Value x) {
          return v * for_range(3, [&](Value, Value x) { return sin(x * w); }, x, loop);
        },
        Start(), loop));
  });
}

TEST_P(MemoryOfEffects, VariablesThatFunctionsReadAlsoRecursiveOnes) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    auto cell = function("cell", [&](Value x) { return sin(x * w); });
    const TensorSpec number{DType::kInt32, PartialShape::Scalar()},
        state{DType::kDouble, PartialShape(Dims{kSize})};
    auto deep = declare<Value(Value, Value)>("deep", {number, state}, {state});
    deep.define([&](Value n, Value x) {
      return cond(n > 0, [&] { return deep(n - 1, cell(x) * v); }, [&] { return x; });
    });
    return reduce_sum(for_range(
        kIterations, [&](Value, Value x) { return cell(deep(constant(2), x)); }, Start(), loop));
  });
}

// Rows of a table stay rows on the way back.
TEST_P(MemoryOfEffects, RowsThatABodyGathers) {
  for (const char* memory : {"save", "recompute(2)", "checkpoint(64)"}) {
    Graph own;
    const GraphScope in(own);
    const Variable table("table", reshape(cast(range(0, 12, 1), DType::kDouble) * 0.1, {4, 3}));
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = reduce_sum(for_range(
        kIterations,
        [&](Value i, Value x) {
          return sin(x + op::ResourceGather(table.handle(), i % 3, DType::kDouble));
        },
        fill({3}, constant(0.4)), loop));
    const std::vector<SparseGradient> g = sparse_gradients({y}, {table});
    ASSERT_TRUE(g[0].is_sparse()) << memory;
    const std::vector<Tensor> got = Ran(own, options(), {y, g[0].dense()}).values;
    const Value plain = reduce_sum(for_range(
        kIterations, [&](Value i, Value x) { return sin(x + gather(table, i % 3)); },
        fill({3}, constant(0.4))));
    const std::vector<Tensor> want =
        Ran(own, options(), {plain, gradients({plain}, {table})[0]}).values;
    EXPECT_EQ(got[0].scalar<double>(), want[0].scalar<double>());
    for (int i = 0; i < 12; ++i)
      EXPECT_NEAR(got[1].values<double>()[i], want[1].values<double>()[i], 1e-14) << memory << i;
  }
}

// An update behind the loop, before its gradient: the gradient is that of what the loop has read.
TEST_P(MemoryOfEffects, WhatIsWrittenBehindTheLoopDoesNotMatter) {
  for (const char* memory : {"save", "recompute(2)", "checkpoint(64)"}) {
    Graph own;
    const GraphScope in(own);
    const Variable w("w", 0.9);
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = for_range(kIterations, [&](Value, Value x) { return sin(x * w); }, 0.4, loop);
    w.assign(y * 100.0);
    const Value g = gradients({y}, {w})[0];
    const Value last = w.read();
    const std::vector<Tensor> got = Ran(own, options(), {y, g, last}).values;
    double x = 0.4, dx = 0;
    for (int i = 0; i < kIterations; ++i) {
      dx = std::cos(x * 0.9) * (dx * 0.9 + x);
      x = std::sin(x * 0.9);
    }
    EXPECT_NEAR(got[0].scalar<double>(), x, 1e-14);
    EXPECT_NEAR(got[1].scalar<double>(), dx, 1e-13) << memory;
    EXPECT_EQ(got[2].scalar<double>(), got[0].scalar<double>() * 100.0);
  }
}

// Each iteration writes what the next one reads, by a handle of its own: nothing of it is constant.
TEST_P(MemoryOfEffects, VariablesThatAreWrittenByAnotherHandle) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    const Value alias = op::VarHandleOp(DType::kDouble, PartialShape::Scalar(),
                                        {.shared_name = std::string(v.name())});
    return reduce_sum(for_range(
        kIterations,
        [&](Value, Value x) {
          const Value next = sin(x * w) * v;
          op::AssignVariableOp(alias, reduce_sum(next) * 0.2);
          return next;
        },
        Start(), loop));
  });
}

// A loop that makes no iteration, and a branch that is not taken, read nothing.
TEST_P(MemoryOfEffects, VariablesWithoutAValueMatterWhereTheyAreRead) {
  for (const char* memory : {"save", "recompute(2)", "checkpoint(64)"}) {
    Graph own;
    const GraphScope in(own);
    const Variable v("v", 1.0);
    const Value n = Int(), x = Scalar(DType::kDouble);
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = for_range(n, [&](Value, Value x) { return sin(x * v); }, x, loop);
    const Value g = gradients({y}, {x})[0];
    GraphSession session(own, options());
    const auto at = [&](int iterations) {
      return FeedList{{n, I(iterations)}, {x, Tensor::Scalar(0.5)}};
    };
    EXPECT_EQ(session.eval(g, at(0)).scalar<double>(), 1.0);
    ExpectContains(ErrorOf([&] { session.eval(g, at(2)); }), "Could not find variable v");
    session.initialize();
    EXPECT_NE(session.eval(g, at(2)).scalar<double>(), 1.0);
  }
}

// ---- Effects

Value Dropped(const Value& x) {
  const Value random = op::RandomUniform(constant({kSize}), DType::kDouble, {.seed = 7});
  return x * cast(random > 0.3, DType::kDouble) / 0.7;
}

TEST_P(MemoryOfEffects, RandomNumbersAreDrawnOnce) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(for_range(
        kIterations, [&](Value, Value x) { return Dropped(sin(x * w) * v); }, Start(), loop));
  });
}

TEST_P(MemoryOfEffects, RandomNumbersOfBranchesLoopsAndFunctions) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    auto layer = function("layer", [&](Value x) { return Dropped(sin(x * w)); });
    return reduce_sum(for_range(
        kIterations,
        [&](Value i, Value x) {
          x = for_range(i % 3, [&](Value, Value x) { return layer(x) + 0.5 * x; }, x, loop);
          return cond(
              reduce_sum(x) > 1.5, [&] { return Dropped(x * v); }, [&] { return tanh(layer(x)); });
        },
        Start(), loop));
  });
}

// A function that calls itself, and draws at each level.
TEST_P(MemoryOfEffects, RandomNumbersOfRecursion) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    const TensorSpec number{DType::kInt32, PartialShape::Scalar()},
        state{DType::kDouble, PartialShape(Dims{kSize})};
    auto deep = declare<Value(Value, Value)>("deep", {number, state}, {state});
    deep.define([&](Value n, Value x) {
      return cond(n > 0, [&] { return deep(n - 1, Dropped(sin(x * w))); }, [&] { return x * v; });
    });
    return reduce_sum(for_range(
        kIterations, [&](Value, Value x) { return deep(constant(2), x); }, Start(), loop));
  });
}

// A condition that draws, and decides when the loop ends.
TEST_P(MemoryOfEffects, RandomNumbersOfAConditionAreDrawnOnce) {
  ExpectSameGradients(options(), [](const Variable& w, const Variable& v, const LoopOptions& loop) {
    return reduce_sum(while_loop(
        [&](Value x) {
          return reduce_sum(x) >
                 op::RandomUniform(op::Shape(v.read()), DType::kDouble, {.seed = 11}) * 1e-3;
        },
        [&](Value x) { return sin(x * w) * v * 0.7; }, Start(), loop));
  });
}

// Each update happens once, and is seen by the iterations behind it.
TEST_P(MemoryOfEffects, WritesHappenOnce) {
  for (const char* memory : {"save", "recompute(2)", "checkpoint(64)"}) {
    Graph own;
    const GraphScope in(own);
    const Variable w("w", 0.9), seen("seen", 0.0);
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = for_range(
        kIterations,
        [&](Value, Value x) {
          seen.assign_add(1.0);
          return sin(x * w + 0.1 * seen);
        },
        0.4, loop);
    const Value g = gradients({y}, {w})[0];
    const std::vector<Tensor> got = Ran(own, options(), {y, g, seen.read()}).values;
    double x = 0.4, dx = 0;
    for (int i = 0; i < kIterations; ++i) {
      const double in = x * 0.9 + 0.1 * (i + 1);
      dx = std::cos(in) * (dx * 0.9 + x);
      x = std::sin(in);
    }
    EXPECT_NEAR(got[0].scalar<double>(), x, 1e-14) << memory;
    EXPECT_NEAR(got[1].scalar<double>(), dx, 1e-13) << memory;
    EXPECT_EQ(got[2].scalar<double>(), kIterations) << memory;
  }
}

TEST_P(MemoryOfEffects, PrintsAndAssertionsHappenOnceAndInOrder) {
  const Variable w("w", 0.9);
  const Value n = Int();
  LoopOptions loop;
  loop.memory = MemoryPolicy::Recompute(2);
  const Value y = for_range(
      n,
      [&](Value i, Value x) {
        print("iteration {}", i);
        assert_that(i < 5, "five iterations are enough");
        return sin(x * w);
      },
      0.4, loop);
  (void)gradients({y}, {w});
  EXPECT_EQ(Printed({{n, I(4)}}), "iteration 0\niteration 1\niteration 2\niteration 3\n");
  ExpectContains(ErrorOf([&] { (void)Printed({{n, I(9)}}); }), "five iterations are enough");
}

// ---- Bytes

// The peak of a run of x = tanh(x w), `iterations` times, w a constant or a variable.
int64_t PeakOf(bool is_variable, const std::string& memory) {
  constexpr int64_t kRows = 64, kColumns = 32;
  Graph graph;
  const GraphScope in(graph);
  const Value weights = fill({kColumns, kColumns}, constant(0.05f));
  const Variable variable("w", weights);
  LoopOptions loop;
  loop.memory = *ParseMemoryPolicy(memory);
  const Value x = fill({kRows, kColumns}, constant(0.5f));
  const Value y = reduce_sum(for_range(
      400, [&](Value, Value x) { return tanh(matmul(x, is_variable ? variable.read() : weights)); },
      x, loop));
  const Value g = gradients({y}, {is_variable ? Source(variable) : Source(weights)})[0];
  GraphSession session(graph);
  session.initialize();
  StepStatistics statistics;
  (void)session.eval({g}, {}, {}, {.observer = &statistics});
  return statistics.peak_bytes();
}

TEST(MemoryOfVariables, IsThatOfConstantWeights) {
  std::map<std::string, int64_t> peaks;
  for (const char* memory : {"save", "recompute(20)", "checkpoint(400000)"}) {
    const int64_t constant = PeakOf(false, memory), variable = PeakOf(true, memory);
    peaks[memory] = variable;
    EXPECT_LE(variable, constant + constant / 10) << memory;
  }
  EXPECT_LE(peaks["recompute(20)"], peaks["save"] / 8);
  EXPECT_LE(peaks["checkpoint(400000)"], peaks["save"] / 8);
}

// Random numbers are drawn again, by their keys: they need no more room than a loop without.
TEST(MemoryOfRandomNumbers, IsThatOfTheirKeys) {
  const auto peak = [](const std::string& memory) {
    Graph graph;
    const GraphScope in(graph);
    const Variable w("w", 0.9);
    LoopOptions loop;
    loop.memory = *ParseMemoryPolicy(memory);
    const Value y = reduce_sum(for_range(
        400,
        [&](Value, Value x) {
          const Value scale = op::RandomUniform(constant({512}), DType::kDouble, {.seed = 7}) + 0.5;
          return sin(tanh(x * w) * scale);
        },
        fill({512}, constant(0.5)), loop));
    const Value g = gradients({y}, {w})[0];
    GraphSession session(graph);
    session.initialize();
    StepStatistics statistics;
    (void)session.eval({g}, {}, {}, {.observer = &statistics});
    return statistics.peak_bytes();
  };
  EXPECT_LE(peak("recompute(20)"), peak("save") / 4);
}

}  // namespace
}  // namespace gyre::testing

// Cases that compute gradients: forward and backward in one run. And how long it takes to make
// gradients of programs with many loops.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "grad/gradients.h"
#include "graph.h"
#include "loops_cases.h"
#include "lstm.h"
#include "mlp.h"
#include "session/gradient_program.h"
#include "workload.h"

namespace gyre::bench {

// `work` with the gradients of its first fetch by these placeholders as its fetches.
// `memory`: the policy of its loops.
inline Workload GradientOf(Workload work, const std::vector<std::string>& xs,
                           const MemoryPolicy& memory = {}) {
  const Function& main = work.program->main();
  const auto find = [&](absl::string_view name) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, ':');
    const Node* node = main.FindNode(parts.first);
    int slot = 0;
    if (node == nullptr || !(parts.second.empty() || absl::SimpleAtoi(parts.second, &slot)))
      Die(absl::StrCat("there is no node ", name));
    return Endpoint{node->id, slot};
  };
  GradientRequest request{.ys = {find(work.fetches[0])}};
  request.memory = memory;
  for (const std::string& x : xs) request.xs.push_back(find(x));
  const GradientResult result = OrDie(DenseGradients(work.program, request));
  work.fetches.clear();
  for (const auto& gradient : result.gradients)
    work.fetches.push_back(result.program->main().EndpointName(gradient->values));
  work.program = result.program;
  return work;
}

// The same for a program with primitives, which is raised first: names are other ones then.
inline Workload RaisedGradientOf(Workload work, const std::vector<std::string>& xs) {
  NamedGradientRequest request{.ys = {work.fetches[0]}, .xs = xs};
  for (const auto& [name, value] : work.feeds) request.feeds.push_back(name);
  const GradientProgram made = OrDie(MakeGradientProgram(work.program, request));
  for (size_t i = 0; i < made.feeds.size(); ++i) work.feeds[i].first = made.feeds[i];
  work.fetches.clear();
  for (const std::optional<std::string>& gradient : made.gradients)
    work.fetches.push_back(gradient.value());
  work.targets = made.targets;
  work.program = made.program;
  return work;
}

// ---- x = sin(x * w), n times; the gradient by w ----

// With w = 1 derivatives shrink slowly. With others they fall below the smallest normal number
// after some hundred steps, and what is measured then is how a library treats such numbers: Gyre
// computes them, XLA and TensorFlow take them for 0.
struct SineValues {
  static constexpr float kX = 0.5f, kW = 1;
  // The derivative of the last x by w.
  static double Gradient(int iterations) {
    double x = kX, dw = 0;
    for (int i = 0; i < iterations; ++i) {
      dw = std::cos(x * kW) * (x + kW * dw);
      x = std::sin(x * kW);
    }
    return dw;
  }
};

inline Endpoint Sine(Graph& g, Endpoint x, Endpoint w) {
  return g.Op("Sin", {g.Op("Mul", {x, w})});
}

inline Endpoint SineStep(Graph& g, const LoopArgs& args) { return Sine(g, args.x, args.c); }

// A loop of placeholders x and c with its values; `steps`: how often it computes a sine.
inline Workload WithSineValues(Workload loop, int steps) {
  loop.feeds[1].second = Tensor::Scalar(SineValues::kX);
  loop.feeds[2].second = Tensor::Scalar(SineValues::kW);
  loop.check = AllAre(SineValues::Gradient(steps), 1, 1e-4);
  return loop;
}

inline Workload SineGradient(Workload loop, int steps, const MemoryPolicy& memory = {}) {
  return GradientOf(WithSineValues(std::move(loop), steps), {"c"}, memory);
}

inline Workload SineLoop(int iterations, const MemoryPolicy& memory = {}) {
  return SineGradient(
      LoopWorkload(iterations, {LoopBody("body", &SineStep)}, 0, PartialShape::Scalar()),
      iterations, memory);
}

// Written as primitives. Its gradient is a structured program, like any.
inline Workload SinePrimitives(int iterations) {
  Workload loop = PrimitiveLoop(iterations, &Sine, PartialShape::Scalar());
  return RaisedGradientOf(WithSineValues(std::move(loop), iterations), {"c:0"});
}

// ---- LSTM: the gradients of the sum of all elements of the last h by the weights ----

inline Workload LstmGradient(const LstmSize& size) {
  Workload work = GradientOf(LstmLoop(size), {"w", "u", "b"});
  work.check = [size](const std::vector<Tensor>& got) -> std::string {
    const ScalarLstm::Gradients want = ScalarLstm(size).gradients();
    const double* const by_gate[] = {want.w, want.u, want.b};
    const absl::string_view names = "wub";
    for (int which = 0; which < 3; ++which) {
      const absl::Span<const float> values = got[which].values<float>();
      const size_t rows = which == 2 ? 1 : size.hidden;
      if (values.size() != rows * 4 * size.hidden)
        return absl::StrCat(names.substr(which, 1), " has ", values.size(), " elements");
      for (size_t i = 0; i < values.size(); ++i) {
        const double one = by_gate[which][i / size.hidden % 4];
        if (!(std::abs(values[i] - one) <= 1e-3 * std::abs(one)))
          return absl::StrCat(names.substr(which, 1), "[", i, "]: ", values[i], " instead of ",
                              one);
      }
    }
    return "";
  };
  return work;
}

// ---- Many loops ----

// `depth` loops, each in the body of the one around it, of one iteration each; an iteration
// computes a sine and then runs the next loop.
inline Workload NestOfLoops(int depth) {
  std::vector<Function> bodies;
  for (int level = 1; level <= depth; ++level) {
    const std::string body = absl::StrCat("body", level + 1);
    const auto step = [&](Graph& g, const LoopArgs& args) {
      const Endpoint x = SineStep(g, args);
      if (level == depth) return x;
      const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
      const Endpoint loop =
          g.Op("StatelessWhile", {zero, args.n, x, args.c}, LoopAttrs("cond", body));
      return Endpoint{loop.node, 2};
    };
    bodies.push_back(LoopBody(level == 1 ? "body" : absl::StrCat("body", level), step));
  }
  return LoopWorkload(1, std::move(bodies), 0, PartialShape::Scalar());
}

constexpr int kRowIterations = 2;

// `count` loops of sines, each of which starts where the one before it ends.
inline Workload RowOfLoops(int count) {
  Workload work =
      LoopWorkload(kRowIterations, {LoopBody("body", &SineStep)}, 0, PartialShape::Scalar());
  Graph g;
  const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
  const Endpoint n = g.Placeholder("n", DType::kInt32);
  Endpoint x = g.Placeholder("x", DType::kFloat, PartialShape::Scalar());
  const Endpoint c = g.Placeholder("c", DType::kFloat, PartialShape::Scalar());
  std::vector<Function> functions = {LoopCondition("cond")};
  for (int i = 0; i < count; ++i) {
    functions.push_back(LoopBody(absl::StrCat("body", i), &SineStep));
    const std::string& body = functions.back().name;
    x = {g.Op("StatelessWhile", {zero, n, x, c}, LoopAttrs("cond", body)).node, 2};
  }
  g.Op("Identity", {x}, {}, "y");
  work.program = MakeProgram(g.Build(), std::move(functions));
  return work;
}

inline void RunOnce(const Workload& work, const SessionOptions& options) {
  const auto session = OrDie(Session::Create(work.program, options));
  const std::string wrong = work.check(OrDie(session->Run(work.feeds, work.fetches, work.targets)));
  if (!wrong.empty()) Die(wrong);
}

// Makes the gradient of a program that is there.
inline Case BuildsGradient(std::string name, const std::function<Workload()>& loops, int steps) {
  const auto prepare = [=](const SessionOptions& options) {
    const Workload work = loops();
    RunOnce(SineGradient(work, steps), options);
    return std::function<void()>([work, steps] { SineGradient(work, steps); });
  };
  return {.name = std::move(name), .prepare = prepare};
}

// Writes the program, makes its gradient, and runs that once.
inline Case FirstRun(std::string name, const std::function<Workload()>& loops, int steps) {
  const auto prepare = [=](const SessionOptions& options) {
    return std::function<void()>([=] { RunOnce(SineGradient(loops(), steps), options); });
  };
  return {.name = std::move(name), .prepare = prepare};
}

// Gradients of so many loops are made; so many run beside the peers, which take long for more.
constexpr int kLoops = 100, kFirstRunLoops = 10;

inline std::vector<Case> GradientCases() {
  const auto row = [](int count) { return [count] { return RowOfLoops(count); }; };
  const auto nest = [](int depth) { return [depth] { return NestOfLoops(depth); }; };
  const auto lstm = [](LstmSize size) { return [size] { return LstmGradient(size); }; };
  return {
      {.name = "gradient/scalar_loop", .make = [] { return SineLoop(10'000); }},
      {.name = "gradient/scalar_loop_primitives", .make = [] { return SinePrimitives(10'000); }},
      {.name = "gradient/saved", .make = [] { return SineLoop(1'000'000); }},
      {.name = "gradient/checkpointed",
       .make = [] { return SineLoop(1'000'000, MemoryPolicy::Checkpoint(1048576)); }},
      {.name = "gradient/lstm_50", .make = lstm({.steps = 50})},
      {.name = "gradient/lstm_200", .make = lstm({.steps = 200})},
      {.name = "gradient/lstm_small", .make = lstm({.steps = 200, .batch = 1, .hidden = 32})},
      {.name = "gradient/training", .make = [] { return Training(1000); }},
      BuildsGradient("gradient/build_row", row(kLoops), kRowIterations * kLoops),
      BuildsGradient("gradient/build_nest", nest(kLoops), kLoops),
      FirstRun("gradient/first_run_row", row(kFirstRunLoops), kRowIterations * kFirstRunLoops),
      FirstRun("gradient/first_run_nest", nest(kFirstRunLoops), kFirstRunLoops),
  };
}

}  // namespace gyre::bench

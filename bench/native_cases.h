// Loops that are native code before their first run, beside the same loops in C++ ("…_cpp"), which
// the build's compiler has made at -O3, without contraction as kernels are.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gradient_cases.h"
#include "graph.h"
#include "loops_cases.h"
#include "ops_cases.h"
#include "session/names.h"
#include "workload.h"

namespace gyre::bench {

// Enough that the call of a run is nothing beside it. peers/values.py has the same numbers.
constexpr int kNativeIterations = 100'000;

// A C++ function as GCC makes it best, without contraction; nothing is known of its arguments.
#ifdef __clang__
#define GYRE_BENCH_CPP __attribute__((noinline))
#else
#define GYRE_BENCH_CPP __attribute__((noipa, optimize("O3", "fp-contract=off")))
#endif

inline void CompileFirst(SessionOptions& options) { options.compile = CompileMode::kAlways; }
inline void Contract(SessionOptions& options) { options.compile = CompileMode::kContract; }

inline Case NativeCase(std::string name, std::function<Workload()> make,
                       void (*configure)(SessionOptions&) = &CompileFirst) {
  return {.name = std::move(name), .make = std::move(make), .configure = configure};
}

// `run` gives `want`, up to a relative error; `units` are those of the case that it stands beside.
template <typename Run>
Case CppCase(std::string name, int64_t units, double want, double error, const Run& run) {
  const auto prepare = [=](const SessionOptions&) {
    const double got = run();
    if (!(std::abs(got - want) <= error * std::abs(want)))
      Die(absl::StrCat(got, " instead of ", want));
    return std::function<void()>([run] {
      volatile double result = run();
      (void)result;
    });
  };
  return {.name = std::move(name), .prepare = prepare, .prepared_units = units};
}

// ---- while i < n: x = x + c ----

GYRE_BENCH_CPP inline float CppWhile(int n, float x, float c) {
  for (int i = 0; i < n; ++i) x = x + c;
  return x;
}

// ---- while i < n: x = x c + 1/2, eight times ----

constexpr int kChainSteps = 8, kChainOps = 2 * kChainSteps;
constexpr float kChainFactor = 0.75f;

inline Workload ChainInLoop(int iterations) {
  const auto chain = [](Graph& g, const LoopArgs& args) {
    Endpoint x = args.x;
    const Endpoint half = g.Const(Tensor::Scalar(0.5f));
    for (int i = 0; i < kChainSteps; ++i) x = g.Op("AddV2", {g.Op("Mul", {x, args.c}), half});
    return x;
  };
  // x goes to 1/2 / (1 - c) = 2.
  Workload work = LoopWorkload(iterations, {LoopBody("body", chain)}, 2, PartialShape::Scalar());
  work.feeds[2].second = Tensor::Scalar(kChainFactor);
  work.units = int64_t{iterations} * kChainOps;
  work.check = AllAre(2, 1, 1e-5);
  return work;
}

GYRE_BENCH_CPP inline float CppChain(int n, float x, float c) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < kChainSteps; ++k) x = x * c + 0.5f;
  }
  return x;
}

// ---- x = sin(x w): the derivative, and the second, by w ----

struct SineDerivatives {
  double x = SineValues::kX, first = 0, second = 0;

  explicit SineDerivatives(int iterations) {
    const double w = SineValues::kW;
    for (int i = 0; i < iterations; ++i) {
      const double u = x * w, u1 = x + w * first, u2 = 2 * first + w * second;
      x = std::sin(u);
      second = std::cos(u) * u2 - std::sin(u) * u1 * u1;
      first = std::cos(u) * u1;
    }
  }
};

inline Workload SecondSineDerivative(int iterations) {
  Workload work = GradientOf(SineLoop(iterations), {"c"});
  work.check = AllAre(SineDerivatives(iterations).second, 1, 1e-3);
  return work;
}

// ---- Mandelbrot's set: iterations until |z| >= 2, at most so many, of points on a line ----

constexpr int kMandelbrotIterations = 100;
constexpr float kMandelbrotImaginary = 0.125f;

//   while i < n: cx = -2 + 3 i / n, (k, zr, zi) = (0, 0, 0)
//                while k < 100 and zr² + zi² < 4: zr, zi, k = zr² - zi² + cx, 2 zr zi + cy, k + 1
//                x = x + k
// `sum`: what x is in the end.
inline Workload Mandelbrot(int points, float sum) {
  const auto scalar = [](Graph& g, float value) { return g.Const(Tensor::Scalar(value)); };
  const auto declare = [](Graph& g) {
    return std::vector<Endpoint>{g.Arg("k", DType::kInt32), g.Arg("zr", DType::kFloat),
                                 g.Arg("zi", DType::kFloat), g.Arg("cx", DType::kFloat),
                                 g.Arg("cy", DType::kFloat)};
  };
  Graph within("within");
  const std::vector<Endpoint> seen = declare(within);
  const Endpoint norm = within.Op(
      "AddV2", {within.Op("Mul", {seen[1], seen[1]}), within.Op("Mul", {seen[2], seen[2]})});
  const Endpoint limit = within.Const(Tensor::Scalar(int32_t{kMandelbrotIterations}));
  within.Return("go", within.Op("LogicalAnd", {within.Op("Less", {seen[0], limit}),
                                               within.Op("Less", {norm, scalar(within, 4)})}));
  Graph step("step");
  const std::vector<Endpoint> z = declare(step);
  const Endpoint squares =
      step.Op("Sub", {step.Op("Mul", {z[1], z[1]}), step.Op("Mul", {z[2], z[2]})});
  const Endpoint twice = step.Op("Mul", {step.Op("Mul", {scalar(step, 2), z[1]}), z[2]});
  step.Return("k", step.Op("AddV2", {z[0], step.Const(Tensor::Scalar(int32_t{1}))}));
  step.Return("zr", step.Op("AddV2", {squares, z[3]}));
  step.Return("zi", step.Op("AddV2", {twice, z[4]}));
  step.Return("cx", z[3]);
  step.Return("cy", z[4]);

  const auto point = [&](Graph& g, const LoopArgs& args) {
    const AttrMap to_float = Attrs({{"SrcT", DType::kInt32}, {"DstT", DType::kFloat}});
    const Endpoint i = g.Op("Cast", {args.i}, to_float), n = g.Op("Cast", {args.n}, to_float);
    const Endpoint cx =
        g.Op("AddV2", {g.Op("Mul", {scalar(g, 3), g.Op("RealDiv", {i, n})}), scalar(g, -2)});
    const Endpoint zero = scalar(g, 0);
    const Endpoint loop =
        g.Op("StatelessWhile", {g.Const(Tensor::Scalar(int32_t{0})), zero, zero, cx, args.c},
             LoopAttrs("within", "step"));
    return g.Op("AddV2", {args.x, g.Op("Cast", {loop}, to_float)});
  };
  Workload work = LoopWorkload(points, {LoopBody("body", point), within.Build(), step.Build()}, 0,
                               PartialShape::Scalar());
  work.feeds[2].second = Tensor::Scalar(kMandelbrotImaginary);
  work.units = static_cast<int64_t>(sum);  // iterations of the inner loops
  work.check = AllAre(sum);
  return work;
}

GYRE_BENCH_CPP inline float CppMandelbrot(int n, float x, float cy) {
  for (int i = 0; i < n; ++i) {
    const float cx = 3.0f * (static_cast<float>(i) / static_cast<float>(n)) + -2.0f;
    float zr = 0, zi = 0;
    int k = 0;
    while (k < kMandelbrotIterations && zr * zr + zi * zi < 4) {
      const float next = zr * zr - zi * zi + cx;
      zi = 2.0f * zr * zi + cy;
      zr = next;
      ++k;
    }
    x = x + static_cast<float>(k);
  }
  return x;
}

// ---- fib ----

GYRE_BENCH_CPP inline int CppFibonacci(int n) {
  return n < 2 ? n : CppFibonacci(n - 1) + CppFibonacci(n - 2);
}

// ---- Compiling ----

// What it takes to make a program's signature ready for its first run.
inline Case Compiles(std::string name, const std::function<Workload()>& make) {
  const auto prepare = [=](const SessionOptions& given) {
    SessionOptions options = given;
    CompileFirst(options);
    const Workload work = make();
    RunOnce(work, options);
    return std::function<void()>([work, options] {
      const auto session = OrDie(Session::Create(work.program, options));
      OrDie(session->Prepare(NamesOf(work.feeds), work.fetches, work.targets));
    });
  };
  return {.name = std::move(name), .prepare = prepare};
}

inline Workload TenOpsInLoop() {
  const auto ten = [](Graph& g, const LoopArgs& args) {
    Endpoint x = args.x;
    for (int i = 0; i < 5; ++i) x = g.Op("Sin", {g.Op("Mul", {x, args.c})});
    return x;
  };
  Workload work = LoopWorkload(1, {LoopBody("body", ten)}, 0, PartialShape::Scalar());
  return work;
}

constexpr LstmSize kSmallLstm = {.steps = 200, .batch = 1, .hidden = 32};

inline std::vector<Case> NativeCases() {
  constexpr int kN = kNativeIterations;
  constexpr int kChains = kN / kChainOps, kPoints = 1000, kFib = 17;
  const float points = CppMandelbrot(kPoints, 0, kMandelbrotImaginary);
  const Workload fib = Fibonacci(kFib);
  return {
      NativeCase("native/while", [] { return WhileLoop(kN); }),
      CppCase("native/while_cpp", kN, kN, 0, [] { return CppWhile(kN, 0, 1); }),
      NativeCase("native/chain", [] { return ChainInLoop(kChains); }),
      NativeCase(
          "native/chain_contracted", [] { return ChainInLoop(kChains); }, &Contract),
      CppCase("native/chain_cpp", kChains * kChainOps, 2, 1e-5,
              [] { return CppChain(kChains, 0, kChainFactor); }),
      NativeCase("native/sine_gradient", [] { return SineLoop(10'000); }),
      NativeCase("native/sine_second_gradient", [] { return SecondSineDerivative(10'000); }),
      NativeCase("native/list", [] { return ListOfScalars(kN, true); }),
      NativeCase("native/element_read", [] { return ElementsOfAVector(kN, false); }),
      NativeCase("native/mandelbrot", [points] { return Mandelbrot(kPoints, points); }),
      CppCase("native/mandelbrot_cpp", static_cast<int64_t>(points), points, 0,
              [] { return CppMandelbrot(kPoints, 0, kMandelbrotImaginary); }),
      NativeCase("native/fibonacci", [] { return Fibonacci(kFib); }),
      CppCase("native/fibonacci_cpp", fib.units, 1597, 0, [] { return CppFibonacci(kFib); }),
      NativeCase("native/lstm_small", [] { return LstmLoop(kSmallLstm); }),
      NativeCase("native/lstm_small_gradient", [] { return LstmGradient(kSmallLstm); }),
      Compiles("native/compile_ten_ops", &TenOpsInLoop),
      Compiles("native/compile_lstm_gradient", [] { return LstmGradient(kSmallLstm); }),
  };
}

}  // namespace gyre::bench

// Cases that lie on several devices: of one process, and of workers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster/cluster_option.h"
#include "graph.h"
#include "workload.h"

namespace gyre::bench {

// Two devices, by what nodes ask for.
struct TwoDevices {
  std::string first, second;
};
inline TwoDevices OfProcess() { return {"/device:CPU:0", "/device:CPU:1"}; }
inline TwoDevices OfWorkers() { return {"/job:worker/task:0", "/job:worker/task:1"}; }

// x = (x + 1) + 1, an addition on either device: two crossings an iteration that wait for each
// other, and one of the predicate.
inline Workload DependentLoop(const TwoDevices& on) {
  constexpr int kIterations = 1000;
  Graph cond("cond"), body("body"), g;
  const auto declare = [](Graph& f) {
    return std::vector<Endpoint>{f.Arg("i", DType::kInt32), f.Arg("x", DType::kFloat)};
  };
  const std::vector<Endpoint> tested = declare(cond);
  cond.OnDevice(on.first);
  cond.Return("go", cond.Op("Less", {tested[0], cond.Const(Tensor::Scalar(int32_t{kIterations}))}));
  const std::vector<Endpoint> args = declare(body);
  body.OnDevice(on.first);
  body.Return("i", body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(int32_t{1}))}));
  Endpoint x = body.Op("AddV2", {args[1], body.Const(Tensor::Scalar(1.0f))});
  body.OnDevice(on.second);
  x = body.Op("AddV2", {x, body.Const(Tensor::Scalar(1.0f))});
  body.OnDevice(on.first);
  body.Return("x", body.Op("Identity", {x}));
  g.OnDevice(on.first);
  const Endpoint loop = g.Op(
      "StatelessWhile", {g.Const(Tensor::Scalar(int32_t{0})), g.Placeholder("x0", DType::kFloat)},
      Attrs({{"cond", Callee("cond")}, {"body", Callee("body")}}));
  g.Op("Identity", {Endpoint{loop.node, 1}}, {}, "y");
  return {.program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
          .feeds = {{"x0:0", Tensor::Scalar(0.0f)}},
          .fetches = {"y:0"},
          .units = kIterations,
          .check = AllAre(2.0 * kIterations)};
}

// The first device counts, the second adds up what it is sent: nothing waits for an answer.
inline Workload IndependentLoop(const TwoDevices& on) {
  constexpr int kIterations = 1000;
  Graph cond("cond"), body("body"), g;
  const auto declare = [](Graph& f) {
    return std::vector<Endpoint>{f.Arg("i", DType::kFloat), f.Arg("sum", DType::kFloat)};
  };
  const std::vector<Endpoint> tested = declare(cond);
  cond.OnDevice(on.first);
  cond.Return("go", cond.Op("Less", {tested[0], cond.Const(Tensor::Scalar(float{kIterations}))}));
  const std::vector<Endpoint> args = declare(body);
  body.OnDevice(on.first);
  body.Return("i", body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(1.0f))}));
  const Endpoint sent = body.Op("Mul", {args[0], body.Const(Tensor::Scalar(2.0f))});
  body.OnDevice(on.second);
  body.Return("sum", body.Op("AddV2", {args[1], sent}));
  g.OnDevice(on.first);
  const Endpoint zero = g.Const(Tensor::Scalar(0.0f));
  const Endpoint start = g.Placeholder("x0", DType::kFloat);
  const Endpoint loop = g.Op("StatelessWhile", {zero, start},
                             Attrs({{"cond", Callee("cond")},
                                    {"body", Callee("body")},
                                    {"parallel_iterations", int64_t{32}}}));
  g.Op("Identity", {Endpoint{loop.node, 1}}, {}, "y");
  return {.program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
          .feeds = {{"x0:0", Tensor::Scalar(0.0f)}},
          .fetches = {"y:0"},
          .units = kIterations,
          .check = AllAre(1.0 * kIterations * (kIterations - 1))};
}

// A conditional whose predicate and result are on the first device, and its work on the second.
inline Workload Conditional(const TwoDevices& on) {
  Graph yes("yes"), no("no"), g;
  for (Graph* branch : {&yes, &no}) {
    const Endpoint x = branch->Arg("x", DType::kFloat);
    branch->OnDevice(on.second);
    branch->Return(
        "y", branch->Op("Mul", {x, branch->Const(Tensor::Scalar(branch == &yes ? 2.0f : 3.0f))}));
  }
  g.OnDevice(on.first);
  const Endpoint x = g.Placeholder("x", DType::kFloat);
  const Endpoint p = g.Op("Less", {x, g.Const(Tensor::Scalar(0.0f))});
  const Endpoint chosen = g.Op("StatelessIf", {p, x},
                               Attrs({{"Tout", std::vector<DType>{DType::kFloat}},
                                      {"then_branch", Callee("yes")},
                                      {"else_branch", Callee("no")}}));
  g.Op("Neg", {chosen}, {}, "y");
  return {.program = MakeProgram(g.Build(), {yes.Build(), no.Build()}),
          .feeds = {{"x:0", Tensor::Scalar(5.0f)}},
          .fetches = {"y:0"},
          .check = AllAre(-15)};
}

// A constant on each of n workers, and nothing else.
inline Workload NullStep(int n) {
  Graph g;
  std::vector<std::string> fetches;
  for (int w = 0; w < n; ++w) {
    g.OnDevice(absl::StrCat("/job:worker/task:", w));
    const std::string name = absl::StrCat("c", w);
    g.Op("Const", {}, Attrs({{"dtype", DType::kFloat}, {"value", Tensor::Scalar(7.0f)}}), name);
    fetches.push_back(absl::StrCat(name, ":0"));
  }
  return {.program = MakeProgram(g.Build()), .fetches = fetches, .check = AllAre(7)};
}

// An LSTM of eight layers over 48 steps, half of them on each device: while the second works on one
// step, the first works on the next.
inline Workload PipelinedLstm(const TwoDevices& on) {
  constexpr int kSteps = 48, kLayers = 8, kBatch = 32, kHidden = 128;
  Graph cond("cond"), body("body"), g;
  const auto declare = [](Graph& f) {
    std::vector<Endpoint> args = {f.Arg("i", DType::kInt32), f.Arg("w", DType::kFloat)};
    for (int layer = 0; layer < kLayers; ++layer) {
      args.push_back(f.Arg(absl::StrCat("h", layer), DType::kFloat));
      args.push_back(f.Arg(absl::StrCat("c", layer), DType::kFloat));
    }
    return args;
  };
  const std::vector<Endpoint> tested = declare(cond);
  cond.OnDevice(on.first);
  cond.Return("go", cond.Op("Less", {tested[0], cond.Const(Tensor::Scalar(int32_t{kSteps}))}));
  const std::vector<Endpoint> args = declare(body);
  body.OnDevice(on.first);
  body.Return("i", body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(int32_t{1}))}));
  body.Return("w", args[1]);
  const Endpoint ones = body.Const(Filled(1.0f, Matrix(kBatch, kHidden)));
  Endpoint x = ones;
  for (int layer = 0; layer < kLayers; ++layer) {
    body.OnDevice(layer < kLayers / 2 ? on.first : on.second);
    const Endpoint h = args[2 + 2 * layer], c = args[3 + 2 * layer];
    const Endpoint axis = body.Const(Tensor::Scalar(int32_t{1}));
    const Endpoint both =
        body.Op("ConcatV2", {x, h, axis}, Attrs({{"N", int64_t{2}}, {"T", DType::kFloat}}));
    const Endpoint gates = body.Op("MatMul", {both, args[1]});
    const Endpoint split = body.Op("Split", {axis, gates}, Attrs({{"num_split", int64_t{4}}}));
    const auto gate = [&](int k, const char* op) { return body.Op(op, {Endpoint{split.node, k}}); };
    const Endpoint kept = body.Op("Mul", {gate(1, "Sigmoid"), c});
    const Endpoint added = body.Op("Mul", {gate(0, "Sigmoid"), gate(3, "Tanh")});
    const Endpoint next = body.Op("AddV2", {kept, added});
    x = body.Op("Mul", {gate(2, "Sigmoid"), body.Op("Tanh", {next})});
    body.Return(absl::StrCat("h", layer), x);
    body.Return(absl::StrCat("c", layer), next);
  }
  g.OnDevice(on.first);
  std::vector<Endpoint> inputs = {g.Const(Tensor::Scalar(int32_t{0})),
                                  g.Placeholder("w", DType::kFloat)};
  for (int k = 0; k < 2 * kLayers; ++k)
    inputs.push_back(g.Const(Filled(0.0f, Matrix(kBatch, kHidden))));
  const Endpoint loop = g.Op("StatelessWhile", inputs,
                             Attrs({{"cond", Callee("cond")},
                                    {"body", Callee("body")},
                                    {"parallel_iterations", int64_t{10}}}));
  const Endpoint last = {loop.node, 2 * kLayers};
  g.Op("Mul", {last, g.Op("ZerosLike", {last})}, {}, "y");
  return {.program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
          .feeds = {{"w:0", Filled(0.01f, Matrix(2 * kHidden, 4 * kHidden))}},
          .fetches = {"y:0"},
          .units = kSteps,
          .check = AllAre(0, int64_t{kBatch} * kHidden)};
}

// Workers of this machine, each with one thread that computes; they live as long as the process.
inline std::shared_ptr<const Engine> BenchCluster(int workers, Transport transport,
                                                  int64_t spin_us) {
  static auto* const started = new std::vector<std::unique_ptr<cli::LocalWorkers>>;
  started->push_back(OrDie(cli::StartWorkers(workers, {"--threads=1"})));
  ClusterOptions options;
  options.workers = started->back()->addresses();
  options.token = started->back()->token();
  options.transport = transport;
  options.spin_us = spin_us;
  return OrDie(ConnectCluster(options));
}

inline std::vector<Case> DevicesCases() {
  const auto on_two = [](SessionOptions& options) { options.devices = "cpu:2"; };
  std::vector<Case> cases = {
      {.name = "devices/dependent",
       .make = [] { return DependentLoop(OfProcess()); },
       .configure = on_two},
      {.name = "devices/independent",
       .make = [] { return IndependentLoop(OfProcess()); },
       .configure = on_two},
      {.name = "devices/lstm_on_two",
       .make = [] { return PipelinedLstm(OfProcess()); },
       .configure = on_two},
      {.name = "devices/lstm_on_one",
       .make = [] { return PipelinedLstm(OfProcess()); },
       .configure = [](SessionOptions& options) { options.parallel.threads = 1; }},
  };
  constexpr int64_t kSpinMicros = 1000;
  for (const Transport transport : {Transport::kTcp, Transport::kSharedMemory}) {
    for (const int64_t spin : {int64_t{0}, kSpinMicros}) {
      const auto on_workers = [=](int n) {
        return [=](SessionOptions& options) {
          options.parallel.threads = 0, options.engine = EngineKind::kDataflow;
          options.cluster = BenchCluster(n, transport, spin);
        };
      };
      const std::string suffix =
          absl::StrCat("_", to_string(transport), spin > 0 ? "_spinning" : "");
      cases.push_back({.name = "cluster/dependent" + suffix,
                       .make = [] { return DependentLoop(OfWorkers()); },
                       .configure = on_workers(2)});
      cases.push_back({.name = "cluster/independent" + suffix,
                       .make = [] { return IndependentLoop(OfWorkers()); },
                       .configure = on_workers(2)});
      cases.push_back({.name = "cluster/cond" + suffix,
                       .make = [] { return Conditional(OfWorkers()); },
                       .configure = on_workers(2)});
      for (const int n : {1, 2, 4}) {
        if (transport != Transport::kSharedMemory || spin > 0) continue;
        cases.push_back({.name = absl::StrCat("cluster/null_step_", n),
                         .make = [n] { return NullStep(n); },
                         .configure = on_workers(n)});
      }
    }
  }
  return cases;
}

}  // namespace gyre::bench

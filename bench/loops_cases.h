// Cases with loops, branches, lists and recursion.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "graph.h"
#include "lstm.h"
#include "workload.h"

namespace gyre::bench {

// What the loops over (i, n, x, c) share: i and n int32, x and c float; n and c stay as they are.
struct LoopArgs {
  Endpoint i, n, x, c;

  explicit LoopArgs(Graph& g)
      : i(g.Arg("i", DType::kInt32)),
        n(g.Arg("n", DType::kInt32)),
        x(g.Arg("x", DType::kFloat)),
        c(g.Arg("c", DType::kFloat)) {}
};

inline Function LoopCondition(absl::string_view name) {
  Graph g(name);
  const LoopArgs args(g);
  g.Return("go", g.Op("Less", {args.i, args.n}));
  return g.Build();
}

// The body: (i + 1, n, x', c).
inline Function LoopBody(absl::string_view name,
                         const std::function<Endpoint(Graph&, const LoopArgs&)>& step) {
  Graph g(name);
  const LoopArgs args(g);
  const Endpoint one = g.Const(Tensor::Scalar(int32_t{1}));
  g.Return("i", g.Op("AddV2", {args.i, one}));
  g.Return("n", args.n);
  g.Return("x", step(g, args));
  g.Return("c", args.c);
  return g.Build();
}

inline Endpoint AddStep(Graph& g, const LoopArgs& args) { return g.Op("AddV2", {args.x, args.c}); }

inline AttrMap LoopAttrs(absl::string_view cond, absl::string_view body) {
  return Attrs({{"cond", Callee(cond)}, {"body", Callee(body)}});
}

// The main graph: y = x after n iterations of the loop "body" that starts at i = 0.
// `shape`: what is known of that of x and c.
inline Workload LoopWorkload(int iterations, std::vector<Function> functions, double want,
                             const PartialShape& shape = PartialShape::Unknown()) {
  Graph g;
  const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
  const Endpoint n = g.Placeholder("n", DType::kInt32);
  const Endpoint x = g.Placeholder("x", DType::kFloat, shape);
  const Endpoint c = g.Placeholder("c", DType::kFloat, shape);
  const Endpoint loop = g.Op("StatelessWhile", {zero, n, x, c}, LoopAttrs("cond", "body"));
  g.Op("Identity", {Endpoint{loop.node, 2}}, {}, "y");
  functions.push_back(LoopCondition("cond"));
  return {.program = MakeProgram(g.Build(), std::move(functions)),
          .feeds = {{"n:0", Tensor::Scalar(int32_t{iterations})},
                    {"x:0", Tensor::Scalar(0.0f)},
                    {"c:0", Tensor::Scalar(1.0f)}},
          .fetches = {"y:0"},
          .units = iterations,
          .check = AllAre(want)};
}

// while i < n: i, x = i + 1, x + c
inline Workload WhileLoop(int iterations) {
  return LoopWorkload(iterations, {LoopBody("body", AddStep)}, iterations);
}

using LoopStep = std::function<Endpoint(Graph&, Endpoint x, Endpoint c)>;

inline Endpoint AddPrimitive(Graph& g, Endpoint x, Endpoint c) { return g.Op("AddV2", {x, c}); }

// The same loop as TensorFlow's v1 while_loop writes it, here with x + c for a step:
//
//   i ─ Enter ─► Merge ─┬─► Less ─► LoopCond ─► (both Switches)
//                 ▲     └─► Switch ─┬─false─► Exit
//                 │                 └─true──► Identity ─► Add ─┐      n, c ─ Enter(constant)
//                 └──────────────── NextIteration ◄────────────┘      1: Const ^Identity
inline Workload PrimitiveLoop(int iterations, const LoopStep& step = &AddPrimitive,
                              const PartialShape& shape = PartialShape::Unknown()) {
  Graph g;
  const Endpoint n = g.Placeholder("n", DType::kInt32);
  const Endpoint x = g.Placeholder("x", DType::kFloat, shape);
  const Endpoint c = g.Placeholder("c", DType::kFloat, shape);
  const auto enter = [&g](Endpoint value, bool is_constant) {
    return g.Op("Enter", {value},
                Attrs({{"frame_name", std::string("loop")}, {"is_constant", is_constant}}));
  };
  const Endpoint i0 = enter(g.Const(Tensor::Scalar(int32_t{0})), false), x0 = enter(x, false);
  const Endpoint limit = enter(n, true), factor = enter(c, true);
  const Endpoint i = g.Op("Merge", {i0, i0}), y = g.Op("Merge", {x0, x0});
  const Endpoint go = g.Op("LoopCond", {g.Op("Less", {i, limit})});
  const Endpoint i_switch = g.Op("Switch", {i, go}), y_switch = g.Op("Switch", {y, go});
  const Endpoint i_body = g.Op("Identity", {Endpoint{i_switch.node, 1}});
  const Endpoint y_body = g.Op("Identity", {Endpoint{y_switch.node, 1}});
  const Endpoint one =
      g.Op("Const", {}, Attrs({{"dtype", DType::kInt32}, {"value", Tensor::Scalar(int32_t{1})}}),
           "one", {i_body.node});
  g.CloseLoop(i, g.Op("NextIteration", {g.Op("AddV2", {i_body, one})}));
  g.CloseLoop(y, g.Op("NextIteration", {step(g, y_body, factor)}));
  g.Op("Exit", {i_switch});
  g.Op("Exit", {y_switch}, {}, "y");
  Workload work = WhileLoop(iterations);
  work.program = MakeProgram(g.Build());
  return work;
}

// for each of `outer` iterations a loop of `inner` iterations of x + c
inline Workload NestedLoop(int outer, int inner) {
  const auto run_inner = [inner](Graph& g, const LoopArgs& args) {
    const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
    const Endpoint iterations = g.Const(Tensor::Scalar(int32_t{inner}));
    const Endpoint loop =
        g.Op("StatelessWhile", {zero, iterations, args.x, args.c}, LoopAttrs("cond", "inner"));
    return Endpoint{loop.node, 2};
  };
  Workload work = LoopWorkload(outer, {LoopBody("body", run_inner), LoopBody("inner", AddStep)},
                               double{1} * outer * inner);
  work.units = int64_t{outer} * inner;
  return work;
}

// while i < n: x = x + c if x < 1/2 else x - c. With c = 1, x goes 0, 1, 0, 1, …; an odd number of
// iterations ends at 1. The condition is computed in the loop: the cost of the branch includes it.
inline Workload CondInLoop(int iterations) {
  const auto branch = [](absl::string_view name, absl::string_view op) {
    Graph g(name);
    const Endpoint x = g.Arg("x", DType::kFloat), c = g.Arg("c", DType::kFloat);
    g.Return("x", g.Op(op, {x, c}));
    return g.Build();
  };
  const auto choose = [](Graph& g, const LoopArgs& args) {
    const Endpoint below = g.Op("Less", {args.x, g.Const(Tensor::Scalar(0.5f))});
    return g.Op("StatelessIf", {below, args.x, args.c},
                Attrs({{"Tout", std::vector<DType>{DType::kFloat}},
                       {"then_branch", Callee("add")},
                       {"else_branch", Callee("subtract")}}));
  };
  return LoopWorkload(iterations,
                      {LoopBody("body", choose), branch("add", "AddV2"), branch("subtract", "Sub")},
                      iterations % 2);
}

// for i in 0 … n-1: list.push(i), or list[i] = i; then the list as one tensor
inline Workload ListOfScalars(int n, bool push) {
  const auto declare = [](Graph& g) {
    return std::vector<Endpoint>{g.Arg("i", DType::kInt32), g.Arg("n", DType::kInt32),
                                 g.Arg("list", DType::kVariant)};
  };
  Graph cond("cond");
  const std::vector<Endpoint> tested = declare(cond);
  cond.Return("go", cond.Op("Less", {tested[0], tested[1]}));
  Graph body("body");
  const std::vector<Endpoint> args = declare(body);
  body.Return("i", body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(int32_t{1}))}));
  body.Return("n", args[1]);
  body.Return("list", push ? body.Op("TensorListPushBack", {args[2], args[0]})
                           : body.Op("TensorListSetItem", {args[2], args[0], args[0]}));

  Graph g;
  const Endpoint length = g.Placeholder("n", DType::kInt32);
  const Endpoint scalar = g.Const(Tensor::FromValues<int32_t>({}, Shape::Vector(0)));
  const AttrMap element = Attrs({{"element_dtype", DType::kInt32}});
  const Endpoint empty =
      push ? g.Op("EmptyTensorList", {scalar, g.Const(Tensor::Scalar(int32_t{-1}))}, element)
           : g.Op("TensorListReserve", {scalar, length}, element);
  const Endpoint zero = g.Const(Tensor::Scalar(int32_t{0}));
  const Endpoint loop = g.Op("StatelessWhile", {zero, length, empty}, LoopAttrs("cond", "body"));
  g.Op("TensorListStack", {Endpoint{loop.node, 2}, scalar}, element, "y");
  const auto counts_up = [n](const std::vector<Tensor>& got) -> std::string {
    const absl::Span<const int32_t> values = got[0].values<int32_t>();
    if (static_cast<int>(values.size()) != n) return absl::StrCat(values.size(), " elements");
    for (int i = 0; i < n; ++i) {
      if (values[i] != i) return absl::StrCat("element ", i, " is ", values[i]);
    }
    return "";
  };
  return {.program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
          .feeds = {{"n:0", Tensor::Scalar(int32_t{n})}},
          .fetches = {"y:0"},
          .units = n,
          .check = counts_up};
}

// while i < n: x = x + a[i], and a[i] = x if `changes`; a of n ones.
inline Workload ElementsOfAVector(int n, bool changes) {
  const auto declare = [](Graph& g) {
    return std::vector<Endpoint>{g.Arg("i", DType::kInt32), g.Arg("n", DType::kInt32),
                                 g.Arg("x", DType::kFloat), g.Arg("a", DType::kFloat)};
  };
  Graph cond("cond");
  const std::vector<Endpoint> seen = declare(cond);
  cond.Return("go", cond.Op("Less", {seen[0], seen[1]}));
  Graph body("body");
  const std::vector<Endpoint> args = declare(body);
  const Endpoint next = body.Op("AddV2", {args[0], body.Const(Tensor::Scalar(int32_t{1}))});
  const Endpoint begin = body.Op("Pack", {args[0]}), end = body.Op("Pack", {next});
  const Endpoint step = body.Const(Tensor::FromValues<int32_t>({1}, Shape::Vector(1)));
  const Endpoint element = body.Op("StridedSlice", {args[3], begin, end, step},
                                   Attrs({{"shrink_axis_mask", int64_t{1}}}));
  const Endpoint x = body.Op("AddV2", {args[2], element});
  body.Return("i", next);
  body.Return("n", args[1]);
  body.Return("x", x);
  body.Return("a", changes ? body.Op("TensorScatterUpdate", {args[3], begin, x}) : args[3]);

  Graph g;
  const Endpoint length = g.Placeholder("n", DType::kInt32);
  const Endpoint ones = g.Placeholder("a", DType::kFloat, PartialShape({n}));
  const Endpoint loop =
      g.Op("StatelessWhile",
           {g.Const(Tensor::Scalar(int32_t{0})), length, g.Const(Tensor::Scalar(0.0f)), ones},
           LoopAttrs("cond", "body"));
  g.Op("Identity", {Endpoint{loop.node, 2}}, {}, "y");
  const std::vector<float> values(static_cast<size_t>(n), 1.0f);
  return {.program = MakeProgram(g.Build(), {cond.Build(), body.Build()}),
          .feeds = {{"n:0", Tensor::Scalar(int32_t{n})},
                    {"a:0", Tensor::FromValues<float>(values, Shape::Vector(n))}},
          .fetches = {"y:0"},
          .units = n,
          .check = AllAre(n)};
}

// fib(n) = n if n < 2 else fib(n - 1) + fib(n - 2); `unit` is one call.
inline Workload Fibonacci(int n) {
  const auto call = [](Graph& g, Endpoint argument, absl::string_view name) {
    return g.Op("PartitionedCall", {argument},
                Attrs({{"Tout", std::vector<DType>{DType::kInt32}}, {"f", Callee("fib")}}), name);
  };
  Graph fib("fib"), small("small"), large("large"), g;
  const Endpoint k = fib.Arg("n", DType::kInt32);
  fib.Return("y",
             fib.Op("StatelessIf", {fib.Op("Less", {k, fib.Const(Tensor::Scalar(int32_t{2}))}), k},
                    Attrs({{"Tout", std::vector<DType>{DType::kInt32}},
                           {"then_branch", Callee("small")},
                           {"else_branch", Callee("large")}})));
  small.Return("y", small.Arg("n", DType::kInt32));
  const Endpoint m = large.Arg("n", DType::kInt32);
  const auto less = [&large, m](int32_t by) {
    return large.Op("Sub", {m, large.Const(Tensor::Scalar(by))});
  };
  large.Return("y", large.Op("AddV2", {call(large, less(1), ""), call(large, less(2), "")}));
  call(g, g.Placeholder("n", DType::kInt32), "y");

  int calls = 1, calls_before = 1, value = 1, value_before = 0;  // of fib(1), of fib(0)
  for (int i = 2; i <= n; ++i) {
    calls_before = std::exchange(calls, calls + calls_before + 1);
    value_before = std::exchange(value, value + value_before);
  }
  const auto is_value = [value](const std::vector<Tensor>& got) {
    const int32_t found = got[0].scalar<int32_t>();
    return found == value ? "" : absl::StrCat(found, " instead of ", value);
  };
  return {.program = MakeProgram(g.Build(), {fib.Build(), small.Build(), large.Build()}),
          .feeds = {{"n:0", Tensor::Scalar(int32_t{n})}},
          .fetches = {"y:0"},
          .units = calls,
          .check = is_value};
}

inline std::vector<Case> LoopsCases() {
  return {
      {.name = "while_loop/functional", .make = [] { return WhileLoop(10'000); }},
      {.name = "while_loop/primitives", .make = [] { return PrimitiveLoop(10'000); }},
      {.name = "while_loop/nested", .make = [] { return NestedLoop(1000, 1000); }},
      {.name = "while_loop/cond", .make = [] { return CondInLoop(9'999); }},
      {.name = "list/push_back", .make = [] { return ListOfScalars(10'000, true); }},
      {.name = "element/read", .make = [] { return ElementsOfAVector(100'000, false); }},
      {.name = "element/change", .make = [] { return ElementsOfAVector(100'000, true); }},
      {.name = "list/set_item", .make = [] { return ListOfScalars(10'000, false); }},
      {.name = "recursion/fibonacci", .make = [] { return Fibonacci(17); }},
      {.name = "lstm/step", .make = [] { return LstmLoop(); }},
      {.name = "lstm/products", .make = [] { return LstmProducts(); }},
  };
}

}  // namespace gyre::bench

// Conditionals and loops of the graph that is current.
#include "gyre/control_flow.h"

#include <optional>
#include <string>
#include <vector>

#include "front/vectorized_map.h"
#include "python/dtype.h"
#include "python/execute.h"
#include "python/graph.h"
#include "python/tracing/body.h"

namespace gyre::python {
namespace {

using gyre::internal::BodyFn;
using gyre::internal::Leaves;

const std::source_location kNowhere;

// A body that takes its arguments as `lists` lists, the first of `first` values.
BodyFn BodyOf(nb::handle fn, nb::handle paths, const char* what,
              const std::shared_ptr<GraphCore>& graph) {
  return [fn, paths, what, graph](absl::Span<const Value> args) {
    nb::list list;
    for (const Value& arg : args) list.append(WrapSymbolic(arg, graph));
    return LeavesOf(ResultsOfBody(fn(list), what), paths);
  };
}

BodyFn BranchOf(nb::handle fn, nb::handle paths) {
  return [fn, paths](absl::Span<const Value>) {
    return LeavesOf(ResultsOfBody(fn(), "a branch"), paths);
  };
}

// A tensor, or a number, as an operand of the current graph.
Operand OperandOf(nb::handle given, GraphCore& graph) {
  const nb::object value = Unwrapped(given);
  return Operand(ValueIn(graph, AsTensor(value) != nullptr ? value : Convert(value)), kNowhere);
}

// The same, where an int takes the dtype of the others, and is known to the loop.
Operand BoundOf(nb::handle given, GraphCore& graph) {
  if (PyLong_CheckExact(given.ptr()) != 0) return Operand(nb::cast<int64_t>(given), kNowhere);
  return OperandOf(given, graph);
}

struct Options {
  nb::handle name;
  nb::handle maximum_iterations;
  int64_t window;
  nb::handle memory;
  nb::handle invariants;
};

LoopOptions ToOptions(const Options& given, GraphCore& graph) {
  LoopOptions options;
  options.name = std::string(TextOf(given.name, "a name"));
  const absl::string_view memory = TextOf(given.memory, "memory");
  if (!memory.empty()) options.memory = ValueOf(ParseMemoryPolicy(memory));
  options.window = given.window;
  if (!given.maximum_iterations.is_none())
    options.maximum_iterations = OperandOf(given.maximum_iterations, graph);
  if (!given.invariants.is_none()) {
    for (const nb::handle dims : nb::iter(given.invariants))
      options.shape_invariants.push_back(ToPartialShape(dims));
  }
  return options;
}

nb::list Cond(nb::handle pred, nb::callable then_fn, nb::callable else_fn, nb::handle paths,
              nb::handle name) {
  const auto graph = RequireGraph("cond");
  return WrapAll(gyre::internal::If(OperandOf(pred, *graph), BranchOf(then_fn, paths),
                                    BranchOf(else_fn, paths), std::string(TextOf(name, "a name"))),
                 graph);
}

nb::list Case(nb::handle index, nb::handle branches, nb::handle name) {
  const auto graph = RequireGraph("case");
  std::vector<BodyFn> bodies;
  for (const nb::handle branch : nb::iter(branches)) {
    if (PyCallable_Check(branch.ptr()) == 0) ThrowTypeError("branches must be callables");
    bodies.push_back(BranchOf(branch, nb::none()));
  }
  if (bodies.empty()) ThrowValueError("case needs at least one branch");
  return WrapAll(gyre::internal::Case(OperandOf(index, *graph), bodies,
                                      std::string(TextOf(name, "a name")), kNowhere),
                 graph);
}

nb::list While(nb::callable cond_fn, nb::callable body_fn, nb::handle initial, nb::handle paths,
               nb::handle name, nb::handle maximum_iterations, int64_t window, nb::handle memory,
               nb::handle invariants) {
  const auto graph = RequireGraph("while");
  const BodyFn condition = [&](absl::Span<const Value> args) {
    nb::list list;
    for (const Value& arg : args) list.append(WrapSymbolic(arg, graph));
    const nb::object result = cond_fn(list);
    Leaves leaves;
    leaves.values.push_back(OperandOf(result, *graph).value());
    leaves.paths.emplace_back();
    return leaves;
  };
  const LoopOptions options =
      ToOptions({name, maximum_iterations, window, memory, invariants}, *graph);
  return WrapAll(
      gyre::internal::While(LeavesOf(ValuesOf(initial, "initial"), paths), condition,
                            BodyOf(body_fn, paths, "the body of a loop", graph), options, kNowhere),
      graph);
}

nb::list ForRange(nb::handle start, nb::handle limit, nb::handle step, nb::callable body_fn,
                  nb::handle initial, nb::handle paths, nb::handle name,
                  nb::handle maximum_iterations, int64_t window, nb::handle memory,
                  nb::handle invariants) {
  const auto graph = RequireGraph("range");
  const gyre::internal::RowFn body = [&](Value i, absl::Span<const Value> state) {
    nb::list list;
    for (const Value& value : state) list.append(WrapSymbolic(value, graph));
    return LeavesOf(ResultsOfBody(body_fn(WrapSymbolic(i, graph), list), "the body of a loop"),
                    paths);
  };
  const LoopOptions options =
      ToOptions({name, maximum_iterations, window, memory, invariants}, *graph);
  const Range range(BoundOf(start, *graph), BoundOf(limit, *graph), BoundOf(step, *graph));
  return WrapAll(gyre::internal::ForRange(range, LeavesOf(ValuesOf(initial, "initial"), paths),
                                          body, options, kNowhere),
                 graph);
}

nb::list Map(nb::callable fn, nb::handle rows, nb::handle name, int64_t window, nb::handle memory,
             bool reverse) {
  const auto graph = RequireGraph("map");
  const IterationOptions options{ToOptions({name, nb::none(), window, memory, nb::none()}, *graph),
                                 reverse};
  return WrapAll(gyre::internal::MapRows(LeavesOf(ValuesOf(rows, "rows"), nb::none()),
                                         BodyOf(fn, nb::none(), "the function of a map", graph),
                                         options, kNowhere),
                 graph);
}

// The results, and what runs row by row: (node, op, line, reason) each.
nb::tuple VectorizedMap(nb::callable fn, nb::handle rows, nb::handle name, bool fall_back) {
  const auto graph = RequireGraph("vectorized_map");
  const gyre::internal::VectorizedRows all =
      gyre::internal::VectorizedMap(LeavesOf(ValuesOf(rows, "rows"), nb::none()),
                                    BodyOf(fn, nb::none(), "the function of vectorized_map", graph),
                                    {std::string(TextOf(name, "a name")), fall_back}, kNowhere);
  const auto text = [](const std::string& s) { return nb::str(s.data(), s.size()); };
  nb::list loops;
  for (const LoopOverRows& loop : all.loops)
    loops.append(
        nb::make_tuple(text(loop.node), text(loop.op), text(loop.source), text(loop.reason)));
  return nb::make_tuple(WrapAll(all.results, graph), loops);
}

nb::list Fold(nb::callable fn, nb::handle rows, nb::handle initial, nb::handle paths, bool keep,
              bool reverse, nb::handle name, int64_t window, nb::handle memory) {
  const auto graph = RequireGraph("fold");
  const IterationOptions options{ToOptions({name, nb::none(), window, memory, nb::none()}, *graph),
                                 reverse};
  const Leaves start = LeavesOf(ValuesOf(initial, "initial"), paths);
  const size_t n = start.values.size();
  const BodyFn body = [&](absl::Span<const Value> args) {
    nb::list state, row;
    for (size_t i = 0; i < args.size(); ++i)
      (i < n ? state : row).append(WrapSymbolic(args[i], graph));
    return LeavesOf(ResultsOfBody(fn(state, row), "the function of a fold"), paths);
  };
  return WrapAll(gyre::internal::FoldRows(LeavesOf(ValuesOf(rows, "rows"), nb::none()), start, body,
                                          keep, options, kNowhere),
                 graph);
}

}  // namespace

void BindControlFlow(nb::module_& m) {
  m.def("trace_cond", &Cond, nb::arg("pred"), nb::arg("then_fn"), nb::arg("else_fn"),
        nb::arg("paths") = nb::none(), nb::arg("name") = "cond");
  m.def("trace_case", &Case, nb::arg("index"), nb::arg("branches"), nb::arg("name") = "case");
  m.def("trace_while", &While, nb::arg("cond_fn"), nb::arg("body_fn"), nb::arg("initial"),
        nb::arg("paths") = nb::none(), nb::kw_only(), nb::arg("name") = "while",
        nb::arg("maximum_iterations") = nb::none(), nb::arg("window") = 10, nb::arg("memory") = "",
        nb::arg("invariants") = nb::none());
  m.def("trace_range", &ForRange, nb::arg("start"), nb::arg("limit"), nb::arg("step"),
        nb::arg("body_fn"), nb::arg("initial"), nb::arg("paths") = nb::none(), nb::kw_only(),
        nb::arg("name") = "for", nb::arg("maximum_iterations") = nb::none(), nb::arg("window") = 10,
        nb::arg("memory") = "", nb::arg("invariants") = nb::none());
  m.def("trace_map", &Map, nb::arg("fn"), nb::arg("rows"), nb::kw_only(), nb::arg("name") = "map",
        nb::arg("window") = 10, nb::arg("memory") = "", nb::arg("reverse") = false);
  m.def("trace_vectorized_map", &VectorizedMap, nb::arg("fn"), nb::arg("rows"), nb::kw_only(),
        nb::arg("name") = "vectorized_map", nb::arg("fall_back") = true);
  m.def("trace_fold", &Fold, nb::arg("fn"), nb::arg("rows"), nb::arg("initial"),
        nb::arg("paths") = nb::none(), nb::kw_only(), nb::arg("keep"), nb::arg("reverse") = false,
        nb::arg("name") = "scan", nb::arg("window") = 10, nb::arg("memory") = "");
}

}  // namespace gyre::python
